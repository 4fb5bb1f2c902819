"""From a decoded row to its report: what the loop counted, and what only texts and tokenizers tell.

Non-canonical tokens: a token counts as canonical if the tokenizer's own encoding of the text, behind the prompt, has
the same token at the same byte. The alignment gap compares the log-probability of that encoding with that of the tokens
chosen. Where the tokenizer would join the prompt's end with the text, the prompt's tokens stay as they are.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from domino_py.constraints.base import Constraint
from domino_py.lint_model import disagreements
from domino_py.options import Options
from domino_py.report import Intervention, Report
from speculative.loop import RowResult, score
from speculative.statistics import InterventionRecord
from tokenizer_align.canonical.encoding import canonical_between, misplaced_tokens
from tokenizer_align.compiled import Compiled
from tokenizer_align.left_out import left_out_along
from tokenizer_align.vocabulary import Vocabulary


def report_of(
    result: RowResult,
    prompt_ids: Sequence[int],
    vocabulary: Vocabulary,
    options: Options,
    model: Any,
    constraint: Constraint | None,
    compiled: Compiled | None = None,
) -> Report:
    """The report of one decoded row; with options.measure="full", the alignment gap too (one more pass)."""
    counted = result.statistics
    ids = tuple(result.token_ids)
    text = vocabulary.decode(ids) if compiled is None else compiled.engine.decode(ids)
    canonical = canonical_between(vocabulary, ids, prompt_ids)
    misplaced = None if canonical is None else misplaced_tokens(vocabulary, ids, canonical)
    tokenization = options.tokenization if compiled is None else compiled.tokenization
    interventions = tuple(_intervention(one, ids, vocabulary) for one in counted.interventions)
    report = Report(
        law="model" if constraint is None else "masked",
        greedy=not options.do_sample,
        seed=options.seed if options.do_sample else None,
        tokenization=tokenization,
        finish_reason=result.finish_reason,
        n_prompt_tokens=counted.n_prompt_tokens,
        n_tokens=counted.n_tokens,
        n_bytes=len(text),
        n_steps=counted.n_steps,
        logprob=counted.logprob,
        projection_tax=counted.projection_tax,
        projection_tax_low=counted.projection_tax_low,
        projection_tax_high=counted.projection_tax_high,
        log_weight=counted.log_weight,
        legal_mass=tuple(counted.legal_mass),
        interventions=interventions,
        n_interventions=len(counted.interventions),
        disagreements=()
        if constraint is None
        else disagreements(
            interventions,
            counted.legal_mass,
            [vocabulary.token_bytes[token] or b"" for token in ids],
            misplaced or (),
            tokenization,
            constraint,
        ),
        n_fallbacks=counted.n_fallbacks,
        n_taken_back=counted.n_taken_back,
        model_logprob=counted.model_logprob,
        noncanonical_tokens=None if misplaced is None else len(misplaced),
        noncanonical_at=misplaced or (),
        law_given_up_at=counted.law_given_up_at,
        forward_passes=counted.forward_passes,
        drafted=dict(counted.drafted),
        accepted=dict(counted.accepted),
        mask_s=counted.mask_s,
        draft_s=counted.draft_s,
        model_s=counted.model_s,
        total_s=counted.total_s,
        notes=(
            *options.notes,
            *_notes(result),
            *_law_notes(result, compiled, prompt_ids),
            *constraint_notes(constraint, text),
        ),
    )
    report.measure_later(_scorer(model, tuple(prompt_ids), ids, canonical, counted.model_logprob))
    if options.measure == "full" or canonical == ids:  # then it is 0, without a pass
        report.measure_alignment()
    return report


def _intervention(one: InterventionRecord, ids: tuple[int, ...], vocabulary: Vocabulary) -> Intervention:
    before, wanted, got = vocabulary.decode(ids[: one.step]), one.wanted_id, token_text(one.chosen_id, vocabulary)
    text = token_text(wanted, vocabulary)
    if one.then_id is not None:
        first, chosen = vocabulary.token_bytes[wanted] or b"", vocabulary.token_bytes[one.chosen_id] or b""
        text = token_text(one.then_id, vocabulary)
        if chosen.startswith(first):  # they part behind the token that was taken back
            before, got = before + first, chosen[len(first) :].decode("utf-8", "backslashreplace")
        else:
            text = token_text(wanted, vocabulary) + text
    return Intervention(
        step=one.step,
        before=before.decode("utf-8", "replace"),
        wanted=text,
        got=got,
        wanted_logprob=one.wanted_logprob,
        got_logprob=one.chosen_logprob,
        legal_mass=one.legal_mass,
        because=one.because,
    )


def token_text(token_id: int, vocabulary: Vocabulary) -> str:
    """A token for reading; ids without bytes by what they are."""
    if token_id in vocabulary.eos_token_ids:
        return "<end>"
    token = vocabulary.token_bytes[token_id]
    if token is not None:
        return token.decode("utf-8", "backslashreplace")
    named = next((content for content, known in vocabulary.added.items() if known == token_id), None)
    return named if named is not None else f"<id {token_id}>"


def _scorer(
    model: Any, prompt_ids: tuple[int, ...], ids: tuple[int, ...], canonical: tuple[int, ...] | None, logprob: float
) -> Callable[[], float | None]:
    """A function that measures the alignment gap; it keeps the model only as long as somebody else does."""
    try:
        kept: Callable[[], Any] = weakref.ref(model)
    except TypeError:
        kept = lambda: model  # noqa: E731  (same call as a weak reference)

    def measure() -> float | None:
        if canonical is None:
            return None
        if canonical == ids:
            return 0.0
        alive = kept()
        return None if alive is None else math.fsum(score(alive, prompt_ids, canonical)) - logprob

    return measure


def _steps(n: int) -> str:
    return f"{n} step" + ("s" if n != 1 else "")


def _law_notes(result: RowResult, compiled: Compiled | None, prompt_ids: Sequence[int]) -> list[str]:
    """Where the law of tokenization could not be kept."""
    notes = [] if compiled is None else list(compiled.law_notes(prompt_ids))
    at = result.statistics.law_given_up_at
    if compiled is not None and at is not None:
        notes.append(
            f"tokenization={compiled.tokenization!r} could not be kept from token {at} on, where it left no token that "
            "goes on to a legal text; from there it was 'any'"
        )
    return notes


def _notes(result: RowResult) -> list[str]:
    counted, notes = result.statistics, []
    if counted.n_fallbacks:
        notes.append(
            f"the truncation (top_k, top_p, …) left nothing legal at {_steps(counted.n_fallbacks)}; there the legal "
            "tokens alone were truncated"
        )
    if result.finish_reason == "length":
        closing = sum(one.because == "budget" for one in counted.interventions)
        if closing:
            notes.append(f"max_new_tokens was near: {closing} choices were overruled to close the text in time")
    return notes


def constraint_notes(constraint: Constraint | None, text: bytes) -> list[str]:
    """Where the constraint is not exactly what was asked for: ignored on request, narrower, or too hard to decide."""
    if constraint is None:
        return []
    notes = [f"not enforced, as was asked: {problem}" for problem in constraint.ignored]
    notes += [f"narrower than the schema: {problem}" for problem in constraint.narrowed]
    for position, why in left_out_along(constraint.expression, text):
        notes.append(f"after byte {position} some legal texts were left out: {why}")
    return notes
