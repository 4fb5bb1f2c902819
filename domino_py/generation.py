"""`generate`: text that satisfies a constraint, out of any transformers causal language model.

Everything that can be wrong with a call is found before the model runs: options, prompts, constraints, budgets,
context length. Then the rows go to `speculative.loop.decode`, and come back with their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from domino_py.arguments import check_model, constraints_for_rows
from domino_py.assistant import check_assistant
from domino_py.chat import behind_prompt, settle, shown_tools
from domino_py.compilation import check_tokenization, compiled_for
from domino_py.constraints.base import Constraint
from domino_py.healing import heal
from domino_py.measures import report_of
from domino_py.options import Options, resolve_options
from domino_py.progress import Progress, progress_bar
from domino_py.prompts import prompts_to_ids, split_prompts
from domino_py.report import Report
from speculative.loop import DecodeOptions, RowRequest, RowResult, decode
from tokenizer_align.compiled import Compiled
from tokenizer_align.errors import BudgetTooSmall, InvalidOption
from tokenizer_align.layout import DEFAULT_LAYOUT, Layout
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["GenerationResult", "generate"]


@dataclass(frozen=True, slots=True, repr=False)
class GenerationResult:
    """One generated text with its tokens and its report.

    `finish_reason` is "stop" (an end-of-sequence token), "complete" (nothing but the end could follow) or "length".
    `token_ids` hold neither the prompt nor the end-of-sequence token; with heal_prompt they begin with the prompt's
    last bytes, which `text` does not.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: str
    report: Report
    prompt_n_tokens: int
    constraint: Constraint | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 200 else self.text[:197] + "..."
        return f"GenerationResult({shown!r}, n_tokens={len(self.token_ids)}, finish_reason={self.finish_reason!r})"

    @property
    def value(self) -> Any:
        """The text as what the constraint describes (an object of the type, parsed JSON, …); the text if it is free.

        Raises ValueError where a type's own validators, which no mask can know, refuse the text.
        """
        return self.text if self.constraint is None else self.constraint.parse(self.text)

    @property
    def reasoning(self) -> str | None:
        """What stands between the tags of `think`; None under other constraints."""
        if self.constraint is None or self.constraint.kind != "think":
            return None
        from domino_py.constraints.think import reasoning

        return reasoning(self.constraint, self.text)


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """One prompt, ready to run: ids, compiled constraint, its number (the key of its noise), expected layout."""

    prompt_ids: list[int]
    constraint: Constraint | None
    compiled: Compiled | None
    max_new_tokens: int
    row: int = 0
    layout: Layout = DEFAULT_LAYOUT
    front: bytes = b""  # of the prompt's tokens that were given back; they come again in front of the text


def generate(
    model: Any,
    tokenizer: Any,
    prompt: Any,
    constraint: Any = None,
    *,
    max_new_tokens: int | None = None,
    speculate: Any = "auto",
    tokenization: str = "aligned",
    heal_prompt: bool = False,
    seed: int | None = None,
    measure: str = "light",
    progress: bool = True,
    **generation_options: Any,
) -> Any:
    """Generate text that satisfies a constraint; the replacement of `model.generate`.

    `prompt` is text, chat messages or token ids, or a list of these; a list of prompts gives a list of results.
    `constraint` is a `Constraint`, a Python type, a schema dict, None (free text), or a list with one for each prompt.
    The text is complete and legal within `max_new_tokens` (default: 256, or what the model's context leaves), whatever
    the model says. `speculate` turns drafts on or off;
    they change the speed, never the tokens. `tokenization` is the law of docs/canonicality.md that the output's tokens
    obey ("aligned", "canonical" or "any"); with `heal_prompt`, the prompt's last tokens are written anew where the text
    would merge with them. The same `seed` gives the same texts. `measure="full"` also measures what
    takes another pass of the model. Many texts show a progress bar on a terminal; `progress=False` turns it off.
    `generation_options` have the names and defaults of transformers' GenerationConfig
    (do_sample, temperature, top_k, top_p, min_p, typical_p, repetition_penalty, num_return_sequences, eos_token_id),
    and besides frequency_penalty, presence_penalty, truncate ("model" or "masked"), exact, max_draft and batch_size.
    `assistant_model`, a smaller model of the same tokenizer, drafts too (`assistant_tokenizer`, if given, is compared).

    Returns a GenerationResult, or a list of them for a list of prompts or num_return_sequences above 1.

    Raises, before any model time is spent: InvalidOption, ConstraintError, BudgetTooSmall, VocabularyError.

        result = domino.generate(model, tokenizer, "2 + 2 = ", domino.regex(r"[0-9]+"))
        result.text, result.report
    """
    check_model(model)
    options = resolve_options(
        generation_options,
        getattr(model, "generation_config", None),
        max_new_tokens=max_new_tokens,
        speculate=speculate,
        tokenization=tokenization,
        heal_prompt=heal_prompt,
        seed=seed,
        measure=measure,
    )
    check_tokenization(options.tokenization)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=options.eos_token_id, model=model)
    check_assistant(options, vocabulary)
    prompts, batched = split_prompts(prompt)
    constraints = [settle(one, tokenizer) for one in constraints_for_rows(constraint, len(prompts), batched=batched)]
    prompt_ids, _ = prompts_to_ids(prompt, tokenizer, vocabulary.n_rows, tools=[*map(shown_tools, constraints)])
    constraints = [behind_prompt(one, ids, vocabulary) for one, ids in zip(constraints, prompt_ids, strict=True)]
    copies = options.num_return_sequences
    rows = [
        replace(prepared, row=index * copies + copy)
        for index, (ids, one) in enumerate(zip(prompt_ids, constraints, strict=True))
        for prepared in [prepare_row(ids, one, vocabulary, model, options, f"prompt[{index}]" if batched else "prompt")]
        for copy in range(copies)
    ]
    with progress_bar(rows, "texts", shown=progress and len(rows) > 1) as bar:
        results = run_rows(model, vocabulary, rows, options, on_result=lambda _, one: bar.finished(), progress=bar)
    return results if batched or options.num_return_sequences > 1 else results[0]


