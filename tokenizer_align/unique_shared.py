"""Completions that many places share: most of what came has no bearing on how the text is completed.

Next to a limit thousands of tokens ask for a completion, and all but a few have the same: after any key the same two
further keys will do. So a completion is looked for as if nothing had come, and taken if it is legal after what did
come. If it is not, the values that it would repeat are put back, and so on: what is found for less that came is never
longer. All of this depends on the place alone, not on what was asked before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .partial_json import Container, Mode, Partial, Value
from .unique import Level
from .unique_completion import complete, is_whole

if TYPE_CHECKING:
    from .unique_runs import Group, UniqueRuns

MAX_ROUNDS = 6  # of putting values back
MAX_KEPT = 20_000
UNLIKE = b"\xff"  # is no UTF-8: the beginning of a string that is like no other

Found = tuple[bytes | None, frozenset[Value]]  # the text, and the values and keys that it writes


def shared_completion(runs: UniqueRuns, groups: tuple[Group, ...]) -> bytes | None:
    """A text that completes one of the groups, as short as `unique_completion` finds it; None where there is none."""
    if not all(levels for _, levels in groups):
        return complete(runs, groups, runs.shortest)
    found = [text for group in groups if (text := _of_group(runs, group)) is not None]
    return min(found, key=lambda text: (len(text), text), default=None)


def _of_group(runs: UniqueRuns, group: Group) -> bytes | None:
    kept: frozenset[Value] | None = None
    for _ in range(MAX_ROUNDS):
        text, values = kept_completion(runs, (group[0], tuple(_without(level, kept) for level in group[1])))
        if text is not None and is_whole(runs.run_groups((group,), text)):
            return text
        if text is None or (kept is not None and values <= kept):
            break
        kept = values if kept is None else kept | values
    return kept_completion(runs, group)[0]


def kept_completion(runs: UniqueRuns, group: Group) -> Found:
    """The completion of one group, nothing shared; kept."""
    found = runs.completions.get(group)
    if found is None:
        if len(runs.completions) >= MAX_KEPT:
            runs.completions.clear()
        text = complete(runs, (group,), runs.shortest)
        found = runs.completions[group] = text, _values(runs, group, text or b"")
    return found


def _without(level: Level, kept: frozenset[Value] | None) -> Level:
    """The level as if only the kept values and keys had come; None: nothing, its string being like no other."""
    if kept is None:
        item = level.item
        if item is not None and item.mode in (Mode.STRING, Mode.KEY) and b"\\" not in item.text:
            item = replace(item, text=UNLIKE)
        return replace(level, used=frozenset(), rivals=(), item=_without_keys(item, frozenset()))
    rivals = tuple(value for value in level.rivals if value in kept)
    return replace(level, used=level.used & kept, rivals=rivals, item=_without_keys(level.item, kept))


def _without_keys(item: Partial | None, kept: frozenset[Value]) -> Partial | None:
    return item if item is None or item.inside is None else replace(item, inside=_bare(item.inside, kept))


def _bare(inside: Container | None, kept: frozenset[Value]) -> Container | None:
    if inside is None:
        return None
    done = tuple(member for member in inside.done if ("s", member[0]) in kept) if inside.is_object else ()
    return replace(inside, done=done, below=_bare(inside.below, kept))


def _values(runs: UniqueRuns, group: Group, text: bytes) -> frozenset[Value]:
    """The values of the parts that a text writes or follows, and the keys as values."""
    found: set[Value] = set()
    groups: tuple[Group, ...] = (group,)
    for at in range(len(text)):
        groups = runs.run_groups(groups, text[at : at + 1])
        for _, levels in groups:
            for level in levels:
                found |= level.used
                inside = None if level.item is None else level.item.inside
                while inside is not None:
                    found.update(("s", member[0]) for member in inside.done if inside.is_object)
                    inside = inside.below
    return frozenset(found)
