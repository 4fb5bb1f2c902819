"""Whether a draft pays, and how much of it: expected accepted tokens against the measured cost of a wider pass.

A draft adds, on average, the sum over its tokens of the chance that all of their path is accepted. That many passes of
one token are saved, and one pass gets wider. Chances are learned by source, kind and place (the first token of a draft
fails more often than a later one whose start was right), and for edges by token. Proposals that were not run are judged
too, against the tokens that came: so a source that does not pay is neither tried at a loss nor given up.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from speculative.costs import PassCosts
from speculative.tree import Label
from tokenizer_align.layout import DEFAULT_LAYOUT

__all__ = ["Acceptance", "DraftPolicy", "Ledger", "policy_of", "prior", "set_policy"]

_PRIORS = {"forced": 0.95, "layout": 0.85, "edge": 0.7, "run": 0.85}
_PRIORS |= {"match2": 0.15, "match3": 0.3, "match4": 0.5, "match5": 0.65, "match6": 0.75}  # longer matches hold longer
_PRIORS |= {"seen1": 0.25, "seen2": 0.4, "seen3": 0.5, "seen4": 0.6, "seen5": 0.6}  # by how often a state was met
_PRIOR_WEIGHT = 4.0
_MEMORY = 200.0  # observations after which old ones fade
_MARGIN = 0.02  # a draft must promise this share of a pass, so that mere noise does not start one
_MAX_EDGES = 4096
_TRIAL = 24  # times a source is asked before it must pay
_LOOK_AGAIN = 16
_FADING = 0.03  # of what was paid and saved, by each question
_NEGLIGIBLE = 0.01  # of a pass of one token


class _Rate:
    """Share of successes, with a prior, fading."""

    __slots__ = ("_hits", "_total")

    def __init__(self, prior: float, weight: float = _PRIOR_WEIGHT) -> None:
        self._hits, self._total = prior * weight, weight

    def add(self, hit: bool) -> None:
        if self._total > _MEMORY:
            self._hits *= 0.5
            self._total *= 0.5
        self._hits += hit
        self._total += 1.0

    @property
    def value(self) -> float:
        return self._hits / self._total


class Acceptance:
    """Chance that a drafted token is accepted, given that those before it were; by label, and for edges by token."""

    def __init__(self) -> None:
        self._rates: dict[Label, _Rate] = {}
        self._edges: dict[int, _Rate] = {}

    def chance(self, label: Label, token_id: int) -> float:
        """Return the chance of a token labelled so."""
        if label[1] == "edge" and token_id in self._edges:
            return self._edges[token_id].value
        rate = self._rates.get(label)
        return rate.value if rate is not None else prior(label[1])

    def observe(self, label: Label, token_id: int, hit: bool) -> None:
        """Take in whether a token labelled so was chosen where its parent was."""
        rate = self._rates.get(label)
        if rate is None:
            rate = self._rates[label] = _Rate(prior(label[1]))
        if label[1] == "edge":
            if token_id not in self._edges:
                if len(self._edges) >= _MAX_EDGES:
                    self._edges.clear()
                self._edges[token_id] = _Rate(rate.value, 2.0)
            self._edges[token_id].add(hit)
        rate.add(hit)


def prior(kind: str) -> float:
    """The chance assumed before anything was seen; of n ways one is taken."""
    if kind.startswith("sure"):
        return (int(kind[4:]) + 0.5) / 10
    if kind.startswith("way"):
        return 0.9 / int(kind[3:])
    return _PRIORS.get(kind, 0.5)


class Ledger:
    """What asking a source costs and what its accepted tokens save, in seconds; both fade."""

    def __init__(self) -> None:
        self.cost_s = self.saved_s = 0.0
        self.n_asked = self._n_passed_over = 0

    def may_ask(self, token_s: float = 0.0) -> bool:
        """Whether to ask now: a source that does not pay is asked every so often only, to see whether it would.

        One that costs next to nothing beside a pass of one token (`token_s`) is always asked: text that it knows may
        come at any time.
        """
        if self.n_asked < _TRIAL or self.saved_s >= self.cost_s or self.cost_s <= _NEGLIGIBLE * token_s / _FADING:
            return True
        self._n_passed_over += 1
        return self._n_passed_over % _LOOK_AGAIN == 0

    def asked(self, elapsed_s: float) -> None:
        self.n_asked += 1
        self.cost_s = (1 - _FADING) * self.cost_s + elapsed_s
        self.saved_s *= 1 - _FADING

    def saved(self, elapsed_s: float) -> None:
        self.saved_s += elapsed_s


class DraftPolicy:
    """What was learned about one model on one device in one precision; `layout` is that of the text it wrote last.

    `takes_trees`: whether the model's attention obeys a mask of our own; None: not tried yet.
    """

    def __init__(self, device_type: str, is_half: bool) -> None:
        self.layout = DEFAULT_LAYOUT
        self.costs = PassCosts(device_type, is_half)
        self.acceptance = Acceptance()
        self.ledgers: dict[str, Ledger] = {}
        self.takes_trees: bool | None = None

    def ledger(self, source: str) -> Ledger:
        return self.ledgers.setdefault(source, Ledger())

    def width(self, chances: Sequence[Sequence[float]], n_head_tokens: int) -> int:
        """Return how many drafted tokens a row to run in the next pass, 0 for none.

        Args:
            chances: by row, of its nodes in the order in which they would be run, each with its whole path's.
            n_head_tokens: tokens of the pass without any draft, all rows together.
        """
        n_rows = len(chances)
        longest = max((len(row) for row in chances), default=0)
        base = self.costs.cost(n_head_tokens)
        token_value = self.costs.cost(n_rows) / n_rows
        best, best_benefit, gain = 0, _MARGIN * self.costs.cost(n_rows), 0.0
        for width in range(1, longest + 1):
            gain += sum(row[width - 1] for row in chances if len(row) >= width)
            extra = self.costs.cost(n_head_tokens + n_rows * width) - base
            if gain * token_value - extra > best_benefit:
                best, best_benefit = width, gain * token_value - extra
        return best


_POLICIES: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], DraftPolicy]] = weakref.WeakKeyDictionary()


def policy_of(model: Any, device_type: str, dtype: str) -> DraftPolicy:
    """Return what is known about this model; it is kept as long as the model lives."""
    known = _POLICIES.setdefault(model, {})
    key = (device_type, dtype)
    if key not in known:
        known[key] = DraftPolicy(device_type, dtype in ("torch.bfloat16", "torch.float16"))
    return known[key]


def set_policy(model: Any, device_type: str, dtype: str, policy: DraftPolicy) -> None:
    """Replace what is known about this model."""
    _POLICIES.setdefault(model, {})[device_type, dtype] = policy
