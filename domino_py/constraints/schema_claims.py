"""Claims about one value, and alternatives of them: the small logic under `schema_compile`.

An *atom* is either a sub-schema whose own keywords (for one JSON type) all hold, named by its pointer, or a `Claim`:
one keyword that fails, a whole sub-schema that fails, a key that is there or not, or what `unevaluated…` sees. A
*conjunct* is a set of atoms that hold together, *alternatives* a choice of conjuncts (disjunctive normal form).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from .schema_limits import check_time

UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
HAS = "has"  # the keyword of a claim about a key: `detail` is the key


class Claim(NamedTuple):
    """That a keyword of a sub-schema holds or fails; without a keyword, the whole sub-schema.

    `properties` fails by one required key (`detail`), which is missing or has a wrong value, or by some optional one.
    """

    pointer: str
    keyword: str | None = None
    holds: bool = False
    detail: Hashable = None  # a key; for `unevaluated…` the sub-schemas whose annotations count (frozenset)


Atom = str | Claim
Conjunct = frozenset[Atom]
Alternatives = tuple[Conjunct, ...]

ANYTHING: Alternatives = (frozenset(),)
NOTHING: Alternatives = ()
_TELLING = frozenset((HAS, *UNEVALUATED))
MAX_ABSORBED = 64  # alternatives among which those that ask for more than another one are looked for


def fails(pointer: str) -> Claim:
    """That a whole sub-schema does not hold."""
    return Claim(pointer)


def pointer_of(atom: Atom) -> str:
    return atom if isinstance(atom, str) else atom.pointer


def positives(conjunct: Iterable[Atom]) -> list[str]:
    """The sub-schemas whose own keywords all hold."""
    return [atom for atom in conjunct if isinstance(atom, str)]


def claims_of(conjunct: Iterable[Atom]) -> list[Claim]:
    """The claims about single keywords and keys."""
    return [atom for atom in conjunct if isinstance(atom, Claim)]


def is_contradiction(conjunct: Conjunct) -> bool:
    """Whether some atom says the opposite of another one. Raises TooComplex where the time for the schema is over."""
    check_time()
    for atom in conjunct:
        if isinstance(atom, Claim):
            pointer, keyword, holds, detail = atom
            if not holds and pointer in conjunct and keyword not in _TELLING:
                return True
            if Claim(pointer, keyword, not holds, detail) in conjunct:
                return True
    return False


def sort_key(conjunct: Conjunct) -> tuple[int, list[str]]:
    return len(conjunct), sorted(map(_text, conjunct))


def _text(atom: Atom) -> str:
    return atom if isinstance(atom, str) else f"{atom.pointer} {atom.keyword} {atom.holds} {_detail(atom.detail)}"


def _detail(detail: Hashable) -> str:
    return " ".join(sorted(detail)) if isinstance(detail, frozenset) else str(detail)


def simplest(conjuncts: Iterable[Conjunct]) -> Alternatives:
    """Without contradictions and without conjuncts that ask for more than another one; in a fixed order."""
    unique = dict.fromkeys(conjunct for conjunct in conjuncts if not is_contradiction(conjunct))
    if len(unique) < 2:
        return tuple(unique)
    ordered = sorted(unique, key=sort_key)
    if len(ordered) > MAX_ABSORBED:
        return tuple(ordered)
    kept: list[Conjunct] = []
    for conjunct in ordered:
        if not any(other <= conjunct for other in kept):
            kept.append(conjunct)
    return tuple(kept)
