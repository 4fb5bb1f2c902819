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
_PRIORS |= {"free": 0.15, "free+": 0.4}  # inside free text; mostly this
_PRIOR_WEIGHT = 4.0
_MEMORY = 200.0  # observations after which old ones fade
_MEMORY_OF_SOURCE = 8.0
_TRUST = 1.0  # a source is believed as if one of its proposals had been right
_MARGIN = 0.1  # a draft must promise this share of a pass: what passes cost and drafts bring is known that well
_MAX_EDGES = 4096
_TRIAL = 24  # times a source is asked before it must pay
_LOOK_AGAIN = 16
_FADING = 0.03  # of what was paid and saved, by each question
_NEGLIGIBLE = 0.01  # of a pass of one token


class _Rate:
    """Successes and trials, fading."""

    __slots__ = ("hits", "total")

    def __init__(self, hits: float = 0.0, total: float = 0.0) -> None:
        self.hits, self.total = hits, total

    def add(self, hit: bool, expected: float = 1.0, memory: float = _MEMORY) -> None:
        if self.total > memory:
            self.hits *= 0.5
            self.total *= 0.5
        self.hits += hit
        self.total += expected

    def value(self, prior: float = 0.0, weight: float = 0.0) -> float:
        return (self.hits + weight * prior) / (self.total + weight)


class Acceptance:
    """Chance that a drafted token is accepted, given that those before it were; by label, and for edges by token.

    Before a label was seen often, what its source is worth counts: where the first tokens of a source fail more often
    than was assumed of them, all that it proposes is doubted. So a text that a source does not suit costs few passes,
    though each of its proposals looks different.
    """

    def __init__(self) -> None:
        self._rates: dict[Label, _Rate] = {}
        self._edges: dict[int, _Rate] = {}
        self._sources: dict[str, _Rate] = {}  # first tokens that were right, and those that were expected to be

    def chance(self, label: Label, token_id: int) -> float:
        """Return the chance of a token labelled so."""
        if label[1] == "edge" and token_id in self._edges:
            return self._edges[token_id].value()
        expected = prior(label[1])
        source = self._sources.get(label[0]) if label[2] else None
        if source is not None:
            expected *= min(1.0, source.value(1.0, _TRUST))
        rate = self._rates.get(label)
        return rate.value(expected, _PRIOR_WEIGHT) if rate is not None else expected

    def observe(self, label: Label, token_id: int, hit: bool) -> None:
        """Take in whether a token labelled so was chosen where its parent was."""
        if label[2]:
            self._sources.setdefault(label[0], _Rate()).add(hit, prior(label[1]), _MEMORY_OF_SOURCE)
        rate = self._rates.setdefault(label, _Rate())
        if label[1] == "edge":
            if token_id not in self._edges:
                if len(self._edges) >= _MAX_EDGES:
                    self._edges.clear()
                self._edges[token_id] = _Rate(2.0 * rate.value(prior("edge"), _PRIOR_WEIGHT), 2.0)
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
    """What asking a source costs and what its accepted tokens save, in seconds; both fade. `total_s`: all of asking."""

    def __init__(self) -> None:
        self.cost_s = self.saved_s = self.total_s = 0.0
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
        self.total_s += elapsed_s
        self.cost_s = (1 - _FADING) * self.cost_s + elapsed_s
        self.saved_s *= 1 - _FADING

    def saved(self, elapsed_s: float) -> None:
        self.saved_s += elapsed_s


class DraftPolicy:
    """What was learned about one model on one device in one precision; `layout` is that of the text it wrote last.

    `takes_trees`: whether the model's attention obeys a mask of our own; `takes_fixed_trees`: with a cache of fixed
    size too; `takes_runs`: whether several tokens at once do what one after the other does; None: not tried yet.
    """

    def __init__(self, device_type: str, is_half: bool) -> None:
        self.layout = DEFAULT_LAYOUT
        self.costs = PassCosts(device_type, is_half)
        self.acceptance = Acceptance()
        self.ledgers: dict[str, Ledger] = {}
        self.takes_trees: bool | None = None
        self.takes_fixed_trees: bool | None = None
        self.takes_runs: bool | None = None

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
