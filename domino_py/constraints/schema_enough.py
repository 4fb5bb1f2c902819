"""Whether there are enough values, where items (or keys) that must differ are too many to be listed.

`minItems` different items can be written only if so many values exist. Scalars are counted by the states of their
language; arrays and objects have enough where some string in them is free, by structure, and where they hold any text
(which is seen once they are built). What is not sure is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import (
    EMPTY,
    EPSILON,
    K_CALL,
    K_REPEAT,
    K_SEQ,
    Expr,
    Rule,
    alt,
    both,
    byte_set,
    call,
    lit,
    minus,
    optional,
    repeat,
    seq,
    seq_parts,
    words,
)
from tokenizer_align.productive import is_productive
from tokenizer_align.unique import Need, holds_at_least

from .json_strings import CANONICAL_STRING, quoted
from .schema_claims import Atom, Conjunct
from .schema_keywords import JSON_TYPES
from .schema_values import scalar_spellings

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_DEPTH = 4  # arrays and objects inside each other that are looked into
MAX_PLACES = 4  # ways to have enough values that are kept

_DIGITS, _NON_ZERO = repeat(byte_set(b"0123456789"), 0, None), byte_set(b"123456789")
_ONE_NUMBER = minus(  # without exponent, trailing zeros and `-0`
    seq(optional(lit(b"-")), alt(lit(b"0"), seq(_NON_ZERO, _DIGITS)), optional(seq(lit(b"."), _DIGITS, _NON_ZERO))),
    lit(b"-0"),
)


class EnoughValues:
    """Asked for one array, whose `uniqueItems` stands at `pointer`."""

    def __init__(self, compiler: SchemaCompiler, pointer: str) -> None:
        self.compiler, self.pointer = compiler, pointer
        self._rich: dict[tuple[tuple[Atom, ...], int], list[Expr]] = {}

    def need(self, choices: list[tuple[Atom, ...]], n: int, least: int = 1) -> Need | None:
        """What must hold so that `n` different values satisfy one of the choices; None: nothing.

        Where there are fewer than `least`, no array satisfies the schema. Raises UnsupportedSchema where there are
        fewer than `n` otherwise, or where that is not known.
        """
        if n <= 1:
            return None
        rich = [place for atoms in choices for place in self.rich_places(atoms, n, MAX_DEPTH)]
        if rich:
            return Need(CANONICAL_STRING, n, alt(*rich))
        parts = [self._scalars(atoms) for atoms in choices]
        found = alt(*(part for part in parts if part is not None))
        if holds_at_least(found, n) or (None not in parts and not holds_at_least(found, least)):
            return Need(found, n)
        raise UnsupportedSchema([not_enough(self.pointer, n)])

    def _scalars(self, atoms: tuple[Atom, ...]) -> Expr | None:
        """The scalars, in one spelling each and without calls; None where arrays and objects may come beside them."""
        parts: list[Expr] = []
        for kind in JSON_TYPES:
            for conjunct in self.compiler.conjuncts(frozenset(atoms), kind):
                ordered = self.compiler.in_order(conjunct)
                if self.compiler.listing(ordered):
                    values = self.compiler.listed(kind, ordered)
                    if kind in ("array", "object") and values:
                        return None
                    parts.append(words(scalar_spellings(value)[0] for value in values))
                elif kind in ("array", "object"):
                    return None
                elif kind == "string":
                    parts.append(quoted(self.compiler.strings(ordered).body()))
                elif kind == "number":
                    parts.append(both(without_calls(self.compiler.conjunct(kind, conjunct)), _ONE_NUMBER))
                else:
                    parts.append(without_calls(self.compiler.conjunct(kind, conjunct)))
        return alt(*parts)

    def rich_places(self, atoms: tuple[Atom, ...], n: int, depth: int) -> list[Expr]:
        """Free strings, and containers that hold some: where one of these holds any text, there are `n` values."""
        key = (atoms, depth)
        if key not in self._rich:
            self._rich[key] = self._find_rich_places(atoms, n, depth)
        return self._rich[key]

    def _find_rich_places(self, atoms: tuple[Atom, ...], n: int, depth: int) -> list[Expr]:
        found: list[Expr] = []
        for kind in ("string", "object", "array") if depth else ():
            for conjunct in self.compiler.conjuncts(frozenset(atoms), kind):
                if not all(isinstance(atom, str) for atom in conjunct) or self.compiler.listing(conjunct):
                    continue
                places = [atom for atom in conjunct if isinstance(atom, str)]
                if kind == "string":
                    string_set = self.compiler.strings(conjunct)
                    if not string_set.bodies and string_set.hi is None:
                        return [EPSILON]
                    inside = []
                elif kind == "object":
                    inside = self._rich_in_object(places, n, depth)
                else:
                    inside = self._rich_in_array(places, n, depth)
                found += [seq(self._later(kind, conjunct), part) for part in inside]
        return found[:MAX_PLACES]

    def _later(self, kind: str, conjunct: Conjunct) -> Expr:
        """The values of one type, made only when they are asked for: arrays may hold themselves."""
        return call(Rule(f"{kind} in {self.pointer}").define(lambda: self.compiler.conjunct(kind, conjunct)))

    def _rich_in_object(self, places: list[str], n: int, depth: int) -> list[Expr]:
        said = [self.compiler.keywords(place) for place in places]
        if any("propertyNames" in keywords or "unevaluatedProperties" in keywords for keywords in said):
            return []
        names = {name for keywords in said for name in keywords.get("required", ())}
        if all(keywords.get("maxProperties") is None for keywords in said):
            is_open = self.compiler.additional_properties is None or not any("properties" in k for k in said)
            if is_open and all(k.get("additionalProperties", True) is True for k in said):
                return [] if any("patternProperties" in keywords for keywords in said) else [EPSILON]
            names |= {name for keywords in said for name in keywords.get("properties", ())}
        if len(places) != 1 or "patternProperties" in said[0]:
            return []
        own = [name for name in said[0].get("properties", ()) if name in names]
        pointers = self.compiler.document.children(places[0], "properties")
        children = dict(zip(said[0].get("properties", ()), pointers, strict=False))
        return [place for name in own for place in self.rich_places((children[name],), n, depth - 1)]

    def _rich_in_array(self, places: list[str], n: int, depth: int) -> list[Expr]:
        if not places:
            return [EPSILON]
        keywords = self.compiler.keywords(places[0])
        if len(places) > 1 or not keywords.keys() <= {"type", "items", "minItems", "uniqueItems", "description"}:
            return []
        items = keywords.get("items")
        if items is None or items is True:
            return [EPSILON]
        return self.rich_places((f"{places[0]}/items",), n, depth - 1) if isinstance(items, dict) else []


def lacks_values(node: Expr) -> bool:
    """Whether there would be texts of a tracked node, were there so many values as it needs."""
    return node is not EMPTY and is_productive(node.args[0]) and not is_productive(node)


def not_enough(pointer: str, n: int) -> Problem:
    """Refuses `uniqueItems` at a sub-schema."""
    message = f'"uniqueItems" is not supported where it is not sure that {n:,} different items exist'
    return Problem(f"{pointer}/uniqueItems", "uniqueItems", message)


def without_calls(expr: Expr) -> Expr:
    """The same language with the frames written out; scalars hold no recursion."""
    if not expr.has_call:
        return expr
    if expr.kind == K_CALL:
        return without_calls(expr.data.body)
    parts = [without_calls(part) for part in (seq_parts(expr) if expr.kind == K_SEQ else expr.args)]
    if expr.kind == K_REPEAT:
        return repeat(parts[0], *expr.data)
    return seq(*parts) if expr.kind == K_SEQ else alt(*parts)
