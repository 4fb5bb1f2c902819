"""What may follow tokens up to where their pre-token ends, as texts: what settles most tokens, in compiled code.

A token that leads to (heads, p), p a state of P, can be continued canonically exactly if byte pair encoding writes some
legal text from the heads on, which P reads from p as going on with the open pre-token, up to a boundary or the end, so
that its first token makes no bad pair with the one before. Where the constraint forces what comes (keys, names, `true`)
these texts are few, and all are looked at; where it leaves much open, one text for each first byte shows nearly all
tokens to survive. What is left is searched for (`search.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..byte_masks import words_of
from .bpe_kernels import fates_by_row, fates_by_texts, first_of_text
from .constraint_walks import ConstraintWalks, Groups
from .pairs import Pairs
from .token_paths import Ids, TokenPaths, words_of_all

MAX_BYTES = 320  # of one text
THOROUGH_BYTES = 24  # where all texts are looked at
MAX_TEXTS = 1 << 10  # of one call
MAX_NODES = 400  # places looked at for a lot
MIN_FOR_ROW = 512  # tokens of a lot that are still open
_RARE_FIRST = b"xqzjkvXQZ-_9"  # letters that few merges join to what stands before them
ORDER = bytes(dict.fromkeys([*_RARE_FIRST, *range(0x21, 0x100), *range(0x21)]))
Lots = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


class OpenTexts:
    """Over one engine."""

    def __init__(self, walks: ConstraintWalks, paths: TokenPaths, pairs: Pairs) -> None:
        self._engine = walks.engine
        automaton = paths.pre_tokens
        self._plan = (
            automaton.first, automaton.arcs, paths.cuts_of, words_of_all(paths.weak_cuts), paths.may_end,
            words_of(self._engine.reserved), np.frombuffer(ORDER, np.uint8),
        )  # fmt: skip
        self._rooms = (
            np.zeros((MAX_BYTES + 1, 5), np.int64), np.zeros((MAX_BYTES + 1, 4), np.uint64),
            np.zeros((17, 5), np.int64), np.zeros((17, 4), np.uint64),
        )  # fmt: skip
        n_bytes = 64 * MAX_BYTES
        self._texts = np.zeros(n_bytes, np.uint8), np.zeros(n_bytes, np.int32), np.zeros(MAX_TEXTS + 1, np.int64)
        self._pairs, self._pair_tables = pairs, pairs.texts_tables
        self._paths = paths
        self._parts = np.zeros((3, MAX_BYTES + 1), np.int32)

    def decide(
        self, groups: Groups, lots: Lots, firsts: npt.NDArray[np.int64], tokens: Ids, todo: Flags, fates: Ids
    ) -> None:
        """Settle tokens whose fate, int32[n], is -1: how many tokens are read behind each to see it survive, at most,
        or 0: it does not. What texts do not tell stays -1.

        lots: int32[n_lots, 2], (group, state of P); the tokens of lot i, which counts if todo[i], are
        tokens[firsts[i]:firsts[i + 1]].
        """
        for is_thorough in (False, True):
            if todo.any():
                self._look(groups, groups.stacks, True, lots, firsts, tokens, todo, is_thorough, fates)
                todo = todo & (np.add.reduceat(fates < 0, firsts[:-1]) > 0)

    def show(
        self, groups: Groups, lots: Lots, firsts: npt.NDArray[np.int64], tokens: Ids, todo: Flags, fates: Ids
    ) -> None:
        """The same for what survives whatever lies below the top frame; others stay -1."""
        self._look(groups, np.full_like(groups.stacks, -1), False, lots, firsts, tokens, todo, False, fates)
        fates[fates == 0] = -1

    def _look(
        self, groups: Groups, stacks: npt.NDArray[np.int64], may_end: bool, lots: Lots,
        firsts: npt.NDArray[np.int64], tokens: Ids, todo: Flags, is_thorough: bool, fates: Ids,
    ) -> None:  # fmt: skip
        engine, done = self._engine, 0
        lot_ends, kinds = np.zeros(len(lots) + 1, np.int64), np.zeros(len(lots), np.int8)
        limits = (THOROUGH_BYTES if is_thorough else MAX_BYTES, MAX_NODES)
        with engine.lock:
            while True:
                result, done = k.list_all_texts(
                    engine.tables.ctx, (groups.bounds, groups.codes, stacks), lots, todo, is_thorough, limits,
                    (*self._plan, may_end), self._rooms, self._texts, lot_ends, kinds, done,
                )  # fmt: skip
                if result == k.OK:
                    break
                engine._again(result)
        spelling, pair_tables = self._pair_tables
        n_by_row = np.zeros(len(lots), np.int64)
        for lot in np.flatnonzero((kinds != 2) & todo & (np.diff(firsts) >= MIN_FOR_ROW)).tolist():
            part, first, last = slice(firsts[lot], firsts[lot + 1]), int(lot_ends[lot]), int(lot_ends[lot + 1])
            n_by_row[lot] = self._settle_by_rows(tokens[part], first, last, fates[part])
        fates_by_texts(
            tokens, firsts, n_by_row, lot_ends, kinds, *self._texts, *spelling, self._paths.lengths, self._paths.stops,
            self._paths.kinds, engine.longest_token, *pair_tables, self._parts, fates,
        )  # fmt: skip

    def _settle_by_rows(self, tokens: Ids, first: int, last: int, fates: Ids) -> int:
        """What the kernel does for a lot and its texts first..last-1, as long as many tokens are left: all pairs with
        what a text begins with are in one row. Returns how many texts were looked at."""
        (of_byte, is_byte_level, is_byte_piece), tables = self._pair_tables
        text, path, ends = self._texts
        n_open = np.count_nonzero(fates < 0)
        for at in range(first, last):
            if n_open < MIN_FOR_ROW:
                return at - first
            begin, end = int(ends[at]), int(ends[at + 1])
            follower = first_of_text(
                text, path, begin, end, of_byte, is_byte_level, self._paths.lengths, self._paths.stops,
                self._paths.kinds, *tables[4:8], self._parts,
            )  # fmt: skip
            if follower >= 0 and not is_byte_piece[follower]:
                row = self._pairs.bad_left(follower)
                fate = 1 + (end - begin) // self._engine.longest_token
                n_open = fates_by_row(tokens, row, is_byte_piece, fate, fates)
        return last - first
