"""Which combinations of patterns the keys of one object can match: all of them in one walk.

The derivatives of all patterns run side by side over the same keys; where a key may end, the patterns that end there
are one combination. To split the keys by one pattern after another took a search for each part, 1 s for nine patterns.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokenizer_align.derivatives import heads
from tokenizer_align.empty_text import nullable
from tokenizer_align.expressions import EMPTY, Expr

from .schema_limits import check_time

MAX_WORK = 40_000  # patterns times states of the walk

Run = tuple[Expr, ...]  # what is left of the keys, then of every pattern


def combinations(keys: Expr, patterns: Sequence[Expr], most: int) -> dict[frozenset[int], bool] | None:
    """The sets of patterns (by index) that some key matches, these and no others; None where that takes too long.

    Each with whether infinitely many keys surely do so. Ends once there are more than `most` sets.
    """
    start: Run = (keys, *patterns)
    parents: dict[Run, Run | None] = {start: None}
    repeats: set[Run] = set()  # runs that some byte leaves as they are
    found: dict[frozenset[int], bool] = {}
    work = [start]
    for run in work:
        check_time()
        onward = _after(run)
        if run in onward:
            repeats.add(run)
        if nullable(run[0]):
            matched = frozenset(index for index, left in enumerate(run[1:]) if nullable(left))
            found[matched] = found.get(matched, False) or _repeats(run, parents, repeats)
        if len(found) > most:
            return found
        if len(work) * len(start) > MAX_WORK:
            return None
        for after in onward:
            if after not in parents:
                parents[after] = run
                work.append(after)
    return found


def _repeats(run: Run, parents: dict[Run, Run | None], repeats: set[Run]) -> bool:
    """Whether the way to a run passes one at which it could stay as long as it likes."""
    step: Run | None = run
    while step is not None:
        if step in repeats:
            return True
        step = parents[step]
    return False


def _after(run: Run) -> list[Run]:
    """All that one more byte can lead to."""
    current: list[tuple[int, Run]] = [(mask, (after,)) for mask, after in heads(run[0])]
    for left in run[1:]:
        if left is EMPTY:
            current = [(mask, (*afters, EMPTY)) for mask, afters in current]
            continue
        parts: list[tuple[int, Run]] = []
        for mask, afters in current:
            for other, after in heads(left):
                if mask & other:
                    parts.append((mask & other, (*afters, after)))
                    mask &= ~other
                    if not mask:
                        break
            if mask:
                parts.append((mask, (*afters, EMPTY)))
        current = parts
    return list(dict.fromkeys(after for _, after in current))
