"""What the law of a tokenization asks of a constraint's automaton, beyond masks: narrow tokens, and where tokens end.

A token is *narrow* if the constraint leaves so little to follow it that some state of the pre-tokenizer might find no
boundary there. All other tokens can be continued canonically whatever stands before them; in an open string, or in
any JSON, hardly a token is narrow.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..counting import slack
from ..engine import Engine, Heads
from .token_paths import Ids, TokenPaths


@dataclass(frozen=True, slots=True)
class Groups:
    """Tokens by the heads that they lead to.

    group: int32[n_tokens], which one; -1 where a token cannot be read. heads: of each group. live: uint64[n_groups, 4],
    the bytes that may come next there. complete: bool[n_groups], whether the text may end there.
    """

    group: Ids
    heads: list[Heads]
    live: npt.NDArray[np.uint64]
    complete: npt.NDArray[np.bool_]


class ConstraintWalks:
    """Walks from heads of one engine's automaton."""

    def __init__(self, engine: Engine, paths: TokenPaths, all_narrow: bool = False) -> None:
        self.engine = engine
        self._all_narrow = all_narrow
        self._cut_words = np.zeros((1, 4), np.uint64) if all_narrow else paths.cut_words
        self._paths = paths
        self._wide = np.zeros(1024, np.uint8)
        self._out = np.zeros(engine.vocabulary.n_rows, np.int32)
        self._in_frame: dict[int, Ids] = {}  # state -> narrow tokens that end in its frame
        self._slacks: dict[int, int] = {}
        self._room = _Room(256)

    def narrow_tokens(self, heads: Heads) -> Ids:
        """Tokens that the heads can read, all narrow ones among them, in no order; the mask was made before."""
        engine = self.engine
        with engine.lock:
            frame = self._frame(heads)
            if frame is None:
                return self._walk(0, heads)
            state, residual, stack = frame
            inside = self._in_frame.get(state)
            if inside is None:
                inside = self._in_frame[state] = self._kept_walk(state)
            if residual < 0 or stack < 0:
                return inside
            return np.concatenate([inside, self._walk(residual, self._below(stack))])

    def _kept_walk(self, state: int) -> Ids:
        """The narrow tokens that end in a state's frame, from disk where they are kept there."""
        engine = self.engine
        key = engine.memo_store.key(engine.automaton.exprs[state], 0)
        if key is None:
            return self._walk(0, ((state, -1),))
        key = hashlib.sha256(key.encode() + b"narrow" + self._cut_words.tobytes()).hexdigest()
        found = engine.memo_store.load_beside(key)
        if found is None:
            started = time.thread_time()
            found = self._walk(0, ((state, -1),))
            engine.memo_store.store_beside(key, found, time.thread_time() - started)
        return found

    def _frame(self, heads: Heads) -> tuple[int, int, int] | None:
        """(state, residual trie, cell below) where the engine has a memo of the only head, so that what ends in its
        frame is the same under every stack."""
        engine = self.engine
        if len(heads) != 1 or not 0 < heads[0][0] < k.LIT_BASE:
            return None
        state = int(k.memo_state(engine.tables.ctx, np.int64(heads[0][0])))
        memo = int(k.find_memo(engine.tables.ctx, np.int64(0), np.int64(state))) if state >= 0 else -1
        if memo < 0:
            return None
        residual, _, n_pushes = engine.tables.memos.row(memo)[3:6].tolist()
        is_part = residual >= 0 and engine.tables.trie_height.array[residual] == k.LAZY_HEIGHT
        return None if is_part or n_pushes else (state, residual, heads[0][1])

    def _below(self, stack: int) -> Heads:
        engine = self.engine
        while True:
            result, n = k.heads_below(engine.tables.ctx, np.int64(stack))
            if result == k.OK:
                return engine.unload(n)
            engine._again(result)

    def _walk(self, node: int, heads: Heads) -> Ids:
        engine = self.engine
        while True:
            n_states = engine.tables.state_kind.n
            if n_states > len(self._wide):
                self._wide = np.concatenate([self._wide, np.zeros(2 * n_states - len(self._wide), np.uint8)])
            engine.load(heads)
            result, n = k.walk_narrow(
                engine.tables.ctx, np.int64(node), len(heads), self._wide, self._cut_words, self._out
            )
            if result == k.OK:
                return self._out[:n].copy()
            engine._again(result)

    def groups(self, heads: Heads, tokens: Ids) -> Groups:
        """Tokens by where they lead."""
        engine, group = self.engine, np.zeros(len(tokens), np.int32)
        with engine.lock:
            while True:
                room = self._room
                engine.load(heads)
                result, n = k.end_groups(
                    engine.tables.ctx, len(heads), tokens, self._paths.text_start, self._paths.text, group,
                    room.bounds, room.codes, room.stacks, room.live, room.complete,
                )  # fmt: skip
                if result != k.OK:
                    engine._again(result)
                elif n < 0:
                    self._room = _Room(4 * len(room.complete))
                else:
                    break
            bounds = room.bounds[: n + 1].tolist()
            pairs = list(zip(room.codes[: bounds[-1]].tolist(), room.stacks[: bounds[-1]].tolist(), strict=True))
            found = [tuple(sorted(pairs[bounds[g] : bounds[g + 1]])) for g in range(n)]
            return Groups(group, found, room.live[:n].copy(), room.complete[:n].copy())

    def clamped(self, heads: Heads) -> Heads:
        """The heads without counts that one token cannot use up: what can be read whole from both is the same."""
        return self.engine.clamped(heads)

    def slack(self, heads: Heads) -> float:
        """How many bytes the heads and their clamped form surely read alike."""
        least = math.inf
        for (code, _), (other, _) in zip(heads, self.clamped(heads), strict=True):
            if code != other:
                found = self._slacks.get(code)
                if found is None:
                    automaton = self.engine.automaton
                    count = automaton.count_at.get(code)
                    expr = automaton.exprs[code] if count is None else count.expr
                    bytes_alike = None if expr is None else slack(expr, automaton.longest_token)
                    found = self._slacks[code] = automaton.longest_token if bytes_alike is None else bytes_alike
                least = min(least, found)
        return least

    def cut_off(self, heads: Heads) -> Heads | None:
        """The same heads without the frames below the top one: what they can read whole is legal under every stack.

        None where that would say nothing new, or little, because the frame may end at once.
        """
        tables = self.engine.tables
        if self._all_narrow:
            return None
        for code, stack in heads:
            if stack < 0 or not 0 < code < k.LIT_BASE or tables.state_kind.array[code] != k.ROW:
                return None
        return tuple(sorted((code, -1) for code, _ in heads))


class _Room:
    """Arrays for the groups of one call."""

    def __init__(self, n_groups: int) -> None:
        self.bounds = np.zeros(n_groups + 1, np.int64)
        self.codes, self.stacks = np.zeros(4 * n_groups, np.int64), np.zeros(4 * n_groups, np.int64)
        self.live, self.complete = np.zeros((n_groups, 4), np.uint64), np.zeros(n_groups, np.bool_)


def ids_of(row: npt.NDArray[np.uint32]) -> Ids:
    """The token ids of a row, ascending."""
    out = np.zeros(int(np.bitwise_count(row).sum()), np.int32)
    k.allowed_ids(row, out)
    return out


def bits_of(row: npt.NDArray[np.uint32], ids: Ids) -> npt.NDArray[np.bool_]:
    """Which tokens a row holds: bool[n_ids]."""
    found: npt.NDArray[np.bool_] = (row[ids >> 5] >> (ids & 31).astype(np.uint32) & 1).astype(np.bool_)
    return found


def set_bits(row: npt.NDArray[np.uint32], ids: Ids) -> None:
    """Set the bits of tokens in a row."""
    np.bitwise_or.at(row, ids >> 5, np.uint32(1) << (ids & 31).astype(np.uint32))
