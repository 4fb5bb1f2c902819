"""The draft tree: what all sources propose for one row, merged, each node with the chance that a pass accepts it.

    {"color": "  ──┬── red ──── ", "size":     A node is a token after its parent's; the root is what the text has so
                   ├── green ── ", "size":     far. A pass runs some of the nodes. The choice at a node goes on where
                   └── blue                    it equals one of its children.

Only legal tokens are nodes, and none after which the text ends by itself: running those would decide nothing. A node's
`chance` is that of its whole path, so the best n nodes of a tree are a tree again, and the expected number of accepted
tokens is the sum of their chances.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from speculative.drafts import Draft
from speculative.legality import LegalSet

__all__ = ["ROOT", "Chances", "DraftTree", "Label", "NextTokens", "Run", "build_tree"]

ROOT = -1
Label = tuple[str, str, bool]  # source, kind, whether it is the first token of its chain


class Chances(Protocol):
    """What is known of how often labelled tokens are accepted, given that their parents were."""

    def chance(self, label: Label, token_id: int) -> float: ...


class NextTokens(Protocol):
    """What is known of which token follows a state of the constraint; None where nothing is."""

    def share(self, state: Hashable, last_token: int, token_id: int) -> tuple[float, float] | None:
        """Return (times the token followed, times anything did)."""
        ...


@dataclass(slots=True)
class DraftTree:
    """Nodes in the order they were proposed; parents come before their children.

    Attributes:
        token_ids, parents, depths: int[n]; a parent of -1 is the root, a child of which has depth 1.
        labels: by node, how each source that proposed it labelled it; the first is credited.
        conditional: by node, the chance that it is accepted once its parent is. chances: that of the whole path.
        counted: by node, where its state was met before: (times its token followed, times anything did).
    """

    token_ids: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    labels: list[list[Label]] = field(default_factory=list)
    conditional: list[float] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    counted: dict[int, tuple[float, float]] = field(default_factory=dict)
    children: dict[int, dict[int, int]] = field(default_factory=dict)  # node -> token -> node

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def longest_run(self) -> int:
        """Tokens of the chain that came first, the surest one."""
        return next((node for node, parent in enumerate(self.parents) if parent != node - 1), len(self))

    def add(self, parent: int, token_id: int) -> int:
        """Return the node of a token after a parent, made if it is new."""
        below = self.children.setdefault(parent, {})
        node = below.get(token_id)
        if node is None:
            node = below[token_id] = len(self.token_ids)
            self.token_ids.append(token_id)
            self.parents.append(parent)
            self.depths.append(1 if parent == ROOT else self.depths[parent] + 1)
            self.labels.append([])
            self.conditional.append(0.0)
        return node

    def weigh(self) -> None:
        """Make `chances` from `conditional`; alternatives exclude each other: those of one parent share at most 1."""
        self.chances = [0.0] * len(self)
        totals = {
            parent: sum(self.conditional[node] for node in below.values()) for parent, below in self.children.items()
        }
        for node, parent in enumerate(self.parents):
            above = 1.0 if parent == ROOT else self.chances[parent]
            self.chances[node] = above * self.conditional[node] / max(1.0, totals[parent])

    def best(self) -> list[int]:
        """All nodes, likeliest first; every beginning of the list is a tree."""
        return sorted(range(len(self)), key=lambda node: (-self.chances[node], node))

    def best_path(self) -> list[int]:
        """The nodes of one chain, always on to the likeliest child."""
        path: list[int] = []
        below = self.children.get(ROOT)
        while below:
            path.append(max(below.values(), key=lambda node: (self.chances[node], -node)))
            below = self.children.get(path[-1])
        return path

    def run(self, nodes: Sequence[int]) -> Run:
        """Lay out some nodes (a tree) for a pass: depth first, likelier children first, the best path at the front."""
        chosen = set(nodes)
        order: list[int] = []
        stack = self._ordered(ROOT, chosen)
        while stack:
            node = stack.pop()
            order.append(node)
            stack += self._ordered(node, chosen)
        places = {node: place for place, node in enumerate(order)}
        parents = tuple(places.get(self.parents[node], ROOT) for node in order)
        return Run(tuple(order), tuple(self.token_ids[node] for node in order), parents)

    def _ordered(self, parent: int, chosen: set[int]) -> list[int]:
        """Chosen children, the likeliest last."""
        below = [node for node in self.children.get(parent, {}).values() if node in chosen]
        return sorted(below, key=lambda node: (self.chances[node], -node))


@dataclass(frozen=True, slots=True)
class Run:
    """The nodes of one pass in the order of its columns.

    Attributes:
        nodes: int[n], their places in the tree. token_ids: int[n].
        parents: int[n], the place in this order of each one's parent; -1: the token before the draft.
    """

    nodes: tuple[int, ...] = ()
    token_ids: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def is_chain(self) -> bool:
        """Whether every token follows the one before it, so that plain causal attention does."""
        return all(parent == place - 1 for place, parent in enumerate(self.parents))

    def first_branch(self) -> list[int]:
        """The tokens on the way from the root on, always to the first child."""
        ids: list[int] = []
        last = -1
        for place, parent in enumerate(self.parents):
            if parent == last:
                ids.append(self.token_ids[place])
                last = place
        return ids

    def child(self, place: int, token_id: int) -> int | None:
        """The place of a token's node below another one (-1: the root); None if it was not drafted."""
        for at in range(place + 1, len(self.parents)):
            if self.parents[at] == place and self.token_ids[at] == token_id:
                return at
        return None


