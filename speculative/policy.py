"""Whether a draft pays, and how much of it: expected accepted tokens against the measured cost of a wider pass.

A draft of n tokens adds, on average, the sum over its tokens of the chance that all up to it are accepted. That many
passes of one token are saved, and one pass gets n tokens wider. Chances are learned by source, kind and place (the
first token of a draft fails more often than a later one whose start was right), and for edges by token. Proposals
that were not run are judged too, against the tokens that came: so a source that does not pay is neither tried at a
loss nor given up.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from speculative.costs import PassCosts
from speculative.drafts import Draft
from tokenizer_align.layout import DEFAULT_LAYOUT

__all__ = ["Acceptance", "DraftPolicy", "policy_of"]

_PRIORS = {"forced": 0.95, "layout": 0.85, "edge": 0.7}
_PRIOR_WEIGHT = 4.0
_MEMORY = 200.0  # observations after which old ones fade
_MARGIN = 0.02  # a draft must promise this share of a pass, so that mere noise does not start one
_MAX_EDGES = 4096


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
    """Chance that a drafted token is accepted, given that those before it were."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str, bool], _Rate] = {}
        self._edges: dict[int, _Rate] = {}

    def chance(self, draft: Draft, index: int) -> float:
        """Return the chance of token `index` of a draft."""
        kind = draft.kinds[index]
        if kind == "edge" and draft.token_ids[index] in self._edges:
            return self._edges[draft.token_ids[index]].value
        rate = self._rates.get((draft.source, kind, index == 0))
        return rate.value if rate is not None else _PRIORS.get(kind, 0.5)

    def observe(self, draft: Draft, n_accepted: int, n_judged: int) -> None:
        """Take in that the first `n_accepted` of `n_judged` tokens agreed; what follows a wrong token says nothing."""
        for index in range(min(n_accepted + 1, n_judged)):
            self._observe_token(draft, index, index < n_accepted)

    def _observe_token(self, draft: Draft, index: int, hit: bool) -> None:
        kind = draft.kinds[index]
        key = (draft.source, kind, index == 0)
        if key not in self._rates:
            self._rates[key] = _Rate(_PRIORS.get(kind, 0.5))
        rate = self._rates[key]
        if kind == "edge":
            token = draft.token_ids[index]
            if token not in self._edges:
                if len(self._edges) >= _MAX_EDGES:
                    self._edges.clear()
                self._edges[token] = _Rate(rate.value, 2.0)
            self._edges[token].add(hit)
        rate.add(hit)


class DraftPolicy:
    """What was learned about one model on one device in one precision; `layout` is that of the text it wrote last."""

    def __init__(self, device_type: str, is_half: bool) -> None:
        self.layout = DEFAULT_LAYOUT
        self.costs = PassCosts(device_type, is_half)
        self.acceptance = Acceptance()

    def width(self, drafts: Sequence[Draft | None], n_head_tokens: int) -> int:
        """Return how many drafted tokens a row to run in the next pass, 0 for none.

        Args:
            drafts: one proposal a row.
            n_head_tokens: tokens of the pass without any draft, all rows together.
        """
        n_rows = len(drafts)
        longest = max((_run_length(draft) for draft in drafts if draft is not None), default=0)
        base = self.costs.cost(n_head_tokens)
        token_value = self.costs.cost(n_rows) / n_rows
        gains = self._gains(drafts, longest)
        best, best_benefit = 0, _MARGIN * self.costs.cost(n_rows)
        for width in range(1, longest + 1):
            extra = self.costs.cost(n_head_tokens + n_rows * width) - base
            benefit = gains[width] * token_value - extra
            if benefit > best_benefit:
                best, best_benefit = width, benefit
        return best

    def _gains(self, drafts: Sequence[Draft | None], longest: int) -> list[float]:
        """Expected accepted tokens of all rows by width, float[longest + 1]."""
        gains = [0.0] * (longest + 1)
        for draft in drafts:
            if draft is None:
                continue
            chance = expected = 1.0
            expected = 0.0
            for width in range(1, longest + 1):
                if width <= _run_length(draft):
                    chance *= self.acceptance.chance(draft, width - 1)
                    expected += chance
                gains[width] += expected
        return gains


def _run_length(draft: Draft) -> int:
    """Drafted tokens that would be run: not the last one where the text ends with it."""
    return len(draft.token_ids) - draft.completes


_POLICIES: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], DraftPolicy]] = weakref.WeakKeyDictionary()


def policy_of(model: Any, device_type: str, dtype: str) -> DraftPolicy:
    """Return what is known about this model; it is kept as long as the model lives."""
    known = _POLICIES.setdefault(model, {})
    key = (device_type, dtype)
    if key not in known:
        known[key] = DraftPolicy(device_type, dtype in ("torch.bfloat16", "torch.float16"))
    return known[key]
