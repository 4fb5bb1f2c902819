"""Which drafts the next pass verifies: asks the sources, then the policy, and tells the policy how they fared."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from speculative.drafts import Draft, DraftSource
from speculative.drafts.alternatives import Alternatives
from speculative.drafts.counts import Counted
from speculative.drafts.determined import DeterminedRuns
from speculative.drafts.lookup import PromptLookup, RecentOutputs
from speculative.drafts.model import ModelDrafts
from speculative.options import DEFAULT_MAX_DRAFT, DecodeOptions
from speculative.policy import DraftPolicy
from speculative.protocols import VocabularyLike
from speculative.rows import Row
from speculative.tree import ROOT, DraftTree

__all__ = ["DraftPlanner", "built_in_sources", "slack_of"]

_LONGEST_RUN = 512  # tokens; what is determined may be longer than other drafts, unless the caller set a limit
_MAX_MASK = 1 << 24  # entries of a tree's attention mask; a longer prompt's own pass takes a chain


def built_in_sources(vocabulary: VocabularyLike) -> tuple[DraftSource, ...]:
    """Return the sources that every call has, the surest first."""
    return (
        DeterminedRuns(vocabulary),
        Alternatives(vocabulary),
        Counted(),
        PromptLookup(vocabulary),
        RecentOutputs(vocabulary),
    )


def slack_of(options: DecodeOptions) -> int:
    """Columns that drafts want in a cache of fixed size, beyond the text's own; they get along with fewer."""
    return (DEFAULT_MAX_DRAFT if options.max_draft is None else options.max_draft) if options.speculate else 0


