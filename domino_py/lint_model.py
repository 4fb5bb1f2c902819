"""Grammar lint: where a constraint and a model disagree most, in order, with what would let the model have its way.

A disagreement is a step at which the model's own choice was illegal, or at which less than half of its probability was
legal; its cost is -log of the legal mass, in nats. Equal ones are put together. One that split text unnaturally (its
token is not the tokenizer's own) says so: "any" tokenization lets a constraint force that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from domino_py.constraints.base import Constraint
from domino_py.lint_hints import hint_for
from domino_py.report import Intervention

__all__ = ["Disagreement", "disagreements", "merged"]

LOW = 0.5  # of the legal mass
_INFINITE = 700.0  # nats that an impossible step counts where costs are added


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What the model wanted and what it got, first seen behind `byte` bytes of a text.

    `wanted` is None where the model's choice was legal but most of its probability was not. `cost`: nats, summed over
    `n` places. `is_split`: the token is not the tokenizer's own there. `hint` may be empty.
    """

    byte: int
    wanted: str | None
    got: str
    cost: float
    is_split: bool = False
    hint: str = ""
    n: int = 1

    def __str__(self) -> str:
        from domino_py.report_view import visible

        where = f"at byte {self.byte}" if self.n == 1 else f"at byte {self.byte} and {self.n - 1} more"
        if self.wanted is None:
            wants = f"most of what the model wants is illegal; it gets `{visible(self.got)}`"
        else:
            wants = f"the model wants `{visible(self.wanted)}` and gets `{visible(self.got)}`"
        cost = "∞" if self.cost >= _INFINITE else f"{self.cost:.2f}"
        split = ", an unnatural split" if self.is_split else ""
        return f"{where} {wants} ({cost} nats{split})" + (f": {self.hint}" if self.hint else "")


def disagreements(
    interventions: Iterable[Intervention],
    legal_mass: Sequence[float | None],
    tokens: Sequence[bytes],
    noncanonical_at: Iterable[int],
    tokenization: str,
    constraint: Constraint | None,
) -> tuple[Disagreement, ...]:
    """The disagreements of one text, costliest first. `tokens`: the bytes of its tokens; `legal_mass`: by step."""
    split, found, seen = set(noncanonical_at), [], set()
    starts = [0, *itertools.accumulate(map(len, tokens))]
    for one in interventions:
        seen.add(one.step)
        is_split = one.step in split
        hint = hint_for(one.before, one.wanted, one.got, one.because, constraint)
        if is_split and tokenization == "any" and not hint:
            hint = 'use tokenization="aligned"'
        cost = 0.0 if one.cost is None else min(one.cost, _INFINITE)
        found.append(Disagreement(starts[one.step], one.wanted, one.got, cost, is_split, hint))
    for step, mass in enumerate(legal_mass):
        if mass is None or mass >= LOW or step in seen:
            continue
        got = tokens[step].decode("utf-8", "backslashreplace") if step < len(tokens) else "<end>"
        cost = -math.log(mass) if mass > 0 else _INFINITE
        found.append(Disagreement(starts[step], None, got, cost, step in split))
    return merged(found)


def merged(found: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
    """Equal disagreements together, of one text or of several, costliest first."""
    together: dict[tuple[object, ...], Disagreement] = {}
    for one in found:
        key = (one.wanted, one.got if one.wanted is None or not one.hint else "", one.hint)
        old = together.get(key)
        if old is None:
            together[key] = one
        else:
            cost = min(old.cost + one.cost, _INFINITE)
            together[key] = replace(old, cost=cost, n=old.n + one.n, is_split=old.is_split or one.is_split)
    return tuple(sorted(together.values(), key=lambda one: -one.cost))
