"""Prepared rows, and how they run: to their ends, or a pass at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from domino_py.compilation import compiled_for
from domino_py.constraints.base import Constraint
from domino_py.healing import heal
from domino_py.measures import report_of
from domino_py.options import Options
from domino_py.progress import Progress
from domino_py.results import GenerationResult
from speculative.loop import DecodeOptions, RowRequest, RowResult, decode_passes
from tokenizer_align.compiled import Compiled
from tokenizer_align.errors import BudgetTooSmall, InvalidOption
from tokenizer_align.layout import DEFAULT_LAYOUT, Layout
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["PreparedRow", "context_length", "prepare_row", "row_passes", "run_rows"]


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
    for index, token_ids, result in row_passes(model, vocabulary, rows, options):
        if progress is not None and token_ids:
            progress.wrote(len(token_ids))
        if result is not None:
            results[index] = result
            if on_result is not None:
                on_result(index, result)
    return [results[index] for index in range(len(rows))]


def row_passes(
    model: Any, vocabulary: Vocabulary, rows: list[PreparedRow], options: Options
) -> Iterator[tuple[int, tuple[int, ...], GenerationResult | None]]:
    """The same, as it goes: (index into `rows`, new token ids, the result once the row is finished)."""
    size = options.batch_size or max(len(rows), 1)
    for start in range(0, len(rows), size):
        requests = [_request(row, vocabulary, options) for row in rows[start : start + size]]
        for news in decode_passes(model, vocabulary, requests, _loop_options(options)):
            for new in news:
                index = start + new.index
                done = None
                if new.result is not None:
                    done = _result(rows[index], new.result, model, vocabulary, options)
                yield index, new.token_ids, done


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
        cache=options.cache,
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
