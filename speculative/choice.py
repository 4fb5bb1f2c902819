"""One choice: what the model wants at a position, what the constraint lets through, and the numbers of both.

Greedy takes the best score, sampling the best score plus Gumbel noise. Either way the *wanted* token is the best over
everything the caller's truncation leaves; if it is legal it is also the best over the legal ones, so no mask is made.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from speculative.legality import LegalSet
from speculative.logits import Position
from speculative.noise import gumbel, gumbel_at
from speculative.options import DecodeOptions
from speculative.sampling import History, Ids, Scores, log_sum_exp, penalize, scale, truncate

__all__ = ["Choice", "NoiseKey", "choose", "choose_other"]

Bits = npt.NDArray[np.bool_]  # bool[n_rows]
_TRIES = 512  # tokens tried one by one before a mask within the budget is made


@dataclass(frozen=True, slots=True)
class NoiseKey:
    """Names one draw: the same key gives the same noise."""

    seed: int
    row: int
    position: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A decided step. `logprob` is under p (penalties, temperature, truncation), `model_logprob` under the model alone.

    `legal_mass` is None where it was not needed; `wanted_id` differs from `token_id` where the wanted token was
    illegal. `lead`: by how much the token is ahead of the next one that might have been chosen in its stead, noise
    included, in units of the scaled scores; known with `exact` only.
    """

    token_id: int
    logprob: float
    model_logprob: float
    legal_mass: float | None
    wanted_id: int
    wanted_logprob: float
    because: Literal["constraint", "budget"] = "constraint"
    is_fallback: bool = False
    lead: float = math.inf


class _Target:
    """The distribution p at a position; for plain greedy decoding the model's own, whose scores may stay unread.

    Args:
        scores: all scores of p; None: the position's.
        kept: the candidates that truncation leaves, ascending; None: all.
        log_normalizer: over the candidates.
    """

    def __init__(self, position: Position, scores: Scores | None, kept: Ids | None, log_normalizer: float) -> None:
        self._position, self._scores = position, scores
        self.kept, self.log_normalizer = kept, log_normalizer

    @property
    def scores(self) -> Scores:
        return self._position.scores if self._scores is None else self._scores

    def logprob(self, token_id: int) -> float:
        if self.kept is not None and not _contains(self.kept, token_id):
            return -math.inf
        score = self._position.score(token_id) if self._scores is None else float(self._scores[token_id])
        return score - self.log_normalizer

    @property
    def is_model_elsewhere(self) -> bool:
        """Whether p is the model's own distribution, whose scores are still on an accelerator."""
        return self._scores is None and self.kept is None and self._position.is_elsewhere

    def best_legal(self, legal: Bits) -> tuple[int, float]:
        """Return the best legal token and log of the sum of exp of the legal scores, without fetching them."""
        return self._position.best_legal(legal)

    def among(self, legal: Bits) -> tuple[Ids, Scores]:
        """Return the legal candidates and their scores; maybe none."""
        ids = np.flatnonzero(legal) if self.kept is None else self.kept[legal[self.kept]]
        return ids, self.scores[ids]


@dataclass(frozen=True, slots=True)
class _LegalChoice:
    token_id: int
    mass: float | None
    is_fallback: bool = False
    lead: float = math.inf


def choose(
    position: Position, history: History, legal: LegalSet | None, key: NoiseKey, remaining: int, options: DecodeOptions
) -> Choice:
    """Decide one step and advance the legal set's matcher by it (not by an end id).

    Args:
        remaining: tokens left of the budget, this one included.
    """
    target, (wanted, lead) = _want(position, history, key, options)
    opportunistic = options.measure == "light" and not (options.truncate == "masked" and options.truncates)
    if legal is None or (opportunistic and legal.take(wanted, remaining)):
        logp = target.logprob(wanted)
        model_logp = _model_logprob(position, wanted)
        return Choice(wanted, logp, model_logp, 1.0 if legal is None else None, wanted, logp, lead=lead)
    bits = legal.bits()
    choice = _choose_legal(target, bits, key, options)
    wanted_is_legal = wanted_fits = bool(bits[wanted])
    if not legal.take(choice.token_id, remaining):
        found = _take_first_that_fits(target, bits, legal, key, remaining, options) if opportunistic else None
        wanted_fits = False
        if found is None:
            bits = legal.bits_within(remaining)
            found = _choose_legal(target, bits, key, options)
            legal.take(found.token_id, remaining)
            wanted_fits = bool(bits[wanted])
        choice = found
    token = choice.token_id
    return Choice(
        token,
        target.logprob(token),
        _model_logprob(position, token),
        choice.mass,
        token if wanted_fits else wanted,
        target.logprob(wanted),
        "budget" if wanted_is_legal else "constraint",
        choice.is_fallback,
        choice.lead,
    )


