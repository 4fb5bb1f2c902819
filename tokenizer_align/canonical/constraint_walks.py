"""What the law of a tokenization asks of a constraint's automaton, beyond masks: narrow tokens, and where tokens end.

A token is *narrow* if the constraint leaves so little to follow it that some state of the pre-tokenizer might find no
boundary there. All other tokens can be continued canonically whatever stands before them; in an open string, or in
any JSON, hardly a token is narrow.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..byte_masks import words_of
from ..counted import Count, item_bytes
from ..counting import slack
from ..engine import Engine, Heads
from .known_states import KnownStates, sets_of_subtrees
from .token_paths import Ids, TokenPaths

MAX_STACKS = 1 << 14
MAX_LOOKED_AT = 64
MIN_COUNTED = 256  # fewer tokens are run one by one


@dataclass(frozen=True)
class Groups:
    """Tokens by the heads that they lead to.

    group: int32[n_tokens], which one; -1 where a token cannot be read. The heads of group g: codes, stacks: int64[n]
    at bounds[g]:bounds[g + 1]. live: uint64[n_groups, 4], the bytes that may come next there. complete: bool[n_groups],
    whether the text may end there.
    """

    group: Ids
    bounds: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]
    stacks: npt.NDArray[np.int64]
    live: npt.NDArray[np.uint64]
    complete: npt.NDArray[np.bool_]

    @cached_property
    def heads(self) -> list[Heads]:
        """Of all groups."""
        bounds = self.bounds.tolist()
        pairs = list(zip(self.codes.tolist(), self.stacks.tolist(), strict=True))
        return [tuple(sorted(pairs[begin:end])) for begin, end in pairwise(bounds)]

    def heads_of(self, g: int) -> Heads:
        """Of one group."""
        part = slice(self.bounds[g], self.bounds[g + 1])
        return tuple(sorted(zip(self.codes[part].tolist(), self.stacks[part].tolist(), strict=True)))

    def __len__(self) -> int:
        return len(self.complete)

    @classmethod
    def joined(cls, group: Ids, parts: Sequence[Groups]) -> Groups:
        """The groups of all parts, one after the other."""
        bounds, n = [np.zeros(1, np.int64)], 0
        for part in parts:
            bounds.append(part.bounds[1:] + n)
            n += int(part.bounds[-1])
        return cls(
            group,
            np.concatenate(bounds),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("codes", "stacks", "live", "complete")
            ),
        )


class ConstraintWalks:
    """Walks from heads of one engine's automaton."""

    def __init__(self, engine: Engine, paths: TokenPaths, all_narrow: bool = False) -> None:
        self.engine = engine
        self._all_narrow = all_narrow
        self._sets, self._sets_behind = paths.cut_sets, paths.sets_behind
        if all_narrow:
            self._sets, self._sets_behind = np.zeros((1, 4), np.uint64), np.full_like(paths.sets_behind, 2**64 - 1)
        self._paths = paths
        self._known, self._sets_below = KnownStates(1024), sets_of_subtrees(engine, paths, self._sets_behind)
        self._names_of_sets = hashlib.sha256(self._sets.tobytes() + self._sets_behind.tobytes()).digest()
        self._out = np.zeros(engine.vocabulary.n_rows, np.int32)
        self._frames: dict[int, tuple[Ids, Ids]] = {}  # by code: narrow tokens in a frame, nodes where it may end
        self._in_frame: dict[int, Ids] = {}  # state -> narrow tokens that end in its frame
        self._live_below: dict[int, int] = {}  # by stack
        self._slacks: dict[int, int] = {}
        self._cuts_within: dict[int, bool] = {}  # by the top frame's code
        self._may_precede_cut = 0  # bytes before which P has a boundary in some state
        for cuts, weak_cuts in zip(paths.cuts, paths.weak_cuts, strict=True):
            self._may_precede_cut |= cuts | weak_cuts
        self._room = _Room(256)
        tables = engine.tables
        by_text = tables.trie_token_ids.array[: tables.trie_token_start.array[engine.n_vocabulary_nodes]]
        self._places = np.zeros(engine.vocabulary.n_rows, np.int32)  # of tokens in the order of their bytes
        self._places[by_text] = np.arange(len(by_text))
        self._marks = np.zeros((engine.longest_token + 1, 2), np.int64)

    def narrow_tokens(self, heads: Heads) -> Ids:
        """Tokens that the heads can read, all narrow ones among them, in no order; the mask was made before."""
        with self.engine.lock:
            # A token that no head leaves wide is narrow for each that reads it.
            parts = [self._by_memo(head) for head in heads]
            rest = tuple(head for head, part in zip(heads, parts, strict=True) if part is None and head[0] >= 0)
            found = [part for part in parts if part is not None]
            if rest or not found:
                found.append(self._by_frame(rest))
            return found[0] if len(found) == 1 else np.concatenate(found)

    def _by_memo(self, head: tuple[int, int]) -> Ids | None:
        """The same for one head by the engine's memo of its state; None where there is none that says all."""
        tables, (code, stack) = self.engine.tables, head
        if 0 <= code < k.LIT_BASE and tables.state_kind.array[code] == k.KEYS:
            code = int(k.key_code(tables.ctx, np.int64(code)))
        state = int(k.memo_state(tables.ctx, np.int64(code)))
        memo = int(k.find_memo(tables.ctx, np.int64(0), np.int64(state))) if state >= 0 else -1
        if memo < 0:
            return None
        residual, _, n_pushes = tables.memos.row(memo)[3:6].tolist()
        if n_pushes or (residual >= 0 and tables.trie_height.array[residual] == k.LAZY_HEIGHT):
            return None
        found = [self._inside(state)]
        below: Heads = ()
        if code >= k.KEY_BASE:
            keys, below = self._beside_keys(code, stack)
            found.append(keys)
        elif residual >= 0 and stack >= 0:
            below = self._below(stack)
        if residual >= 0 and below:
            found.append(self._walk(residual, below))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _inside(self, state: int) -> Ids:
        """Tokens that end in the frame of a state which has a memo, all narrow ones among them."""
        found = self._in_frame.get(state)
        if found is None:
            found = self._counted(state)
            self._in_frame[state] = found = self._kept_walk(state) if found is None else found
        return found

    def _counted(self, state: int) -> Ids | None:
        """The same for a counted repetition: those of the endless one, and tokens that use up all items or too few."""
        engine = self.engine
        count = engine.automaton.count_at.get(state)
        profile = None if count is None else engine.shared_walks.profiles.get((0, count.item, count.tail))
        if count is None or profile is None:
            return None
        found = [self._inside(self._endless(count)), profile.in_tail]
        if count.hi is not None:
            found.append(profile.between(count.hi, count.hi + 1))
        if count.lo:
            found.append(self._narrow_before(item_bytes(count), profile.between(0, count.lo)))
        return np.concatenate(found)

    def _endless(self, count: Count) -> int:
        """The state of the same items without numbers."""
        engine = self.engine
        engine.walkers.settle()
        with engine.changing():
            return engine.automaton.code_of(Count(count.item, count.tail, 0, None).expr)

    def _narrow_before(self, live: int, tokens: Ids) -> Ids:
        """Those of some tokens that are narrow where these bytes may come (256-bit mask), as `kernels.walk_narrow`."""
        words = words_of(live)
        if words[2]:
            return tokens
        unread = sum(1 << i for i, one in enumerate(self._sets) if not (one & words).any())
        found: Ids = tokens[self._sets_behind[tokens] & np.uint64(unread) != 0]
        return found

    def _beside_keys(self, code: int, stack: int) -> tuple[Ids, Heads]:
        """For a place in an object's keys: the tokens for which the memo of undeclared keys does not hold, and the
        heads behind such a key."""
        engine = self.engine
        while True:
            result, n_heads, n = k.narrow_keys(engine.tables.ctx, np.int64(code), np.int64(stack), self._out)
            if result == k.OK:
                return self._out[:n].copy(), engine.unload(n_heads)
            engine._again(result)

    def _kept_walk(self, state: int) -> Ids:
        """The narrow tokens that end in a state's frame, from disk where they are kept there."""
        engine = self.engine
        expr = engine.automaton.exprs[state]
        key = engine.memo_store.key(expr, 0, engine.n_vocabulary_nodes)
        if key is None or expr is None or not expr.plain:
            return self._walk(0, ((state, -1),))
        key = hashlib.sha256(key.encode() + b"narrow by token, exactly" + self._names_of_sets).hexdigest()
        kept = engine.memo_store.load_beside(key)
        if kept is not None:
            return kept[0].astype(np.int32)
        started = time.thread_time()
        found = self._walk(0, ((state, -1),))
        engine.memo_store.store_beside(key, time.thread_time() - started, ids=found)
        return found

    def _below(self, stack: int) -> Heads:
        engine = self.engine
        while True:
            result, n = k.heads_below(engine.tables.ctx, np.int64(stack))
            if result == k.OK:
                return engine.unload(n)
            engine._again(result)

    def bytes_below(self, stack: int) -> int:
        """The bytes of text that may come where the frame above a stack has ended (256-bit mask)."""
        found = self._live_below.get(stack)
        if found is None:
            with self.engine.lock:
                found = self.engine.live_bytes(self._below(stack)) & ~self.engine.reserved
            if len(self._live_below) >= MAX_STACKS:
                self._live_below.clear()
            self._live_below[stack] = found
        return found

    def may_cut_within(self, heads: Heads) -> bool:
        """Whether a boundary may come before the top frames have ended, as far as a short look shows; not so inside
        a character."""
        return any(self._may_cut_within(code) for code, _ in heads)

    def _may_cut_within(self, code: int) -> bool:
        found = self._cuts_within.get(code)
        if found is None:
            with self.engine.lock:
                found = self._cuts_within[code] = self._look_for_cuts(code)
        return found

    def _look_for_cuts(self, code: int) -> bool:
        start: Heads = ((code, -1),)
        seen, work = {start}, [start]
        for here in work:
            live = self.engine.live_bytes(here)
            if live & self._may_precede_cut or len(seen) > MAX_LOOKED_AT:
                return True
            for byte in range(256):
                if live >> byte & 1:
                    after = self.engine.run_plain(here, BYTE_TEXTS[byte])
                    if after and after not in seen:
                        seen.add(after)
                        work.append(after)
        return False

    def _walk(self, node: int, heads: Heads) -> Ids:
        return self._walk_from(np.array([node], np.int32), heads, NONE)[0]

    def _walk_from(self, nodes: Ids, heads: Heads, exits: Ids) -> tuple[Ids, int]:
        engine = self.engine
        while True:
            self._known.reserve(engine.tables.state_kind.n)
            engine.load(heads)
            result, n, n_exits = k.walk_narrow(
                engine.tables.ctx, nodes, len(heads), self._known.unread, self._sets, self._sets_behind,
                self._sets_below, self._known.safe, self._out, exits,
            )  # fmt: skip
            if result == k.OK:
                return self._out[:n].copy(), n_exits
            engine._again(result)

    def _by_frame(self, heads: Heads) -> Ids:
        """As `narrow_tokens`; of one head out of what its frame alone reads, and what lies below where that may end."""
        (code, stack), engine = heads[0] if len(heads) == 1 else (-1, -1), self.engine
        if not 0 < code < k.LIT_BASE or engine.tables.state_kind.array[code] != k.ROW:
            return self._walk(0, heads) if heads else NONE
        found = self._frames.get(code)
        if found is None:
            exits = np.empty(engine.n_vocabulary_nodes, np.int32)
            tokens, n_exits = self._walk_from(ROOT, ((code, -1),), exits)
            found = self._frames[code] = tokens, exits[:n_exits].copy()
        tokens, exits = found
        if stack < 0 or not len(exits):
            return tokens
        return np.concatenate([tokens, self._walk_from(exits, self._below(stack), NONE)[0]])

    def groups(self, heads: Heads, tokens: Ids) -> Groups:
        """Tokens by where they lead."""
        engine = self.engine
        with engine.lock:
            items = self._items_begun(heads) if len(tokens) >= MIN_COUNTED else None
            if items is None:
                return self._run_groups(heads, tokens)
            # All that use up as many items of a counted repetition lead to the same heads.
            n_items = items[tokens]
            apart = np.flatnonzero(n_items < 0)
            alone = self._run_groups(heads, tokens[apart])
            group = np.empty(len(tokens), np.int32)
            group[apart] = alone.group
            parts, n_groups = [alone], len(alone)
            for n, first in zip(*(each.tolist() for each in np.unique(n_items, return_index=True)), strict=True):
                if n >= 0:
                    parts.append(self._run_groups(heads, tokens[first : first + 1]))
                    group[n_items == n] = n_groups if len(parts[-1]) else -1
                    n_groups += len(parts[-1])
            return Groups.joined(group, parts)

    def _items_begun(self, heads: Heads) -> Ids | None:
        """int32[n_rows]: of the only head, a counted repetition, the items that each token reads whole; -1 for tokens
        that end elsewhere. None for other heads."""
        count = self.engine.automaton.count_at.get(heads[0][0]) if len(heads) == 1 else None
        profile = None if count is None else self.engine.shared_walks.profiles.get((0, count.item, count.tail))
        return None if profile is None else profile.whole

    def _run_groups(self, heads: Heads, tokens: Ids) -> Groups:
        engine, group = self.engine, np.zeros(len(tokens), np.int32)
        order = np.argsort(self._places[tokens]) if len(tokens) > 1 else np.zeros(len(tokens), np.intp)
        by_text, in_order = tokens[order], np.zeros(len(tokens), np.int32)
        while True:
            room = self._room
            engine.load(heads)
            result, n = k.end_groups(
                engine.tables.ctx, len(heads), by_text, self._paths.text_start, self._paths.text, self._marks,
                in_order, room.bounds, room.codes, room.stacks, room.live, room.complete,
            )  # fmt: skip
            if result != k.OK:
                engine._again(result)
            elif n < 0:
                self._room = _Room(4 * len(room.complete))
            else:
                break
        n_heads, group[order] = int(room.bounds[n]), in_order
        return Groups(
            group, room.bounds[: n + 1].copy(), room.codes[:n_heads].copy(), room.stacks[:n_heads].copy(),
            room.live[:n].copy(), room.complete[:n].copy(),
        )  # fmt: skip

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


NONE = np.zeros(0, np.int32)
ROOT = np.zeros(1, np.int32)
BYTE_TEXTS = [np.array([byte], np.uint8) for byte in range(256)]


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
