"""Arrays in which items are counted: `contains` with its bounds, items that must fail somewhere, different items.

A *tally* counts the items that it claims; an item is claimed by satisfying more. A tally with an upper bound knows of
every item whether it counts; without one an item need not say (several ways through a text are no harm), and it is done
once its lower bound is met. The rest of an array depends on the *state*: how many items came, the tallies, and where
items must differ which values came. States become rules when a text reaches them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, Expr, Rule, alt, call, lit, repeat, seq

from .schema_claims import Atom
from .schema_distinct import ItemValues, item_values, text_of
from .schema_limits import IGNORE_HINT

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_OPTIONS = 64  # ways in which one item can be claimed by tallies
MAX_STATES = 50_000  # numbers of items times counts
MAX_VALUES_ALONE = 300  # different values, each with its own branch in every state
MAX_VALUES = 12  # different values where both tallies (or a prefix) and used values make up the state

Atoms = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """`inside[i]`: what item i must satisfy to count (None: it cannot); the last one is for all further items.

    `outside`: what an item satisfies that does not count, asked only where there is an upper bound.
    """

    pointer: str
    inside: tuple[Atoms | None, ...]
    lo: int = 1
    hi: int | None = None
    outside: Atoms = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One way to write an item: its texts, the tallies it counts for, its value where items must differ."""

    text: Expr
    counts: tuple[bool, ...]
    value: Hashable = None


@dataclass(frozen=True, slots=True)
class State:
    n_items: int  # clipped where more makes no difference, but never to 0
    counts: tuple[int, ...]
    used: frozenset[Hashable] = frozenset()
    repeated: bool = False  # some value came twice