def choose_other(
    position: Position,
    history: History,
    legal: LegalSet,
    refused: Collection[int],
    logprob: float,
    remaining: int,
    options: DecodeOptions,
) -> Choice | None:
    """Decide a greedy step without the refused tokens and advance the matcher by it, if that is likelier than
    `logprob` and leaves room to complete the text; else None."""
    key = NoiseKey(options.seed, 0, 0)  # greedy: not looked at
    target, (wanted, _) = _want(position, history, key, options)
    bits = legal.bits()
    bits[list(refused)] = False
    if not bits.any():
        return None
    token = _choose_legal(target, bits, key, options).token_id
    if target.logprob(token) <= logprob or not legal.take(token, remaining):
        return None
    model_logp = _model_logprob(position, token)
    return Choice(token, target.logprob(token), model_logp, None, wanted, target.logprob(wanted))


def _take_first_that_fits(
    target: _Target, legal: Bits, legal_set: LegalSet, key: NoiseKey, remaining: int, options: DecodeOptions
) -> _LegalChoice | None:
    """Take the best legal token that leaves room to complete the text, by trying the best ones in their order.

    The same token as from the mask within the budget, which asks about every token of the vocabulary (0.4 s inside a
    string, at 49k tokens); its mass is not known then. None if none of the first ones fits.
    """
    ids, scores = target.among(legal)
    totals = _totals(ids, scores, key, options)
    if len(ids) > _TRIES:
        best = np.flatnonzero(totals > np.partition(totals, len(ids) - _TRIES)[len(ids) - _TRIES])
        ids, totals = ids[best], totals[best]
    order = np.argsort(-totals, kind="stable")
    for place, index in enumerate(order):
        if legal_set.take(int(ids[index]), remaining):
            return _LegalChoice(int(ids[index]), None, lead=_lead(totals[order[place:]], options))
    return None


def _want(
    position: Position, history: History, key: NoiseKey, options: DecodeOptions
) -> tuple[_Target, tuple[int, float]]:
    """Return p, the unconstrained choice and its lead."""
    if not options.penalizes and not options.do_sample:
        lead = _lead(position.scores, options) if options.exact else math.inf
        return _Target(position, None, None, position.log_normalizer), (position.best, lead)
    scores = penalize(position.scores, history, options) if options.penalizes else position.scores
    if not options.do_sample:
        return _Target(position, scores, None, log_sum_exp(scores)), (int(scores.argmax()), _lead(scores, options))
    scores = scale(scores, options)
    kept, kept_scores = truncate(None, scores, options)
    return _Target(position, scores, kept, log_sum_exp(kept_scores)), _best(kept, kept_scores, key, options)


def _choose_legal(target: _Target, legal: Bits, key: NoiseKey, options: DecodeOptions) -> _LegalChoice:
    """Choose among these legal tokens; where truncation left none of them, truncate the masked distribution instead."""
    if target.is_model_elsewhere and not options.do_sample and not options.truncates and not options.exact:
        token, log_sum = target.best_legal(legal)
        return _LegalChoice(token, min(1.0, math.exp(log_sum - target.log_normalizer)))
    ids, scores = target.among(legal)
    mass = min(1.0, math.exp(log_sum_exp(scores) - target.log_normalizer)) if len(ids) else 0.0
    is_fallback = not len(ids)
    if is_fallback or options.truncate == "masked":
        ids = np.flatnonzero(legal)
        kept, scores = truncate(ids, target.scores[ids], options)
        token, lead = _best(kept, scores, key, options)
        return _LegalChoice(token, mass, is_fallback, lead)
    token, lead = _best(ids, scores, key, options)
    return _LegalChoice(token, mass, False, lead)


def _best(ids: Ids | None, scores: Scores, key: NoiseKey, options: DecodeOptions) -> tuple[int, float]:
    """Return the id of the highest score, plus noise when sampling, and its lead; the lowest id among equals."""
    totals = _totals(ids, scores, key, options)
    index = int(totals.argmax())
    return index if ids is None else int(ids[index]), _lead(totals, options)


def _lead(totals: Scores | npt.NDArray[np.float64], options: DecodeOptions) -> float:
    """Return by how much the best leads the second, where `exact` asks for it."""
    if not options.exact or len(totals) < 2:
        return math.inf
    first, second = np.partition(totals, len(totals) - 2)[-1:-3:-1]
    return float(first) - float(second)


def _totals(ids: Ids | None, scores: Scores, key: NoiseKey, options: DecodeOptions) -> Scores | npt.NDArray[np.float64]:
    """Return the candidates' scores, plus their noise when sampling."""
    if not options.do_sample:
        return scores
    if ids is None:
        noise = gumbel(key.seed, key.row, key.position, len(scores))
    else:
        noise = gumbel_at(key.seed, key.row, key.position, ids)
    noise += scores
    return noise


def _model_logprob(position: Position, token_id: int) -> float:
    return position.score(token_id) - position.log_normalizer


def _contains(ids: Ids, token_id: int) -> bool:
    index = int(np.searchsorted(ids, token_id))
    return index < len(ids) and int(ids[index]) == token_id