class DraftPlanner:
    """Plans the drafts of one call's passes.

    Args:
        can_drop: whether what was rejected can be taken back; False: only what cannot be rejected is drafted.
        takes_trees: asked once a draft branches; False: chains only.
        takes_runs: asked where nothing can be taken back, before the first draft; False: none.
        long_runs: whether what is determined may be longer than other drafts.
    """

    def __init__(
        self,
        vocabulary: VocabularyLike,
        options: DecodeOptions,
        policy: DraftPolicy,
        *,
        can_drop: bool,
        takes_trees: Callable[[], bool],
        takes_runs: Callable[[], bool] = lambda: False,
        long_runs: bool = True,
    ) -> None:
        self._policy, self._takes_trees, self._takes_runs = policy, takes_trees, takes_runs
        self._is_auto = options.speculate == "auto"
        self._max_draft = DEFAULT_MAX_DRAFT if options.max_draft is None else options.max_draft
        self._longest_run = _LONGEST_RUN if options.max_draft is None and long_runs else self._max_draft
        self._is_on = bool(options.speculate) and self._max_draft > 0
        self._can_drop = can_drop
        self._sources = built_in_sources(vocabulary) if options.draft_sources is None else options.draft_sources
        self._assistant: ModelDrafts | None = None
        if self._is_on and can_drop and options.draft_model is not None:
            self._assistant = ModelDrafts(options.draft_model, vocabulary, options)
            self._sources = (*self._sources, self._assistant)
        self._judged: dict[int, _Judged] = {}  # by row, the tree being compared with the tokens that come

    @property
    def max_width(self) -> int:
        """Most tokens that a pass may add to one row after its head."""
        return self._longest_run if self._is_on else 0

    def plan(self, rows: Sequence[Row], width: int, room: int | None = None) -> None:
        """Set every row's draft for the next pass; `width`: columns of the cache, `room`: those left in a fixed one."""
        longest = max(len(row.head) for row in rows)
        most = self._longest_run if room is None else min(self._longest_run, room - longest)
        if not self._is_on or most < 1 or any(row.alone for row in rows):
            for row in rows:
                row.set_run(None, ())
            return
        if not self._can_drop:
            for row in rows:
                self._take_what_is_sure(row, most)
            return
        trees = [self._propose(row) for row in rows]
        orders = self._orders(trees, most, len(rows) * longest * (longest + width))
        n_nodes = most
        if self._is_auto:
            chances = [[tree.chances[node] for node in order] for tree, order in zip(trees, orders, strict=True)]
            n_nodes = self._policy.width(chances, longest * len(rows))
        for row, tree, order in zip(rows, trees, orders, strict=True):
            row.set_run(tree, order[:n_nodes])
            if len(tree) and row.index not in self._judged:
                self._judged[row.index] = _Judged(tree, len(row.output))

    def _orders(self, trees: Sequence[DraftTree], most: int, n_mask: int) -> list[list[int]]:
        """By row the nodes to run, the best first: of the whole tree, or of its best path where trees cannot be run."""
        branch = any(len(below) > 1 for tree in trees for below in tree.children.values())
        if branch and (n_mask > _MAX_MASK or not self._takes_trees()):
            return [tree.best_path()[:most] for tree in trees]
        mosts = [min(most, max(self._max_draft, tree.longest_run)) for tree in trees]
        return [tree.best()[:n] for tree, n in zip(trees, mosts, strict=True)]

    def _take_what_is_sure(self, row: Row, most: int) -> None:
        """Draft tokens as long as each is the only legal one, so that no choice can reject it."""
        ids = row.sure_tokens(min(most, row.remaining - 1))
        if not ids or not self._takes_runs():
            row.set_run(None, ())
            return
        tree = DraftTree()
        node = ROOT
        for token in ids:
            node = tree.add(node, token)
            tree.labels[node].append(("determined", "forced", node == 0))
        tree.conditional = [1.0] * len(tree)
        tree.weigh()
        row.set_run(tree, range(len(tree)))

    def _propose(self, row: Row) -> DraftTree:
        """Ask the sources that pay."""
        drafts: list[Draft] = []
        if row.remaining > 1:
            context, token_s = row.draft_context(), self._policy.costs.token_s()
            for source in self._sources:
                longest = self._longest_run if isinstance(source, DeterminedRuns) else self._max_draft
                limit = min(longest, row.remaining - 1)
                ledger = self._policy.ledger(source.name)
                if self._is_auto and not ledger.may_ask(token_s):
                    continue
                started = time.perf_counter()
                drafts += [draft.cut(limit) for draft in source.propose(context, limit)]
                elapsed = time.perf_counter() - started
                ledger.asked(elapsed)
                row.statistics.draft_s += elapsed
        return row.grow(drafts, self._policy.acceptance)

    def learn(self, rows: Sequence[Row]) -> None:
        """Take in what the pass decided."""
        if not self._is_on:
            return
        token_s = self._policy.costs.token_s()
        for row in rows:
            for source in row.accepted_sources:
                self._policy.ledger(source).saved(token_s)
            judged = self._judged.get(row.index)
            if judged is not None and (judged.compare(row.output, self._policy) or row.finish is not None):
                del self._judged[row.index]
            if row.finish is not None and self._assistant is not None:
                self._assistant.forget(row.index)
            if row.finish is not None and row.legal is not None:
                self._policy.layout = replace(row.layout, inline=())


class _Judged:
    """A tree and how far the tokens that came have followed it. Each node is judged once, run or not."""

    def __init__(self, tree: DraftTree, start: int) -> None:
        self._tree, self._node, self._seen = tree, ROOT, start

    def compare(self, output: Sequence[int], policy: DraftPolicy) -> bool:
        """Judge as far as tokens have come; True once nothing of the tree is left to judge."""
        while self._seen < len(output):
            token = output[self._seen]
            self._seen += 1
            below = self._tree.children.get(self._node, {})
            for drafted, node in below.items():
                for label in self._tree.labels[node]:
                    policy.acceptance.observe(label, drafted, drafted == token)
            if token not in below:
                return True
            self._node = below[token]
        return not self._tree.children.get(self._node)
