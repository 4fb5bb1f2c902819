"""Long counts of bytes between which no pre-token ends, as in `[a-z]{300}`: from some count on the same tokens survive.

There every way on runs to the end of the count, and each count would be searched anew. But which tokens survive with c
items to come depends only on which do with c - 1 to c - L of them, L the longest token: a token survives if one of its
followers does that makes no bad pair with it. So where the rows of L + 1 counts in a row are equal, from each state in
which P may be, those of all further counts are the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..counted import Count
from ..engine import Engine, Heads
from ..expressions import K_SET, Expr
from .constraint_walks import ids_of
from .token_paths import Row, States, TokenPaths

MAX_LONGEST = 40  # bytes of a token
MAX_STATES = 4  # of P
MAX_MORE = 8  # counts beyond the first L + 1 until rows are steady
MAX_KINDS = 256
MIN_COUNT = 24  # fewer are looked at one by one
NEVER = 1 << 62

# Of heads and a state of P: the tokens that survive, without and with a boundary before them.
RowsOf = Callable[[Heads, States], tuple[Row, Row]]
Kind = tuple[Expr, Expr, int | None, int]
Rows = dict[int, tuple[Row, Row]]


class SteadyCounts:
    """Over one engine; `rows_of` gives the rows of any count."""

    def __init__(self, engine: Engine, paths: TokenPaths, rows_of: RowsOf) -> None:
        self._engine, self._paths, self._rows_of = engine, paths, rows_of
        self._shapes: dict[tuple[Kind, int], tuple[int, States]] = {}  # by kind and state of P: see `_shape`
        self._steady: dict[tuple[Kind, int], tuple[int, Rows]] = {}  # a count from which on rows are the same

    def rows(self, heads: Heads, states: States) -> tuple[Row, Row] | None:
        """The rows of heads with a large count, None where the count matters or is of another kind."""
        count = self._engine.automaton.count_at.get(heads[0][0]) if len(heads) == 1 else None
        if count is None or count.lo < MIN_COUNT or count.item.kind != K_SET or self._engine.reserved:
            return None
        kind = count.item, count.tail, None if count.hi is None else count.hi - count.lo, heads[0][1]
        found = []
        for p in states:
            steady = self._of(heads, kind, p, count.lo)
            if steady is None:
                return None
            found.append(steady[p])
        return np.bitwise_or.reduce([row for row, _ in found]), np.bitwise_or.reduce([row for _, row in found])

    def _of(self, heads: Heads, kind: Kind, p: int, n: int) -> Rows | None:
        """The rows from p, and from each state that P may come to, where they are steady at a count."""
        found = self._steady.get((kind, p))
        if found is None:
            shape = self._shapes.get((kind, p))
            if shape is None:
                if len(self._shapes) >= MAX_KINDS:
                    self._shapes.clear()
                shape = self._shapes[kind, p] = self._shape(heads, p)
            longest, states = shape
            if not longest or n <= 2 * longest + MAX_MORE:
                return None
            if len(self._steady) >= MAX_KINDS:
                self._steady.clear()
            found = self._find(kind, (p, *(q for q in states if q != p)), longest)
            for q in (p, *states):  # each leads to none but these
                self._steady[kind, q] = found
        return found[1] if n >= found[0] else None

    def _shape(self, heads: Heads, p: int) -> tuple[int, States]:
        """(bytes of the longest legal token, the states of P behind any number of them); (0, ()) where a boundary may
        come, or there are too many."""
        paths, engine = self._paths, self._engine
        legal = ids_of(engine.walked(engine.clamped(heads)) & ~engine.marker_row)
        longest, live = int(paths.lengths[legal].max(initial=0)), engine.live_bytes(heads)
        found: set[int] = set()
        work = [p]
        while work and len(found) <= MAX_STATES:
            new = set(paths.ends_of_all(work.pop(), legal)[:, 2].tolist()) - found
            found |= new
            work += new
        if longest > MAX_LONGEST or len(found) > MAX_STATES:
            return 0, ()
        may_cut = any((paths.cuts[q] | paths.weak_cuts[q]) & live for q in found)
        return (0, ()) if may_cut else (longest, tuple(sorted(found)))

    def _find(self, kind: Kind, states: States, longest: int) -> tuple[int, Rows]:
        """The least count that is found to be steady, and its rows by state."""
        before: Rows = {}
        n_equal = 0
        for n in range(longest + 1, 2 * longest + 1 + MAX_MORE):
            heads = self._heads_with(kind, n)
            rows = {q: self._rows_of(heads, (q,)) for q in states}
            is_equal = before and all((a == b).all() for q in rows for a, b in zip(rows[q], before[q], strict=True))
            n_equal, before = n_equal + 1 if is_equal else 1, rows
            if n_equal > longest:
                return n, rows
        return NEVER, {}

    def _heads_with(self, kind: Kind, n: int) -> Heads:
        item, tail, more, stack = kind
        engine = self._engine
        engine.walkers.settle()
        with engine.changing():
            code = engine.automaton.code_of_count(Count(item, tail, n, None if more is None else n + more))
        return ((code, stack),)
