"""Ways in which a sub-schema can be true: a conjunct, and the sub-schemas whose annotations count there (`seen`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .schema_claims import Alternatives, Conjunct, simplest

Seen = frozenset[str]
Way = tuple[Conjunct, Seen]
Ways = tuple[Way, ...]
Place = tuple[str, str | None]  # (pointer, keyword)
Mode = Literal["none", "some", "all"]  # which annotating sub-schemas a way names: none, some of them, exactly all

NO_ONE: Seen = frozenset()
TRUE: Ways = ((frozenset(), NO_ONE),)


class Factor(NamedTuple):
    """What one keyword (None: several) asks for. `enough`: what says all of that, though it is none of the ways."""

    keyword: str | None
    ways: Ways
    enough: Alternatives = ()


def plain(alternatives: Alternatives) -> Ways:
    """Alternatives in which no annotation counts."""
    return tuple((conjunct, NO_ONE) for conjunct in alternatives)


def simplest_ways(ways: Iterable[Way], mode: Mode) -> Ways:
    """Without ways that cannot hold, and (but in mode "all") without those that ask for more and see less."""
    if mode == "none":
        return plain(simplest(conjunct for conjunct, _ in ways))
    unique = dict.fromkeys(way for way in ways if simplest([way[0]]))
    if mode == "all" or len(unique) > 64:
        return tuple(unique)
    kept: list[Way] = []
    for conjunct, seen in sorted(unique, key=lambda way: (len(way[0]), -len(way[1]))):
        if not any(other <= conjunct and more >= seen for other, more in kept):
            kept.append((conjunct, seen))
    return tuple(kept)
