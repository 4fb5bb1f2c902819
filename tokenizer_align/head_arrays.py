"""The arrays behind the kernels that keep what single heads read: see `head_memos.py`.

A kernel enters what it found by itself, so how much is used stands in an array too, beside how much there is room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import kernels as k

if TYPE_CHECKING:
    from .tables import Tables

Array = npt.NDArray[Any]

N_MEMOS, N_EXITS, N_IDS, N_ROWS = 512, 16384, 16, 64  # that there is room for at first; ids: times n_words


class HeadArrays:
    """Memos of heads: int32[n, HEAD_STRIDE], their exits and token ids: int32[n], dense rows: uint32[n, n_words]."""

    def __init__(self, tables: Tables, n_words: int) -> None:
        self._tables, self._n_words = tables, n_words
        self.used: npt.NDArray[np.int64] = np.zeros(2 * k.HEAD_ROOM, np.int64)
        self._arrays: dict[int, Array] = {}
        self._make((N_MEMOS, N_EXITS, N_IDS * n_words, N_ROWS))

    @property
    def n(self) -> int:
        """How many memos there are."""
        return int(self.used[0])

    def grow(self) -> None:
        """Room for twice as much; nothing walks meanwhile."""
        tables = self._tables
        tables.leaving.append(self._arrays)
        n_memos, n_exits, n_ids, n_rows = self.used[k.HEAD_ROOM :].tolist()
        self._make((2 * n_memos, 2 * n_exits, 2 * n_ids, 2 * n_rows))
        tables.have_left()

    def _make(self, room: tuple[int, int, int, int]) -> None:
        n_memos, n_exits, n_ids, n_rows = room
        arrays: dict[int, Array] = {
            k.HEAD_MEMOS: np.zeros(n_memos * k.HEAD_STRIDE, np.int32),
            k.HEAD_EXITS: np.zeros(n_exits, np.int32),
            k.HEAD_IDS: np.zeros(n_ids, np.int32),
            k.HEAD_ROWS: np.zeros(n_rows * self._n_words, np.uint32),
        }
        for slot, old in self._arrays.items():
            arrays[slot][: len(old)] = old
        slots = [*arrays, k.HEAD_USED]
        values = [array.ctypes.data for array in (*arrays.values(), self.used)]
        # No call from here on: an interrupt comes before all of this or after it.
        self._tables.ctx[slots] = values
        self._arrays = arrays
        self.used[k.HEAD_ROOM :] = room
        self._tables.version += 1

    def n_used_bytes(self) -> int:
        """Bytes in use."""
        n_memos, n_exits, n_ids, n_rows = self.used[: k.HEAD_ROOM].tolist()
        return int(4 * (n_memos * k.HEAD_STRIDE + n_exits + n_ids + n_rows * self._n_words))

    def n_bytes(self) -> int:
        """Bytes held."""
        return sum(int(array.nbytes) for array in self._arrays.values())
