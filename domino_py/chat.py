"""What a model's chat template says about tags and tools: found in its text and among the tokenizer's added tokens.

A constraint knows no model. What it left open (the format of calls, whether a prompt ends inside the reasoning) is
settled here, when there are a tokenizer and a prompt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, overload

from domino_py.constraints.base import Constraint
from domino_py.prompts import ShownTools, template_text
from tokenizer_align.errors import InvalidOption
from tokenizer_align.markers import marker_tokens
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["behind_prompt", "find_think_tags", "find_tool_format", "settle", "shown_tools"]

_TAGS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
)
_TOOL_SIGNS = (("[ARGS]", "mistral-args"), ("[TOOL_CALLS]", "mistral"), ("<tool_call>", "hermes"))
_LLAMA_SIGN = "<|python_tag|>"
_SHOWN = {
    "hermes": '<tool_call>\n{"name": <function-name>, "arguments": <arguments-object>}\n</tool_call>',
    "llama3": '{"name": <function-name>, "parameters": <arguments-object>}',
    "mistral": '[TOOL_CALLS][{"name": <function-name>, "arguments": <arguments-object>}]',
    "mistral-args": "[TOOL_CALLS]<function-name>[ARGS]<arguments-object>",
}
_TAIL_TOKENS = 32


def find_think_tags(tokenizer: Any) -> tuple[str, str]:
    """The tags around reasoning, from the added tokens, else from the chat template. Raises InvalidOption."""
    template, added = template_text(tokenizer), _added(tokenizer)
    for start, end in _TAGS:
        if start in added and end in added:
            return start, end
    for start, end in _TAGS:
        if end in template:
            return start, end
    raise InvalidOption(
        "tokenizer",
        "neither the chat template nor the added tokens hold tags for reasoning that are known; pass start and end.",
    )


def find_tool_format(tokenizer: Any) -> str:
    """The name of the format of tool calls, from the chat template and the added tokens. Raises InvalidOption."""
    template, added = template_text(tokenizer), _added(tokenizer)
    for sign, name in _TOOL_SIGNS:
        if sign in template or (not template and sign in added):
            return name
    is_llama = '"parameters"' in template and "ipython" in template
    if _LLAMA_SIGN in template or _LLAMA_SIGN in added or is_llama:
        return "llama3"
    for sign, name in _TOOL_SIGNS:
        if sign in added:
            return name
    raise InvalidOption(
        "format",
        "which format this model calls tools in cannot be told: its chat template mentions none that is known. "
        'Pass format="hermes", "llama3", "mistral" or "mistral-args".',
    )


def _added(tokenizer: Any) -> set[str]:
    if hasattr(tokenizer, "get_added_vocab"):
        return set(tokenizer.get_added_vocab())
    return set(Vocabulary.from_tokenizer(tokenizer).added)


@overload
def settle(constraint: Constraint, tokenizer: Any) -> Constraint: ...
@overload
def settle(constraint: Constraint | None, tokenizer: Any) -> Constraint | None: ...
def settle(constraint: Constraint | None, tokenizer: Any) -> Constraint | None:
    """The constraint with what depends on the tokenizer filled in, in all of its parts. Raises InvalidOption."""
    if constraint is None or not constraint.holds_markers:
        return constraint
    if constraint.kind == "tools":
        from domino_py.constraints.tools import in_format

        return (
            in_format(constraint, find_tool_format(tokenizer)) if constraint.option("format") == "auto" else constraint
        )
    source = _settled(constraint.source, tokenizer)
    if source == constraint.source:
        return constraint
    return Constraint(constraint.kind, source, constraint.options, constraint.extra)


def _settled(value: Any, tokenizer: Any) -> Any:
    if isinstance(value, Constraint):
        return settle(value, tokenizer)
    if type(value) in (tuple, list):
        return type(value)(_settled(part, tokenizer) for part in value)
    return value


def behind_prompt(
    constraint: Constraint | None, prompt_ids: Sequence[int], vocabulary: Vocabulary
) -> Constraint | None:
    """The constraint of a text behind this prompt: whether it has opened the tag of `think` already."""
    if constraint is None or constraint.kind != "think" or constraint.option("opened") is not None:
        return constraint
    from domino_py.constraints.think import opened

    names = {token: content for content, token in marker_tokens(vocabulary).items()}
    table = vocabulary.token_bytes
    parts = [names[i].encode() if i in names else table[i] or b"" for i in prompt_ids[-_TAIL_TOKENS:]]
    return opened(constraint, b"".join(parts).rstrip().endswith(constraint.source[1].encode()))


def shown_tools(constraint: Constraint | None) -> ShownTools | None:
    """The tools that a prompt in front of this constraint is to show."""
    while constraint is not None and constraint.kind == "think":
        constraint = constraint.source[0]
    if constraint is None or constraint.kind != "tools":
        return None
    from domino_py.constraints.tools import format_of, offered

    tools = offered(constraint)
    if not tools:
        return None
    lines = "\n".join(tool.definition for tool in tools)
    return ShownTools(
        tuple(json.loads(tool.definition) for tool in tools),
        f"You can call functions. These are available, as JSON:\n{lines}\n\nWrite a call of one like this:\n"
        f"{_SHOWN[format_of(constraint).name]}",
    )