def prepare_row(
    prompt_ids: list[int],
    constraint: Constraint | None,
    vocabulary: Vocabulary,
    model: Any,
    options: Options,
    name: str = "prompt",
) -> PreparedRow:
    """Compile the constraint and check that prompt and shortest legal text fit."""
    budget = _budget(len(prompt_ids), context_length(model), options, name)
    front, healed = b"", constraint
    if constraint is not None and options.heal_prompt:
        prompt_ids, healed, front = heal(prompt_ids, constraint, vocabulary)
    compiled = None if healed is None else compiled_for(healed, vocabulary, options.tokenization)
    if compiled is not None:
        matcher = compiled.matcher(prompt_ids)
        if matcher.min_tokens() > budget:
            text = matcher.shortest_completion().decode("utf-8", "replace")
            raise BudgetTooSmall(budget, matcher.min_tokens(), text)
    return PreparedRow(prompt_ids, constraint, compiled, budget, front=front)


def _budget(n_prompt_tokens: int, longest: int | None, options: Options, name: str) -> int:
    """max_new_tokens of one prompt: the default yields to the model's context, a number that was given does not."""
    if longest is None or n_prompt_tokens + options.max_new_tokens <= longest:
        return options.max_new_tokens
    room = longest - n_prompt_tokens
    if room > 0 and not options.max_new_tokens_given:
        return room
    advice = f"Pass max_new_tokens={room} or less" if room > 0 else "Shorten the prompt"
    raise InvalidOption(
        "max_new_tokens",
        f"{name} has {n_prompt_tokens} tokens and max_new_tokens is {options.max_new_tokens}, but the model's "
        f"context is {longest} tokens. {advice}.",
    )


def run_rows(
    model: Any,
    vocabulary: Vocabulary,
    rows: list[PreparedRow],
    options: Options,
    *,
    on_result: Callable[[int, GenerationResult], object] | None = None,
    progress: Progress | None = None,
) -> list[GenerationResult]:
    """Run prepared rows, `batch_size` at a time (all at once by default).

    The noise of sampling is keyed by a row's own number, so the split into batches does not change the texts.
    `on_result` is called with the index into `rows` and the result as soon as a row is finished.
    """
    results: dict[int, GenerationResult] = {}

    def finished(index: int, one: RowResult) -> None:
        results[index] = _result(rows[index], one, model, vocabulary, options)
        if on_result is not None:
            on_result(index, results[index])

    size = options.batch_size or max(len(rows), 1)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        requests = [_request(row, vocabulary, options) for row in part]
        decoded = decode(
            model,
            vocabulary,
            requests,
            _loop_options(options),
            on_tokens=None if progress is None else lambda _, ids: progress.wrote(len(ids)),
            on_finish=lambda index, one, start=start: finished(start + index, one),  # type: ignore[misc]
        )
        for index, one in enumerate(decoded, start):  # a row that had nothing to write never ran
            if index not in results:
                finished(index, one)
    return [results[index] for index in range(len(rows))]


def context_length(model: Any) -> int | None:
    """How many positions the model was made for, where its configuration says."""
    config = getattr(model, "config", None)
    if config is not None and hasattr(config, "get_text_config"):
        config = config.get_text_config()
    for name in ("max_position_embeddings", "n_positions"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def _request(row: PreparedRow, vocabulary: Vocabulary, options: Options) -> RowRequest:
    return RowRequest(
        prompt_ids=row.prompt_ids,
        compiled=row.compiled,
        row=row.row,
        max_new_tokens=row.max_new_tokens,
        eos_token_ids=vocabulary.eos_token_ids,
        layout=row.layout,
    )


def _loop_options(options: Options) -> DecodeOptions:
    return DecodeOptions(
        do_sample=options.do_sample,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        typical_p=options.typical_p,
        repetition_penalty=options.repetition_penalty,
        frequency_penalty=options.frequency_penalty,
        presence_penalty=options.presence_penalty,
        seed=options.seed,
        speculate=options.speculate,
        truncate=options.truncate,
        measure=options.measure,
        exact=options.exact,
        max_draft=options.max_draft,
        draft_model=options.assistant_model,
    )


def _result(
    row: PreparedRow, result: RowResult, model: Any, vocabulary: Vocabulary, options: Options
) -> GenerationResult:
    ids = tuple(result.token_ids)
    text = vocabulary.decode(ids) if row.compiled is None else row.compiled.engine.decode(ids)
    return GenerationResult(
        text=text[len(row.front) :].decode("utf-8", "replace"),
        token_ids=ids,
        finish_reason=result.finish_reason,
        report=report_of(result, row.prompt_ids, vocabulary, options, model, row.constraint, row.compiled),
        prompt_n_tokens=len(row.prompt_ids),
        constraint=row.constraint,
    )
