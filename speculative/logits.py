"""The logits of one pass, read as little as possible: the best token first, whole rows only where they are needed.

On the CPU a row is a view of the pass's own tensor. On an accelerator the best tokens and normalizers of all
positions are computed there and fetched together; a row is fetched when a mask or noise must meet it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from speculative.device_masks import MaskSender, mask_logits
from speculative.sampling import log_sum_exp
from tokenizer_align.errors import DominoError

__all__ = ["PassLogits", "Position", "Tops", "find_tops"]


class PassLogits:
    """Logits of one pass, float[n_batch, n_positions, n_rows] on any device."""

    def __init__(self, logits: Any, *, in_place: bool) -> None:
        """Take a pass's logits.

        Args:
            in_place: read them here row by row, as a view where they are on the CPU, else fetched at once; False: have
                the best tokens found where the logits are, and fetch only rows that are asked for.
        """
        import torch

        self._logits = logits
        self._array: npt.NDArray[np.float32] | None = None
        self._tops: Tops | None = None
        self._sender: MaskSender | None = None
        if in_place:
            self._array = logits.to(torch.float32).cpu().numpy()
        else:
            self._tops = find_tops(logits)

    def copy_of(self, row: int, column: int) -> PassLogits:
        """Return one position's logits, which stay when the next pass writes over these."""
        import torch

        kept, tops = object.__new__(PassLogits), self._tops
        kept._sender = kept._array = None
        kept._logits = self._logits[row : row + 1, column : column + 1].clone()
        if self._array is not None:
            is_same = kept._logits.dtype == torch.float32 and kept._logits.device.type == "cpu"
            here = self._array[row : row + 1, column : column + 1]
            kept._array = kept._logits.numpy() if is_same else here.copy()
        kept._tops = tops and Tops(
            [[tops.ids[row][column]]], [[tops.scores[row][column]]], [[tops.log_normalizers[row][column]]]
        )
        return kept

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

    @property
    def is_elsewhere(self) -> bool:
        """Whether a row of scores has to be fetched to be read."""
        return self._array is None

    def score(self, row: int, column: int, token_id: int) -> float:
        """Return one token's score."""
        return float(self._logits[row, column, token_id])

    def best_legal(self, row: int, column: int, mask: npt.NDArray[np.uint32]) -> tuple[int, float, float]:
        """Return the best of the tokens in a packed mask, its score, and log of the sum of exp of all their scores.

        The mask goes to the logits (16 kB at 129k tokens), not the row of scores (0.5 MB) to the mask.
        """
        if self._sender is None:
            self._sender = MaskSender(self._logits.device, len(mask))
        scores = self._logits[row, column].float().clone()[None, None]
        mask_logits(scores[0], self._sender.send([mask]))
        tops = find_tops(scores)
        return tops.ids[0][0], tops.scores[0][0], tops.log_normalizers[0][0]

    def best(self, row: int, column: int) -> tuple[int, float]:
        """Return the lowest id among the highest scores, and that score (not a number if any score is none)."""
        if self._tops is None:
            scores = self.scores(row, column)
            best = int(scores.argmax())
            return best, float(scores[best])
        best = self._tops.ids[row][column]
        return (best if best < self.n_rows else 0), self._tops.scores[row][column]

    def log_normalizer(self, row: int, column: int) -> float:
        """Return log of the sum of exp of the scores."""
        if self._tops is None:
            return log_sum_exp(self.scores(row, column))
        return self._tops.log_normalizers[row][column]


@dataclass(frozen=True, slots=True)
class Tops:
    """Best ids, their scores, and log-normalizers: each a list [n_batch][n_positions]."""

    ids: list[list[int]]
    scores: list[list[float]]
    log_normalizers: list[list[float]]


def find_tops(logits: Any) -> Tops:
    """Summarize float[n_batch, n_positions, n_rows] where the logits are.

    The lowest id among equals is the best, as with numpy's argmax (torch's makes no promise); where no score equals the
    highest (it is not a number) the id is n_rows.
    """
    import torch

    exact = logits.to(torch.float32)
    ids = torch.arange(exact.shape[-1], device=exact.device)
    top = exact.amax(-1)
    best = torch.where(exact == top[..., None], ids, exact.shape[-1]).amin(-1)
    return Tops(best.tolist(), top.tolist(), exact.logsumexp(-1).tolist())


class Position:
    """The model's scores at one place of one row, each number computed when first asked for."""

    __slots__ = ("_column", "_known", "_logits", "_lse", "_row", "_scores", "best", "best_score")

    def __init__(self, logits: PassLogits, row: int, column: int) -> None:
        self._logits, self._row, self._column = logits, row, column
        self._scores: npt.NDArray[np.float32] | None = None
        self._lse: float | None = None
        self.best, self.best_score = logits.best(row, column)
        self._known = {self.best: self.best_score}

    def copy(self) -> Position:
        """Return the same, which stays when the next pass writes over these logits."""
        kept = object.__new__(Position)
        kept._logits, kept._row, kept._column = self._logits.copy_of(self._row, self._column), 0, 0
        kept._scores, kept._lse, kept._known = None, self._lse, dict(self._known)
        kept.best, kept.best_score = self.best, self.best_score
        return kept

    def check(self, step: int) -> None:
        """Raise DominoError unless the best score is a finite number."""
        if not math.isfinite(self.best_score):
            raise DominoError(
                f"the model's logits at output position {step} are not finite (best score {self.best_score}). Half "
                "precision on this device, a damaged checkpoint or an attention mask that hides everything are common "
                "causes."
            )

    def score(self, token_id: int) -> float:
        """Return one token's score; those of the best, and of the best legal one, cost nothing."""
        found = self._known.get(token_id)
        if found is None:
            is_fetched = self._scores is not None or not self._logits.is_elsewhere
            found = (
                float(self.scores[token_id]) if is_fetched else self._logits.score(self._row, self._column, token_id)
            )
            self._known[token_id] = found
        return found

    @property
    def is_elsewhere(self) -> bool:
        """Whether the scores have to be fetched to be read, and were not yet."""
        return self._scores is None and self._logits.is_elsewhere

    def best_legal(self, legal: npt.NDArray[np.bool_]) -> tuple[int, float]:
        """Return the best legal token, found where the scores are, and log of the sum of exp of all legal scores."""
        packed = np.packbits(legal, bitorder="little")
        mask: npt.NDArray[np.uint32] = np.zeros((len(legal) + 31) // 32, np.uint32)
        mask.view(np.uint8)[: len(packed)] = packed
        token, score, log_sum = self._logits.best_legal(self._row, self._column, mask)
        self._known[token] = score
        return token, log_sum

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """All scores, float32[n_rows]; not to be written to."""
        if self._scores is None:
            self._scores = self._logits.scores(self._row, self._column)
        return self._scores

    @property
    def log_normalizer(self) -> float:
        if self._lse is None:
            self._lse = self._logits.log_normalizer(self._row, self._column)
        return self._lse