@dataclass
class TalliedArray:
    """An array of `lo` to `hi` items.

    `items[i]`: the choices of what item i must satisfy in any case; the last one is for all further items. `distinct`:
    True, items differ; False, some two are equal; None, no matter.
    """

    compiler: SchemaCompiler
    pointer: str
    items: list[list[Atoms]]
    tallies: list[Tally]
    lo: int
    hi: int | None
    distinct: bool | None = None
    close: Expr = field(default_factory=lambda: lit(b"]"))
    options: list[list[Option]] = field(default_factory=list)
    rules: dict[State, Rule] = field(default_factory=dict)

    def expression(self) -> Expr:
        """All of it, brackets included. Raises UnsupportedSchema where there are too many ways or values."""
        return seq(lit(b"["), self.body())

    def body(self) -> Expr:
        """What stands behind the opening bracket."""
        self.options = [self._options(index) for index in range(len(self.items))]
        self._check_states()
        for i, tally in enumerate(self.tallies):
            if tally.lo and not any(option.counts[i] for options in self.options for option in options):
                return EMPTY
        start = State(0, (0,) * len(self.tallies))
        gap = self.compiler.style.gap
        if self.distinct is not None:
            self._check_values()
        return seq(gap, alt(self.close if self._may_end(start) else EMPTY, self._item(start)))

    # What an item can be

    def _options(self, index: int) -> list[Option]:
        claims: list[list[tuple[bool, Atoms]]] = []
        for tally in self.tallies:
            inside = tally.inside[index]
            ways = [(False, tally.outside if tally.hi is not None and inside is not None else ())]
            claims.append(ways if inside is None else [(True, inside), *ways])
        n_ways = len(self.items[index])
        for ways in claims:
            n_ways *= len(ways)
        if n_ways > MAX_OPTIONS:
            message = f"an item can count in {n_ways:,} ways (at most {MAX_OPTIONS} are built)"
            raise self._too_much(message, IGNORE_HINT)
        found: dict[tuple[tuple[bool, ...], frozenset[Atom]], None] = {}
        for base in self.items[index]:
            for chosen in product(*claims):
                counts = tuple(is_counted for is_counted, _ in chosen)
                found[counts, frozenset(base).union(*(atoms for _, atoms in chosen))] = None
        return [option for counts, atoms in found for option in self._written(counts, atoms, found)]

    def _written(
        self,
        counts: tuple[bool, ...],
        atoms: frozenset[Atom],
        all_of: dict[tuple[tuple[bool, ...], frozenset[Atom]], None],
    ) -> list[Option]:
        if any(other_counts == counts and other < atoms for other_counts, other in all_of):
            return []  # asks for more to the same end
        if self.distinct is None:
            text = self.compiler.value(atoms)
            return [] if text is EMPTY else [Option(text, counts)]
        return [Option(text_of(texts), counts, value) for value, texts in self._values(atoms).items()]

    def _values(self, atoms: frozenset[Atom]) -> ItemValues:
        values = item_values(self.compiler, atoms)
        if values is None:
            message = '"uniqueItems" is not supported where items of infinitely many values may have to be equal'
            hint = 'Use it without "not", "if" and "oneOf" around it, or pass on_unsupported="ignore".'
            raise UnsupportedSchema([Problem(f"{self.pointer}/uniqueItems", "uniqueItems", message, hint=hint)])
        return values

    def _check_values(self) -> None:
        values = {option.value for options in self.options for option in options}
        is_alone = self.distinct and not self.tallies and len(self.items) == 1
        most = MAX_VALUES_ALONE if is_alone else MAX_VALUES
        if len(values) > most:
            message = f'"uniqueItems" is supported here for at most {most} values of items, not {len(values):,},'
            raise UnsupportedSchema([Problem(f"{self.pointer}/uniqueItems", "uniqueItems", message)])

    # States

    def _most_items(self) -> int:
        """Above it, the number of items makes no difference."""
        return max(1, len(self.items) - 1, self.lo, self.hi or 0)

    def _check_states(self) -> None:
        n_states = self._most_items() + 1
        for tally in self.tallies:
            n_states *= max(tally.lo, tally.hi or 0) + 1
        if n_states > MAX_STATES and any(tally.hi is not None or tally.lo > 1 for tally in self.tallies):
            message = f"the counts of items come to {n_states:,} states (at most {MAX_STATES:,} are built)"
            raise self._too_much(message, 'Use smaller counts, or pass on_unsupported="ignore".')

    def _too_much(self, message: str, hint: str) -> UnsupportedSchema:
        """The error at the places of `contains` that ask for the counting, else at the array."""
        places = dict.fromkeys(t.pointer for t in self.tallies if "contains" in self.compiler.keywords(t.pointer))
        problems = [Problem(f"{place}/contains", "contains", message, hint=hint) for place in places]
        return UnsupportedSchema(problems or [Problem(self.pointer, None, message, hint=hint)])

    def _item(self, state: State) -> Expr:
        """An item must come now, and then what may follow it."""
        gap = self.compiler.style.gap
        by_state: dict[State, list[Expr]] = {}
        for option in self.options[min(state.n_items, len(self.items) - 1)]:
            after = self._after(state, option)
            if after is not None and self._can_end(after):
                by_state.setdefault(after, []).append(option.text)
        return alt(*(seq(alt(*texts), gap, self._rest(after)) for after, texts in by_state.items()))

    def _after(self, state: State, option: Option) -> State | None:
        """The state after one more item, None where it cannot come."""
        n_items = state.n_items + 1
        if self.hi is not None and n_items > self.hi:
            return None
        counts = []
        for tally, count, is_counted in zip(self.tallies, state.counts, option.counts, strict=True):
            if is_counted and count >= (tally.lo if tally.hi is None else tally.hi):
                return None
            counts.append(count + is_counted)
        used, repeated = state.used, state.repeated
        if self.distinct is not None and not repeated:
            if option.value in used:
                if self.distinct:
                    return None
                repeated, used = True, frozenset()
            else:
                used = used | {option.value}
        return State(min(n_items, self._most_items()), tuple(counts), used, repeated)

    def _may_end(self, state: State) -> bool:
        enough = all(count >= tally.lo for tally, count in zip(self.tallies, state.counts, strict=True))
        return enough and state.n_items >= self.lo and (self.distinct is not False or state.repeated)

    def _can_end(self, state: State) -> bool:
        """Whether the counts alone leave a way to the end."""
        left = None if self.hi is None else self.hi - state.n_items
        for tally, count in zip(self.tallies, state.counts, strict=True):
            missing = tally.lo - count
            if missing > 0:
                places = tally.inside[state.n_items :]
                most = None if tally.inside[-1] is not None else sum(place is not None for place in places)
                if (left is not None and missing > left) or (most is not None and missing > most):
                    return False
        if self.distinct and self.lo > state.n_items:
            here = min(state.n_items, len(self.items) - 1)
            values = {option.value for options in self.options[here:] for option in options}
            return len(values - state.used) >= self.lo - state.n_items
        return True

    def _rest(self, state: State) -> Expr:
        """What may follow an item: a comma and one more, or the end."""
        rule = self.rules.get(state)
        if rule is None:
            rule = self.rules[state] = Rule(f"{self.pointer} after {state.n_items} items")
            rule.define(lambda: self._rest_body(state))
        return call(rule)

    def _rest_body(self, state: State) -> Expr:
        gap = self.compiler.style.gap
        comma = seq(lit(b","), gap)
        if self._is_settled(state):
            items = alt(*(option.text for option in self.options[-1] if not any(option.counts)))
            more = None if self.hi is None else self.hi - state.n_items
            return seq(repeat(seq(comma, items, gap), max(self.lo - state.n_items, 0), more), self.close)
        return alt(self.close if self._may_end(state) else EMPTY, seq(comma, self._item(state)))

    def _is_settled(self, state: State) -> bool:
        """Whether only the number of items still matters."""
        done = all(t.hi is None and count >= t.lo for t, count in zip(self.tallies, state.counts, strict=True))
        is_distinct = self.distinct is None or (self.distinct is False and state.repeated)
        return done and is_distinct and state.n_items >= len(self.items) - 1