def build_tree(
    drafts: Sequence[Draft],
    legal: LegalSet | None,
    n_rows: int,
    last_token: int,
    chances: Chances,
    counts: NextTokens | None = None,
) -> DraftTree:
    """Merge proposals into a tree of legal tokens; the legal set is left as it was.

    Args:
        n_rows: of the vocabulary. last_token: the token before the draft.
        chances: by label. counts: by state of the constraint, where the row has one.
    """
    tree = DraftTree()
    for draft in drafts:
        if legal is None:
            _add_free(tree, draft, n_rows)
        else:
            _add_legal(tree, draft, legal, last_token, counts)
    for node, labels in enumerate(tree.labels):
        token = tree.token_ids[node]
        guess = max(chances.chance(label, token) for label in labels)
        hits, total = tree.counted.get(node, (0.0, 0.0))
        tree.conditional[node] = (hits + _EVIDENCE * guess) / (total + _EVIDENCE)
    tree.weigh()
    return tree


_EVIDENCE = 3.0  # a chance by label counts as much as so many observations of the very state


def _add_free(tree: DraftTree, draft: Draft, n_rows: int) -> None:
    node = ROOT
    for index, token in enumerate(draft.token_ids):
        if not 0 <= token < n_rows:
            return
        node = tree.add(node, token)
        _label(tree, node, draft, index)


def _add_legal(tree: DraftTree, draft: Draft, legal: LegalSet, last_token: int, counts: NextTokens | None) -> None:
    """Follow a chain as far as it is legal and the text does not end by itself."""
    matcher = legal.matcher
    node, taken = ROOT, 0
    try:
        for index, token in enumerate(draft.token_ids):
            known = tree.children.get(node, {}).get(token)
            if known is None:
                if not legal.may_take(token):
                    return
                state = matcher.state() if counts is not None else None
                matcher.advance(token)
                taken += 1
                if not matcher.can_continue():
                    return
                known = tree.add(node, token)
                if counts is not None:
                    seen = counts.share(state, last_token, token)
                    if seen is not None:
                        tree.counted[known] = seen
            else:
                matcher.advance(token)
                taken += 1
            node, last_token = known, token
            _label(tree, node, draft, index)
    finally:
        if taken:
            matcher.rollback(taken)


def _label(tree: DraftTree, node: int, draft: Draft, index: int) -> None:
    label = (draft.source, draft.kinds[index], index == 0)
    if label not in tree.labels[node]:
        tree.labels[node].append(label)
