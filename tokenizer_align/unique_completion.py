"""Completing a text without equal parts: the automaton's shortest text, and other items where that would repeat one.

Greedy, part by part: where the shortest text makes two parts equal, it is followed as long as the text can still be
completed, and left there by the bytes that cost the least. Among parts of one kind, the shortest that did not come are
taken first; what that takes from a later part, the later one would have taken from it. Where kinds differ that can be
too long, so before any part came, when the least budget is asked for, a search (A*) looks for something shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from . import kernels as k
from .shortest import byte_order
from .unique_masks import next_bytes
from .unique_runs import Group, UniqueRuns, is_at_risk

if TYPE_CHECKING:
    from .engine import Heads

MAX_PARTS = 100_000  # parts of one text that must be other ones than the shortest
MAX_PLACES = 3_000  # looked at for one way out
MAX_NEAR = 300  # where there is another way
MAX_SHORTER = 300  # looked at for a shorter text than greed finds

_MARKS = sum(1 << byte for byte in b'"\\,:[]{}')

Shortest = Callable[["Heads"], bytes | None]


def complete(runs: UniqueRuns, groups: tuple[Group, ...], shortest: Shortest) -> bytes | None:
    """A text that completes one of the groups, as short as greed finds it; `shortest`: of the automaton alone."""
    found = [text for group in groups if (text := _complete(runs, group, shortest)) is not None]
    best = min(found, key=lambda text: (len(text), text), default=None)
    if best is None or any(levels for _, levels in groups):
        return best
    return _shorter(runs, groups, shortest, best)


def _shorter(runs: UniqueRuns, groups: tuple[Group, ...], shortest: Shortest, best: bytes) -> bytes:
    """A shorter text than `best` if a short search finds one.

    What the automaton alone needs is the estimate. Of bytes that lead to the same place and to no value that came, the
    preferred one is tried.
    """
    work: list[tuple[int, int, bytes, Group]] = []  # estimate, order of coming, text, group
    seen: set[object] = set()

    def add(text: bytes, group: Group) -> None:
        rest = shortest(group[0])
        if rest is not None and len(text) + len(rest) < len(best):
            heappush(work, (len(text) + len(rest), len(seen), text, group))

    for group in groups:
        add(b"", group)
    while work and len(seen) < MAX_SHORTER:
        _, _, text, here = heappop(work)
        if is_whole((here,)):
            return text
        telling = telling_bytes(here)
        for byte in byte_order(runs.live_bytes(here[0])):
            if not telling >> byte & 1 and (here, runs.after_byte(here[0], byte)) in seen:
                continue
            for after in runs.run_groups((here,), bytes([byte])):
                key = after if is_at_risk(after[1]) else (here, after[0])
                if key not in seen:
                    seen.add(key)
                    add(text + bytes([byte]), after)
    return best


def _complete(runs: UniqueRuns, group: Group, shortest: Shortest) -> bytes | None:
    out = b""
    for _ in range(MAX_PARTS):
        text = shortest(group[0])
        if text is None:
            return None
        if is_whole(runs.run_groups((group,), text)):
            return out + text
        ways = [
            (text[:at] + way[0], way[1])
            for at, here, n_places in _forks(runs, group, text)
            if (way := _way_out(runs, here, shortest, n_places)) is not None
        ]
        if not ways:
            return None
        taken, group = min(ways, key=lambda one: len(one[0]) + len(shortest(one[1][0]) or b""))
        out += taken
    return None


def telling_bytes(group: Group) -> int:
    """The bytes behind which it may matter which of them came; others that lead to the same heads are alike.

    A 256-bit mask: those that spell on towards a part that came, and those that begin and end parts.
    """
    return next_bytes(group[1]) | _MARKS


def is_whole(groups: tuple[Group, ...]) -> bool:
    """Whether the text may end here."""
    return any((k.ACCEPT, -1) in heads for heads, _ in groups)


def _forks(runs: UniqueRuns, group: Group, text: bytes) -> list[tuple[int, Group, int]]:
    """Where to leave the text: before the part that would repeat one, and as late as the text can still be completed.

    For each (bytes before it, the group there, places to look at).
    """
    begun = 0, group, MAX_NEAR
    for at in range(len(text)):
        if not group[1] or not is_at_risk(group[1][-1:]) or group[1][-1].item is None:
            begun = at, group, MAX_NEAR
        after = [other for other in runs.run_groups((group,), text[at : at + 1]) if runs.is_live(other)]
        if not after:
            return [begun, (at, group, MAX_PLACES)]
        group = after[0]
    return [(len(text), group, MAX_PLACES)]


def _way_out(runs: UniqueRuns, start: Group, shortest: Shortest, n_places: int) -> tuple[bytes, Group] | None:
    """The bytes to a place where no part is at risk, so that they and the shortest text behind them are few."""
    best: tuple[int, bytes, Group] | None = None
    level = [(b"", start)]
    seen = {start}
    while level and len(seen) < n_places:
        following = []
        for text, here in level:
            least = shortest(here[0])
            if least is None or (best is not None and len(text) + len(least) >= best[0]):
                continue
            tried: set[Heads] = set()
            telling = telling_bytes(here)
            for byte in byte_order(runs.live_bytes(here[0])):
                if not telling >> byte & 1 and runs.after_byte(here[0], byte) in tried:
                    continue
                for after in runs.run_groups((here,), bytes([byte])):
                    longer = text + bytes([byte])
                    if is_at_risk(after[1]):
                        if after not in seen:
                            seen.add(after)
                            following.append((longer, after))
                        continue
                    if after[0] in tried:  # as good as the byte before, which is preferred
                        continue
                    tried.add(after[0])
                    rest = shortest(after[0])
                    if rest is not None and (best is None or len(longer) + len(rest) < best[0]):
                        best = len(longer) + len(rest), longer, after
        level = following
    return None if best is None else (best[1], best[2])
