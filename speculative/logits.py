"""The logits of one pass, read as little as possible: the best token first, whole rows only where they are needed.

On the CPU a row is a view of the pass's own tensor. On an accelerator the best tokens and normalizers of all
positions are computed there and fetched together; a row is fetched when a mask or noise must meet it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from speculative.sampling import log_sum_exp
from tokenizer_align.errors import DominoError

__all__ = ["PassLogits", "Position", "summarize"]


class PassLogits:
    """Logits of one pass, float[n_batch, n_positions, n_rows] on any device."""

    def __init__(self, logits: Any, *, fetch_all: bool = False) -> None:
        """Take a pass's logits; `fetch_all` where every row will be read anyway (sampling, penalties)."""
        import torch

        self._logits = logits
        self._array: npt.NDArray[np.float32] | None = None
        self._best: list[list[int]] = []
        self._lse: list[list[float]] = []
        if fetch_all or logits.device.type == "cpu":
            self._array = logits.to(torch.float32).cpu().numpy()
        else:
            self._best, self._lse = summarize(logits)

    @property
    def n_rows(self) -> int:
        return int(self._logits.shape[-1])

    def position(self, row: int, column: int) -> Position:
        """Return one position; raises DominoError where the model gave no finite best score."""
        return Position(self, row, column)

    def scores(self, row: int, column: int) -> npt.NDArray[np.float32]:
        """Return float32[n_rows]; not to be written to."""
        if self._array is not None:
            return np.asarray(self._array[row, column], dtype=np.float32)
        fetched: npt.NDArray[np.float32] = self._logits[row, column].float().cpu().numpy()
        return fetched

    def best(self, row: int, column: int) -> int:
        """Return the lowest id among the highest scores."""
        if self._array is not None:
            return int(self._array[row, column].argmax())
        found = self._best[row][column]
        return found if found < self._logits.shape[-1] else 0  # no score equals the top one: not a number

    def log_normalizer(self, row: int, column: int) -> float:
        """Return log of the sum of exp of the scores."""
        if self._array is not None:
            return log_sum_exp(self._array[row, column])
        return float(self._lse[row][column])


def summarize(logits: Any) -> tuple[list[list[int]], list[list[float]]]:
    """Return the best ids and log-normalizers of float[n_batch, n_positions, n_rows], computed where the logits are.

    The lowest id among equals is the best, as with numpy's argmax (torch's makes no promise); where no score equals the
    highest (it is not a number) the id is n_rows.
    """
    import torch

    exact = logits.to(torch.float32)
    ids = torch.arange(exact.shape[-1], device=exact.device)
    best = torch.where(exact == exact.amax(-1, keepdim=True), ids, exact.shape[-1]).amin(-1)
    return best.tolist(), exact.logsumexp(-1).tolist()


class Position:
    """The model's scores at one place of one row, each number computed when first asked for."""

    __slots__ = ("_column", "_logits", "_lse", "_row", "_scores", "best")

    def __init__(self, logits: PassLogits, row: int, column: int) -> None:
        self._logits, self._row, self._column = logits, row, column
        self._scores: npt.NDArray[np.float32] | None = None
        self._lse: float | None = None
        self.best = logits.best(row, column)

    def check(self, step: int) -> None:
        """Raise DominoError unless the best score is a finite number."""
        top = float(self.scores[self.best]) if self._logits._array is not None else self.log_normalizer
        if not math.isfinite(top):
            raise DominoError(
                f"the model's logits at output position {step} are not finite (best score {top}). Half precision on "
                "this device, a damaged checkpoint or an attention mask that hides everything are common causes."
            )

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        if self._scores is None:
            self._scores = self._logits.scores(self._row, self._column)
        return self._scores

    @property
    def log_normalizer(self) -> float:
        if self._lse is None:
            self._lse = self._logits.log_normalizer(self._row, self._column)
        return self._lse
