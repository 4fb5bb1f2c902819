"""Where each row's tokens stand in a batch's cache: columns, holes and positions.

All rows of a batch share the cache's columns. A pass appends a block of columns: each row's *head* (what it has not run
yet, aligned to the right) followed by its draft (aligned to the left):

    row 0    . . h | d d d          row 0: head of 1, draft of 3
    row 1    h h h | d . .          row 1: head of 3, draft of 1

A draft may be a tree: then every token sees its ancestors only, and its position is its depth. Rows accept different
numbers of drafted tokens. Rejected ones, like padding, stay as *holes* that the attention mask hides, except that
trailing columns no row kept are dropped from the cache. When holes waste more than a quarter, or where the model's
windows count columns, every row is *repacked*: its kept columns move to the right, holes end up on the left. Positions
count a row's own kept tokens, so a row sees the same positions in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Columns"]

_WASTE = 1.25  # repack costs about a pass at 4 rows and 1000 columns, so it must be rare


@dataclass(frozen=True, slots=True)
class Block:
    """One pass's input.

    Attributes:
        input_ids: int64[n, q].
        attention_mask: int64[n, width + q]; None where nothing is hidden.
        position_ids: int64[n, q]; None for a batch of one, which the model counts by itself.
        first: the column within the block whose logits decide the first new token.
        visible: for drafts that branch, which columns a token sees, bool[n, q, width + q]; else None.
        key_positions: then the position of every column, int64[n, width + q].
    """

    input_ids: npt.NDArray[np.int64]
    attention_mask: npt.NDArray[np.int64] | None
    position_ids: npt.NDArray[np.int64] | None
    first: int
    visible: npt.NDArray[np.bool_] | None = None
    key_positions: npt.NDArray[np.int64] | None = None

    @property
    def n_positions(self) -> int:
        """Positions per row whose logits are needed."""
        return int(self.input_ids.shape[1]) - self.first


class Columns:
    """The columns of a running batch: `kept` bool[n, width] says which hold a token of the row."""

    def __init__(self, n_rows: int) -> None:
        self.kept: npt.NDArray[np.bool_] = np.zeros((n_rows, 0), dtype=bool)
        self._block_kept: npt.NDArray[np.bool_] = np.zeros((n_rows, 0), dtype=bool)
        self._n_heads = 0

    @property
    def width(self) -> int:
        return int(self.kept.shape[1])

    def block(
        self,
        heads: Sequence[Sequence[int]],
        drafts: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
    ) -> Block:
        """Lay out the next pass; every head has at least one token.

        Args:
            parents: for trees, by row the place in its draft of each token's parent (-1: the head's last token), in
                an order where parents come first; None: all drafts are chains.
        """
        n_heads = max(len(head) for head in heads)
        n_drafts = max(len(draft) for draft in drafts)
        shape = (len(heads), n_heads + n_drafts)
        ids = np.zeros(shape, dtype=np.int64)
        filled = np.zeros(shape, dtype=bool)
        for row, (head, draft) in enumerate(zip(heads, drafts, strict=True)):
            ids[row, n_heads - len(head) : n_heads] = head
            ids[row, n_heads : n_heads + len(draft)] = draft
            filled[row, n_heads - len(head) : n_heads + len(draft)] = True
        self._block_kept, self._n_heads = filled, n_heads
        if parents is not None:
            return self._tree_block(ids, filled, parents)
        seen = np.concatenate([self.kept, filled], axis=1)
        mask = None if seen.all() else seen.astype(np.int64)
        positions = None
        if len(heads) > 1:
            before = self.kept.sum(axis=1, dtype=np.int64)[:, None]
            positions = np.maximum(before + np.cumsum(filled, axis=1, dtype=np.int64) - 1, 0)
        return Block(ids, mask, positions, n_heads - 1)

    def _tree_block(
        self, ids: npt.NDArray[np.int64], filled: npt.NDArray[np.bool_], parents: Sequence[Sequence[int]]
    ) -> Block:
        n, q = ids.shape
        before = self.kept.sum(axis=1, dtype=np.int64)
        positions = np.maximum(before[:, None] + np.cumsum(filled, axis=1, dtype=np.int64) - 1, 0)
        own = np.tril(np.ones((q, q), dtype=bool)) & filled[:, None, :]
        own[:, self._n_heads :, self._n_heads :] = False
        for row, above in enumerate(parents):
            root = self._n_heads - 1
            for place, parent in enumerate(above):
                column = self._n_heads + place
                if parent >= 0:
                    own[row, column, self._n_heads :] = own[row, self._n_heads + parent, self._n_heads :]
                own[row, column, column] = True
                positions[row, column] = positions[row, root if parent < 0 else self._n_heads + parent] + 1
        own |= np.eye(q, dtype=bool)  # padding sees itself: a softmax over nothing is not a number
        past = np.broadcast_to(self.kept[:, None, :], (n, q, self.width))
        key_positions = np.concatenate([np.maximum(np.cumsum(self.kept, axis=1) - 1, 0), positions], axis=1)
        visible = np.concatenate([past, own], axis=2)
        return Block(ids, None, positions, self._n_heads - 1, visible, key_positions)

    def settle(self, accepted: Sequence[Sequence[int] | None]) -> int:
        """Keep the heads and, of each row's draft, the tokens at the accepted places.

        None takes back the head's last token too. Returns how many trailing columns to drop from the cache.
        """
        filled = self._block_kept
        for row, places in enumerate(accepted):
            filled[row, self._n_heads - (places is None) :] = False
            filled[row, [self._n_heads + place for place in places or ()]] = True
        self.kept = np.concatenate([self.kept, filled], axis=1)
        used = np.flatnonzero(self.kept.any(axis=0))
        n_dropped = self.width - (int(used[-1]) + 1 if len(used) else 0)
        self.kept = self.kept[:, : self.width - n_dropped]
        return n_dropped

    def select(self, rows: npt.NDArray[np.int64]) -> None:
        """Keep these rows of the batch."""
        self.kept = self.kept[rows]

    def repack(self, window: int | None, needs_room: bool = False) -> npt.NDArray[np.int64] | None:
        """Move the holes to the left if they cost too much or must not be there.

        Args:
            window: the model's shortest attention window; None without one.
            needs_room: the cache has hardly any column left.

        Returns:
            int64[n, new width], for `caches.move_columns`; None where nothing needs to move.
        """
        if self.kept.all():
            return None
        lengths = self.kept.sum(axis=1)
        new_width = int(lengths.max())
        is_packed = new_width == self.width and bool((self.kept[:, 1:] >= self.kept[:, :-1]).all())
        must = len(self.kept) == 1 or (window is not None and not is_packed) or (needs_room and new_width < self.width)
        if not must and self.width <= _WASTE * new_width:
            return None
        index = np.zeros((len(self.kept), new_width), dtype=np.int64)
        kept = np.zeros((len(self.kept), new_width), dtype=bool)
        for row, length in enumerate(lengths):
            index[row, new_width - length :] = np.flatnonzero(self.kept[row])
            kept[row, new_width - length :] = True
        self.kept = kept
        return index
