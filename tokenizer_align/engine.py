"""One engine per vocabulary: its trie in kernel form, the automaton's states, and the memos that all constraints share.

A memo belongs to (trie node, state): the tokens that end inside the state's frame, and the *residual trie* of what is
left of tokens that run past its end. It depends on nothing below the frame, so the inside of a JSON string is worked
out once for every schema. See MASKS in docs/pipeline.md.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .automaton import Automaton
from .budget import DEFAULT_BUDGET, STATE_BYTES, Budget, Keeper
from .cache import ArrayCache
from .choices import WIDE_BYTES
from .counters import Counters
from .errors import DominoError
from .expressions import Expr
from .head_memos import HeadMemos
from .memo_store import MemoStore, memo_cache
from .memos import make_memo
from .plain_tokens import PlainTokens
from .residuals import make_part
from .shape_walks import ShapeWalks
from .shared_rows import AtOnce, Reads, SharedRows, Stuck
from .shared_walks import SharedWalks
from .tables import Tables
from .token_ends import TokenEnds
from .trie_arrays import add_shapes, add_trie
from .unique_masks import UniqueMasks
from .unique_plans import UniquePlans
from .unique_runs import Tracked, UniqueRuns, heads_of
from .vocabulary import Vocabulary
from .walkers import Held, Walkers, check_unions
from .walks import walk_heads

Mask = npt.NDArray[np.uint32]
Heads = tuple[tuple[int, int], ...]

COUNT_EVERY = 8  # rounds of building; the bytes of states are counted then
SHAPE_MIN_NODES = 20_000  # of a vocabulary's trie; below, walking is fast
MEMO_MIN_NODES = 300  # below, scanning a subtree is cheaper than keeping a memo of it


class Engine(PlainTokens):
    """Everything that belongs to a vocabulary and not to one constraint. Its methods lock; kernels release the GIL."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        memo_min_nodes: int = MEMO_MIN_NODES,
        wide_bytes: int = WIDE_BYTES,
        budget: Budget = DEFAULT_BUDGET,
        cache: ArrayCache | None = memo_cache,
        shape_min_nodes: int = SHAPE_MIN_NODES,
    ) -> None:
        """Args:
        memo_min_nodes, wide_bytes: from which size of a subtree and of a state on memos are made.
        budget, cache: how much may be kept; where memos over the whole vocabulary are kept on disk, None: nowhere.
        shape_min_nodes: from which size of the vocabulary's trie on there is one by shape.
        """
        self.vocabulary = vocabulary
        self.budget = budget
        self.generation = 0
        self.survivals: dict[bool, Any] = {}  # of the laws of tokenization: `canonical.survival`
        self.keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()
        self._n_kept_bytes = self._n_state_bytes = self._n_needed_bytes = 0
        self.n_words = (vocabulary.n_rows + 31) // 32
        self.lock = threading.RLock()
        self._users, self._n_unfinished = Held(), 0
        self.counters, self.token_ends = Counters(), TokenEnds(self)
        self.tables = Tables(self.n_words)
        self.walkers = Walkers(self.lock)
        self.end_ids = np.array(vocabulary.eos_token_ids, np.int32)
        self.tables.ctx[k.MEMO_MIN_NODES] = memo_min_nodes
        self.longest_token = int(vocabulary.texts.lengths.max(initial=1))
        self.token_arrays = {}
        trie = self.read_vocabulary(vocabulary)
        add_trie(self.tables, trie)
        if trie.n_nodes >= shape_min_nodes:
            add_shapes(self.tables, trie)
        self.memo_store = MemoStore(vocabulary.fingerprint + self.key, trie.n_nodes, cache)
        self.n_vocabulary_nodes = trie.n_nodes
        self._n_trie = [pool.n for pool in self.tables.trie_pools()]
        self._trie_bytes = self.tables.n_used_bytes()
        self._wide_bytes = wide_bytes
        self.automaton = Automaton(self.tables, self.longest_token, wide_bytes)
        self.project = self.projection(vocabulary)
        self._live = np.zeros(4, np.uint64)
        self.rows = SharedRows(self)
        self._forget_walks()

    def _forget_walks(self) -> None:
        """What was walked together, and what is known of heads inside arrays and objects without equal parts."""
        self.shared_walks, self.unique = SharedWalks(), UniqueRuns(self)
        self.shape_walks, self.head_memos = ShapeWalks(), HeadMemos(self)
        self.unique_masks = UniqueMasks(self, self.unique)
        self.unique_plans = UniquePlans(self)

    def load(self, heads: Heads) -> None:
        codes, stacks = self.tables.head_codes, self.tables.head_stacks
        if len(heads) == 1:
            codes[0], stacks[0] = heads[0]
            return
        for i, (code, stack) in enumerate(heads):
            codes[i], stacks[i] = code, stack

    def unload(self, n: int) -> Heads:
        if n == 1:
            return ((self.tables.head_codes[0], self.tables.head_stacks[0]),)
        codes, stacks = self.tables.head_code, self.tables.head_stack
        return tuple(sorted(zip(codes[:n].tolist(), stacks[:n].tolist(), strict=True)))

    def start(self, expr: Expr) -> Heads:
        """The closed heads before anything was read."""
        with self.lock:
            self.walkers.settle()
            with self.changing():
                code = self.automaton.code_of(expr)
            while True:
                result, n = k.start_heads(self.tables.ctx, code)
                if result == k.OK:
                    return self.unload(n)
                self._again(result)

    def run(self, heads: Heads, text: npt.NDArray[np.uint8]) -> Heads:
        """The closed heads after the bytes; empty where they cannot be read, or nothing legal could follow."""
        with self.lock:
            if isinstance(heads, Tracked):
                return self.unique.run(heads, text.tobytes())
            self.load(heads)
            result, n = k.run_bytes(self.tables.ctx, len(heads), text)
            if result == k.OK:  # as `run_plain`
                self.counters.runs += 1
                after = self.unload(n)
            else:
                self._again(result)
                after = self.run_plain(heads, text)
            if self.automaton.anchors and self.tables.counts.array[k.ANCHORS_PUSHED]:
                return self.unique.run(heads, text.tobytes())
            return after

    def run_plain(self, heads: Heads, text: npt.NDArray[np.uint8]) -> Heads:
        """The same for the automaton alone, which takes anchors (`unique`) for brackets."""
        with self.lock:
            self.counters.runs += 1
            while True:
                self.load(heads)
                result, n = k.run_bytes(self.tables.ctx, len(heads), text)
                if result == k.OK:
                    return self.unload(n)
                self._again(result)

    def run_token(self, heads: Heads, token_id: int) -> Heads:
        """The closed heads after a token; empty where it is not legal or has no bytes."""
        text = self.token_text(token_id)
        return self.run(heads, text) if len(text) else ()

    def clamped(self, heads: Heads) -> Heads:
        """Heads with the same mask, without counts beyond the longest token."""
        known = self.automaton.clamped_states
        for code, _ in heads:
            if 0 < code < k.LIT_BASE and known.get(code) != code:
                break
        else:
            if not isinstance(heads, Tracked):
                return heads
        with self.lock:
            if isinstance(heads, Tracked):
                return heads_of(tuple((self.clamped(here), levels) for here, levels in heads.groups))
            self.walkers.settle()
            with self.changing():
                clamp = self.automaton.clamp
                codes = [clamp(code) if 0 < code < k.LIT_BASE else code for code, _ in heads]
            if all(code == head[0] for code, head in zip(codes, heads, strict=True)):
                return heads
            return tuple([(code, head[1]) for code, head in zip(codes, heads, strict=True)])

    def row(self, heads: Heads) -> Mask:
        """The mask of clamped heads as it is kept, end-of-sequence included where the text is complete."""
        if isinstance(heads, Tracked):
            with self.lock:
                kept = self.rows.find(heads)
            return self._keep(heads, *self._mask(heads)) if kept is None else kept
        with self.lock:
            found = self.rows.at_once(heads)
        if isinstance(found, AtOnce):
            if found.shaped:
                self.shape_walks.note(self, found.shaped, found.n_visits)
            return found.row
        row, reads = self.head_memos.row(heads, found) if found.is_apart else self._mask(heads, found)
        return row if reads is None else self._keep(heads, row, reads)

    def _keep(self, heads: Heads, row: Mask, reads: Reads) -> Mask:
        if (k.ACCEPT, -1) in heads:
            k.set_ids(self.end_ids, row)  # writing all words would take as long as some walks
        with self.lock:
            return self.rows.keep(heads, row, reads)

    def mask(self, heads: Heads) -> Mask:
        """A new row with the bits of all tokens that the heads can read whole (uint32[n_words])."""
        return self._mask(heads)[0]

    def _mask(self, heads: Heads, begun: Stuck | None = None) -> tuple[Mask, Reads]:
        if isinstance(heads, Tracked):
            with self.lock:
                return self.unique_masks.mask(heads.groups), Reads(0, is_apart=True)
        mask, reads, opens_tracked = walk_heads(self, heads, begun)
        if opens_tracked:
            with self.lock:
                for token in self.unique_masks.illegal_tokens((heads, ()), mask):
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask, reads

    def walked(self, heads: Heads) -> Mask:
        """The same for the automaton alone, which takes anchors for brackets."""
        return walk_heads(self, heads)[0]

    def live_bytes(self, heads: Heads) -> int:
        """Which bytes may come next, as a 256-bit mask."""
        with self.lock:
            if isinstance(heads, Tracked):
                return self.unique.open_bytes(heads)
            while True:
                self.load(heads)
                result = k.live_bytes(self.tables.ctx, 0, len(heads), self._live)
                if result == k.OK:
                    return int.from_bytes(self._live.tobytes(), "little")
                self._again(result)

    def forced_run(self, heads: Heads, limit: int) -> tuple[bytes, Heads, int]:
        """The bytes that are the only way on, the heads behind them, and the bytes open there (256-bit mask)."""
        out = np.zeros(limit, np.uint8)
        with self.lock:
            if isinstance(heads, Tracked):
                return self.unique.forced_run(heads, limit)
            found = self._forced_plain(heads, limit, out)
            if self.automaton.anchors and (b"[" in found[0] or b"{" in found[0]):  # it may have gone past a bracket
                return self.unique.forced_run(heads, limit)
            return found

    def _forced_plain(self, heads: Heads, limit: int, out: npt.NDArray[np.uint8]) -> tuple[bytes, Heads, int]:
        with self.lock:
            while True:
                self.load(heads)
                result, n, written = k.forced_run(self.tables.ctx, len(heads), out, self._live)
                if result == k.OK:
                    return bytes(out[:written]), self.unload(n), int.from_bytes(self._live.tobytes(), "little")
                self._again(result)

    def fewest_tokens(self, text: bytes) -> tuple[int, ...] | None:
        """As few tokens as can spell the bytes; None where no sequence of tokens does."""
        best, first = np.zeros(len(text) + 1, np.int32), np.zeros(len(text) + 1, np.int32)
        with self.lock:  # growing the trie in another thread moves its arrays
            k.fewest_tokens(self.tables.ctx, np.frombuffer(text, np.uint8), best, first)
        if best[0] < 0:
            return None
        tokens: list[int] = []
        at = 0
        while at < len(text):
            tokens.append(int(first[at]))
            at += len(self.token_text(tokens[-1]))
        return tuple(tokens)

    @property
    def in_use(self) -> memoryview:
        """Whoever holds heads over several calls does so `with engine.in_use`: meanwhile no new generation begins."""
        with self.lock:
            return memoryview(self._users.buffer)

    def n_state_bytes(self) -> int:
        """Bytes of states, memos, cells and literals, about; the vocabulary's own trie is not counted."""
        apart = self.shared_walks.n_bytes - self._trie_bytes
        return self.tables.n_used_bytes() + STATE_BYTES * self.automaton.n_exprs + apart

    def n_kept_bytes(self) -> int:
        """Bytes of masks and configurations that live constraints keep, about."""
        with self.lock:
            return sum(keeper.n_bytes() for keeper in self.keepers)

    def count_kept(self, n_bytes: int) -> None:
        """Something more is kept; where that fills half of the budget, everything ages. The lock is held."""
        self._n_kept_bytes += n_bytes
        if 2 * self._n_kept_bytes > self.budget.kept_bytes:
            self._n_kept_bytes = 0
            self.counters.ages += 1
            for keeper in list(self.keepers):
                keeper.age()

    def tidy(self, between_constraints: bool = False) -> None:
        """Begin a new generation of states where the budget is used up, if nobody is at work.

        Between constraints at once; while texts run only at twice the budget, since their states must be built again.
        """
        if between_constraints:
            self._n_state_bytes = self.n_state_bytes()
        # What is in use may need more than the budget: then twice as much as it took to find it again is the limit.
        limit = max(self.budget.state_bytes, self._n_needed_bytes) * (1 if between_constraints else 2)
        if self._n_state_bytes > limit:
            self.drop_states()
        elif self._n_unfinished:
            with self.lock:  # whoever is just building ends first
                if self._n_unfinished:
                    self.drop_states()

    def drop_states(self) -> bool:
        """Begin a new generation without any states; False where somebody is at work, and nothing happens."""
        with self.lock:
            if not self._users.is_held():
                self.walkers.settle()  # others may come while it waits
            if self._users.is_held() or self.walkers.is_waited_for():
                return False
            self._n_unfinished += 1  # until all is done
            tables = self.tables.without_states(self._n_trie)
            automaton = Automaton(tables, self.longest_token, self._wide_bytes)
            self.project.forget()
            self._forget_walks()
            self.walkers.drop()
            for keeper in list(self.keepers):
                keeper.drop()
            self.counters.generations += 1
            # No call from here on: an interrupt comes before all of this or after it.
            self.tables, self.automaton = tables, automaton
            self.generation += 1
            self._n_state_bytes = self._n_kept_bytes = self._n_needed_bytes = self._n_unfinished = 0
        return True

    def note_found_again(self) -> None:
        """A configuration of an ended generation has its heads again."""
        self._n_needed_bytes = self._n_state_bytes = self.n_state_bytes()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around every change of states and memos; the lock is held. What an interrupt or error leaves half done is
        built anew: the next call that can begins a generation (`tidy`); until then the next change mends the arrays."""
        if self._n_unfinished:
            self.automaton.mend()
        self._n_unfinished += 1
        yield
        self._n_unfinished -= 1

    def _again(self, result: int) -> None:
        if result == k.NEED_ROOM:
            check_unions(self.tables.counts.array)
            self.walkers.settle()
            with self.changing():
                self.tables.make_room()
            self._n_state_bytes = self.n_state_bytes()
        else:
            self._serve()

    def _serve(self) -> None:
        """Build what the last call under the lock noted."""
        self.make(self.tables.requests[: int(self.tables.counts.array[1])].tolist())

    def count_walks(self, n_walks: int, n_rounds: int) -> None:
        with self.lock:
            self.counters.walks += n_walks
            self.counters.walk_rounds += n_rounds

    def make(self, wanted: Sequence[int]) -> None:
        """Build the states and memos that a kernel asked for."""
        if not wanted:
            raise DominoError("a walk asked for nothing and did not finish")
        with self.lock:
            self.walkers.settle()
            with self.changing():
                for what in wanted:
                    if not what & (k.MEMO_REQUEST | k.PART_REQUEST):
                        self.automaton.build(what)
            self.counters.builds += 1
        for what in wanted:
            if what & k.MEMO_REQUEST:
                make_memo(self, (what & ~k.MEMO_REQUEST) >> 30, what & ((1 << 30) - 1))
            elif what & k.PART_REQUEST:
                make_part(self, (what & ~k.PART_REQUEST) >> 8, what & 255)
        if self.counters.builds % COUNT_EVERY == 0 or wanted[-1] & (k.MEMO_REQUEST | k.PART_REQUEST):
            self._n_state_bytes = self.n_state_bytes()
