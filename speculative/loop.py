"""The decode loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from speculative.options import DecodeOptions, RowRequest
from speculative.protocols import VocabularyLike
from speculative.statistics import RowResult

__all__ = ["DecodeOptions", "RowRequest", "RowResult", "decode", "score"]


def decode(
    model: Any,
    vocabulary: VocabularyLike,
    rows: Sequence[RowRequest],
    options: DecodeOptions = DecodeOptions(),
    on_tokens: Callable[[int, list[int]], object] | None = None,
) -> list[RowResult]:
    """Write one text a request. `on_tokens(index into rows, token ids)` is called as tokens are accepted."""
    raise NotImplementedError


def score(
    model: Any, prompt_ids: Sequence[int], ids: Sequence[int], options: DecodeOptions | None = None
) -> list[float]:
    """Return the log-probabilities of `ids` after `prompt_ids` under the unconstrained model, in one pass."""
    raise NotImplementedError
