"""Completing a text without equal parts: the automaton's shortest text, and other items where that would repeat one.

Greedy, part by part: where the shortest text makes two parts equal, it is followed as long as the text can still be
completed, and left there by the bytes that cost the least. Among parts of one kind, the shortest that did not come are
taken first; what that takes from a later part, the later one would have taken from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import kernels as k
from .shortest import byte_order
from .unique_runs import Group, UniqueRuns, is_at_risk

if TYPE_CHECKING:
    from .engine import Heads

MAX_PARTS = 100_000  # parts of one text that must be other ones than the shortest
MAX_PLACES = 3_000  # looked at for one way out

Shortest = Callable[["Heads"], bytes | None]


def complete(runs: UniqueRuns, groups: tuple[Group, ...], shortest: Shortest) -> bytes | None:
    """A text that completes one of the groups, as short as greed finds it; `shortest`: of the automaton alone."""
    found = [text for group in groups if (text := _complete(runs, group, shortest)) is not None]
    return min(found, key=lambda text: (len(text), text), default=None)


def _complete(runs: UniqueRuns, group: Group, shortest: Shortest) -> bytes | None:
    out = b""
    for _ in range(MAX_PARTS):
        text = shortest(group[0])
        if text is None:
            return None
        if is_whole(runs.run_groups((group,), text)):
            return out + text
        at, group = _last_live(runs, group, text)
        way = _way_out(runs, group, shortest)
        if way is None:
            return None
        out += text[:at] + way[0]
        group = way[1]
    return None


def is_whole(groups: tuple[Group, ...]) -> bool:
    """Whether the text may end here."""
    return any((k.ACCEPT, -1) in heads for heads, _ in groups)


def _last_live(runs: UniqueRuns, group: Group, text: bytes) -> tuple[int, Group]:
    """How far the text can be followed so that it can be completed, and the group there."""
    for at in range(len(text)):
        after = [other for other in runs.run_groups((group,), text[at : at + 1]) if runs.is_live(other)]
        if not after:
            return at, group
        group = after[0]
    return len(text), group


def _way_out(runs: UniqueRuns, start: Group, shortest: Shortest) -> tuple[bytes, Group] | None:
    """The bytes to a place where no part is at risk, so that they and the shortest text behind them are few."""
    best: tuple[int, bytes, Group] | None = None
    level = [(b"", start)]
    seen = {start}
    while level and len(seen) < MAX_PLACES:
        following = []
        for text, here in level:
            least = shortest(here[0])
            if least is None or (best is not None and len(text) + len(least) >= best[0]):
                continue
            tried: set[Heads] = set()
            for byte in byte_order(runs.live_bytes(here[0])):
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
