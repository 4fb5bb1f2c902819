"""Prompts as people have them, to token ids: text, chat messages, token ids, or a list of any one of these.

Text gets the special tokens that the tokenizer adds by default; messages go through its chat template with the opening
of the answer added, or, where the last message is the assistant's, are continued from its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizer_align.errors import InvalidOption

_KINDS = "text, a list of chat messages ({'role': …, 'content': …}), a list of token ids, or a list of these"


@dataclass(frozen=True, slots=True)
class ShownTools:
    """Tools that a prompt is to show: their definitions for the chat template, and the same in words for others."""

    definitions: tuple[dict[str, Any], ...]
    instructions: str


def prompts_to_ids(
    prompt: Any, tokenizer: Any, n_rows: int | None = None, tools: Sequence[ShownTools | None] = ()
) -> tuple[list[list[int]], bool]:
    """Token ids of each prompt, and whether `prompt` was a list of prompts.

    `n_rows` is the width of the model's output; ids outside are refused. `tools`: for each prompt those that its chat
    template is to show. Raises InvalidOption, naming the prompt.
    """
    prompts, batched = split_prompts(prompt)
    ids = []
    for index, one in enumerate(prompts):
        name = f"prompt[{index}]" if batched else "prompt"
        ids.append(_checked_ids(_to_ids(one, tokenizer, name, tools[index] if tools else None), n_rows, name))
    return ids, batched


def split_prompts(prompt: Any) -> tuple[list[Any], bool]:
    """The single prompts in `prompt`, and whether it was a list of them. A list of messages or of ids is one prompt.

    So is a tensor or array of one row, as `tokenizer(text, return_tensors="pt")` gives it.
    """
    rows = prompt["input_ids"] if isinstance(prompt, Mapping) and "input_ids" in prompt else prompt
    is_one_row = hasattr(rows, "tolist") and getattr(rows, "ndim", 1) == 2 and len(rows) == 1
    prompt = _unwrap(prompt)
    if is_one_row:
        return [prompt[0]], False
    if isinstance(prompt, str):
        return [prompt], False
    if not isinstance(prompt, list | tuple):
        raise InvalidOption("prompt", f"prompt must be {_KINDS}, not {type(prompt).__name__}.")
    if not prompt:
        return [], True
    first = prompt[0]
    if _is_id(first) or isinstance(first, Mapping):
        return [list(prompt)], False
    if isinstance(first, str | list | tuple) or hasattr(first, "tolist"):
        return [_unwrap(one) for one in prompt], True
    raise InvalidOption("prompt", f"prompt must be {_KINDS}, not a list of {type(first).__name__}.")


def _unwrap(prompt: Any) -> Any:
    """Tensors, arrays and tokenizer outputs to plain lists; the padding that an attention mask marks is left out."""
    if isinstance(prompt, Mapping) and "input_ids" in prompt:
        ids, mask = _unwrap(prompt["input_ids"]), _unwrap(prompt.get("attention_mask"))
        if mask is None or not isinstance(ids, list) or not ids:
            return ids
        if isinstance(ids[0], list):
            return [[i for i, kept in zip(*row, strict=True) if kept] for row in zip(ids, mask, strict=True)]
        return [i for i, kept in zip(ids, mask, strict=True) if kept]
    if isinstance(prompt, Mapping) and "role" in prompt:
        raise InvalidOption("prompt", "prompt is one chat message; put it into a list: [{'role': …, 'content': …}].")
    return prompt.tolist() if hasattr(prompt, "tolist") else prompt


def _to_ids(prompt: Any, tokenizer: Any, name: str, tools: ShownTools | None = None) -> list[int]:
    if isinstance(prompt, str):
        return encode_text(tokenizer, prompt, name)
    if isinstance(prompt, list | tuple):
        if all(_is_id(item) for item in prompt):
            return [int(item) for item in prompt]
        if all(isinstance(item, Mapping) for item in prompt):
            return encode_chat(tokenizer, [dict(item) for item in prompt], name, tools)
    raise InvalidOption(name, f"{name} must be text, a list of chat messages or a list of token ids, all of one kind.")


def encode_text(tokenizer: Any, text: str, name: str = "prompt") -> list[int]:
    """Token ids of a text, with the special tokens that the tokenizer adds by default."""
    _check_surrogates(text, name)
    if callable(tokenizer):
        return [int(i) for i in tokenizer(text)["input_ids"]]
    if not hasattr(tokenizer, "encode"):
        raise InvalidOption(name, f"{name} is text, but {type(tokenizer).__name__} cannot encode it; pass token ids.")
    encoded = tokenizer.encode(text)
    return [int(i) for i in getattr(encoded, "ids", encoded)]


def _check_surrogates(text: str, name: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidOption(
            name, f"{name} holds a lone surrogate at position {error.start}, which no tokenizer can read."
        ) from None


def encode_chat(
    tokenizer: Any, messages: list[dict[str, Any]], name: str = "prompt", tools: ShownTools | None = None
) -> list[int]:
    """Token ids of chat messages under the tokenizer's chat template, ready for the answer.

    `tools` are passed to the template; where it does not know of tools, they are described in the system message.
    """
    for index, message in enumerate(messages):
        if "role" not in message or "content" not in message:
            raise InvalidOption(
                name,
                f"message {index} of {name} needs the keys 'role' and 'content'; it has {sorted(map(str, message))}.",
            )
        if isinstance(message["content"], str):
            _check_surrogates(message["content"], f"message {index} of {name}")
    if not has_chat_template(tokenizer):
        raise InvalidOption(
            name, f"{name} is a list of chat messages, but the tokenizer has no chat template; pass text instead."
        )
    more: dict[str, Any] = {}
    if tools is not None and "tools" in template_text(tokenizer):
        more["tools"] = list(tools.definitions)
    elif tools is not None:
        messages = with_system_text(messages, tools.instructions)
    continued = messages[-1]["role"] == "assistant"
    ids = tokenizer.apply_chat_template(
        messages,
        tokenize=True,
        return_dict=False,
        add_generation_prompt=not continued,
        continue_final_message=continued,
        **more,
    )
    return [int(i) for i in ids]


def with_system_text(messages: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The messages with a text behind that of their system message, or in one of its own in front."""
    if messages[0]["role"] == "system" and isinstance(messages[0]["content"], str):
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def template_text(tokenizer: Any) -> str:
    """The source of a tokenizer's chat template; of all where it has several; "" without one."""
    template = getattr(tokenizer, "chat_template", None)
    return "\n".join(map(str, template.values())) if isinstance(template, Mapping) else str(template or "")


def has_chat_template(tokenizer: Any) -> bool:
    return bool(getattr(tokenizer, "chat_template", None)) and hasattr(tokenizer, "apply_chat_template")


def _checked_ids(ids: list[int], n_rows: int | None, name: str) -> list[int]:
    if not ids:
        raise InvalidOption(name, f"{name} has no tokens; a model needs at least one to start from.")
    bad = next((i for i in ids if i < 0 or (n_rows is not None and i >= n_rows)), None)
    if bad is not None:
        raise InvalidOption(name, f"{name} holds token id {bad}, but the model has ids from 0 to {(n_rows or 0) - 1}.")
    return ids


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
