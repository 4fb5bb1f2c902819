"""Penalties and truncation with transformers' semantics, on one position's scores.

Scores are float32[n_rows] logits of one position. Order as in transformers: penalties, temperature, then top-k,
top-p, min-p, typical, each on what the one before left. Truncation works on *candidates*, a pair (ids ascending,
scores), so the same code serves both orders of DESIGN.md's law 2: all tokens are candidates ("model"), or the legal
ones ("masked").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from speculative.options import DecodeOptions

__all__ = ["History", "log_sum_exp", "penalize", "scale", "truncate"]

_HEAD = 1024  # highest scores among which a nucleus is looked for first

Scores = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


class History:
    """The tokens a penalty looks at: the prompt's and the output's for repetition, the output's for the other two.

    Repetition penalty counts the prompt as transformers does; frequency and presence penalties (which transformers
    lacks) count the output only, as vLLM and the OpenAI API define them. Padding never counts.
    """

    def __init__(self, prompt_ids: Sequence[int]) -> None:
        self._seen: dict[int, None] = dict.fromkeys(prompt_ids)
        self._counts: dict[int, int] = {}

    def add(self, token_id: int) -> None:
        """Count one more token of the output."""
        self._seen[token_id] = None
        self._counts[token_id] = self._counts.get(token_id, 0) + 1

    def seen(self) -> Ids:
        return np.fromiter(self._seen, dtype=np.int64, count=len(self._seen))

    def counts(self) -> tuple[Ids, npt.NDArray[np.float32]]:
        """Ids of the output and how often each occurs."""
        ids = np.fromiter(self._counts, dtype=np.int64, count=len(self._counts))
        return ids, np.fromiter(self._counts.values(), dtype=np.float32, count=len(self._counts))


def penalize(scores: Scores, history: History, options: DecodeOptions) -> Scores:
    """Return scores with the penalties applied; `scores` itself is left alone."""
    scores = scores.copy()
    if options.repetition_penalty != 1.0:
        ids = history.seen()
        old = scores[ids]
        penalty = np.float32(options.repetition_penalty)
        scores[ids] = np.where(old < 0, old * penalty, old / penalty)
    if options.frequency_penalty != 0.0 or options.presence_penalty != 0.0:
        ids, counts = history.counts()
        scores[ids] -= np.float32(options.frequency_penalty) * counts + np.float32(options.presence_penalty)
    return scores


def scale(scores: Scores, options: DecodeOptions) -> Scores:
    """Divide by the temperature when sampling; greedy decoding has none."""
    if not options.do_sample or options.temperature == 1.0:
        return scores
    return scores / np.float32(options.temperature)


def truncate(ids: Ids | None, scores: Scores, options: DecodeOptions) -> tuple[Ids | None, Scores]:
    """Return the candidates that survive top-k, top-p, min-p and typical; at least one does.

    Args:
        ids: candidates' ids ascending; None: all tokens, score i being token i's.
        scores: their scores.
    """
    if not options.truncates:
        return ids, scores
    if options.top_k and options.top_k < len(scores):
        ids, scores = _take(ids, scores, _top_k(scores, options.top_k))
    if options.top_p < 1.0:
        ids, scores = _take(ids, scores, _top_p(scores, options.top_p))
    if options.min_p:
        ids, scores = _take(ids, scores, _min_p(scores, options.min_p))
    if options.typical_p < 1.0:
        ids, scores = _take(ids, scores, _typical(scores, options.typical_p))
    return ids, scores


def _take(ids: Ids | None, scores: Scores, keep: npt.NDArray[np.bool_]) -> tuple[Ids, Scores]:
    kept = np.flatnonzero(keep)
    return (kept if ids is None else ids[kept]), scores[kept]


def _top_k(scores: Scores, k: int) -> npt.NDArray[np.bool_]:
    # Ties with the k-th stay, as in transformers.
    return np.asarray(scores >= np.partition(scores, len(scores) - k)[len(scores) - k], dtype=bool)


def _top_p(scores: Scores, mass: float) -> npt.NDArray[np.bool_]:
    # transformers drops, in ascending order, what has at most 1 - mass up to and including it: the rest is kept.
    probabilities = _softmax(scores)
    head = _HEAD if len(scores) > 4 * _HEAD else len(scores)
    if head < len(scores):
        # Sorting 49k scores takes 5 ms, finding the highest 0.05 ms; the nucleus is nearly always among them.
        candidates = np.flatnonzero(scores > np.partition(scores, len(scores) - head)[len(scores) - head])
        if float(probabilities[candidates].sum()) < mass:
            candidates = np.arange(len(scores))
    else:
        candidates = np.arange(len(scores))
    order = candidates[np.argsort(scores[candidates])]
    below = 1.0 - float(probabilities[order].sum())
    keep = np.zeros(len(scores), dtype=bool)
    keep[order] = below + np.cumsum(probabilities[order]) > 1.0 - mass
    keep[order[-1]] = True
    return keep


def _min_p(scores: Scores, fraction: float) -> npt.NDArray[np.bool_]:
    keep = scores >= scores.max() + math.log(fraction)
    keep[int(scores.argmax())] = True
    return np.asarray(keep, dtype=bool)


def _typical(scores: Scores, mass: float) -> npt.NDArray[np.bool_]:
    logp = scores.astype(np.float64) - log_sum_exp(scores)
    p = np.exp(logp)
    possible = p > 0
    entropy = -float(np.sum(p[possible] * logp[possible]))
    surprise = np.abs(-logp - entropy)
    order = np.argsort(surprise, kind="stable")
    last = min(int(np.sum(np.cumsum(p[order]) < mass)), len(order) - 1)
    keep = surprise <= surprise[order[last]]
    keep[order[0]] = True
    return np.asarray(keep, dtype=bool)


def _softmax(scores: Scores) -> npt.NDArray[np.float64]:
    weights = np.exp(scores.astype(np.float64) - float(scores.max()))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def log_sum_exp(scores: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> float:
    """Return log of the sum of exp; -inf for no scores at all."""
    if not len(scores):
        return -math.inf
    top = float(scores.max())
    if not math.isfinite(top):
        return top
    return top + math.log(float(np.exp(scores - scores.dtype.type(top)).sum(dtype=np.float64)))
