"""Whether there are enough values, where items (or keys) that must differ are too many to be listed.

`minItems` different items can be written only if so many values exist. Scalars are counted by the states of their
language; arrays and objects have enough where some part of them is free, by structure. What is not sure is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import (
    EMPTY,
    K_CALL,
    K_REPEAT,
    K_SEQ,
    Expr,
    alt,
    both,
    byte_set,
    lit,
    minus,
    optional,
    repeat,
    seq,
    seq_parts,
    words,
)
from tokenizer_align.unique import Need, holds_at_least

from .json_strings import quoted
from .schema_claims import Atom
from .schema_keywords import JSON_TYPES
from .schema_values import scalar_spellings

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_DEPTH = 4  # arrays and objects inside each other that are looked into

_DIGITS, _NON_ZERO = repeat(byte_set(b"0123456789"), 0, None), byte_set(b"123456789")
_ONE_NUMBER = minus(  # without exponent, trailing zeros and `-0`
    seq(optional(lit(b"-")), alt(lit(b"0"), seq(_NON_ZERO, _DIGITS)), optional(seq(lit(b"."), _DIGITS, _NON_ZERO))),
    lit(b"-0"),
)


class EnoughValues:
    """Asked for one array, whose `uniqueItems` stands at `pointer`."""

    def __init__(self, compiler: SchemaCompiler, pointer: str) -> None:
        self.compiler, self.pointer = compiler, pointer

    def need(self, choices: list[tuple[Atom, ...]], n: int) -> Need | None:
        """What must hold so that `n` different values satisfy one of the choices; None: it surely does.

        Raises UnsupportedSchema where that is not known.
        """
        if n <= 1 or any(self.is_rich(atoms, n, MAX_DEPTH) for atoms in choices):
            return None
        parts = [self._scalars(atoms) for atoms in choices]
        found = alt(*(part for part in parts if part is not None))
        if None in parts and not holds_at_least(found, n):
            message = f'"uniqueItems" is not supported where it is not sure that {n} different items exist'
            raise UnsupportedSchema([Problem(f"{self.pointer}/uniqueItems", "uniqueItems", message)])
        return None if None in parts else Need(found, n)

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

    def is_rich(self, atoms: tuple[Atom, ...], n: int, depth: int) -> bool:
        """Whether there surely are `n` values, whatever the vocabulary: free strings, or containers that hold some."""
        for kind in ("string", "object", "array") if depth else ():
            for conjunct in self.compiler.conjuncts(frozenset(atoms), kind):
                if not all(isinstance(atom, str) for atom in conjunct) or self.compiler.listing(conjunct):
                    continue
                places = [atom for atom in conjunct if isinstance(atom, str)]
                if kind == "string":
                    string_set = self.compiler.strings(conjunct)
                    is_rich = not string_set.bodies and string_set.hi is None
                elif kind == "object":
                    is_rich = self._is_rich_object(places, n, depth)
                else:
                    is_rich = self._is_rich_array(places, n, depth)
                if is_rich and self.compiler.conjunct(kind, conjunct) is not EMPTY:
                    return True
        return False

    def _is_rich_object(self, places: list[str], n: int, depth: int) -> bool:
        said = [self.compiler.keywords(place) for place in places]
        if any("propertyNames" in keywords or "unevaluatedProperties" in keywords for keywords in said):
            return False
        names = {name for keywords in said for name in keywords.get("required", ())}
        if all(keywords.get("maxProperties") is None for keywords in said):
            is_open = self.compiler.additional_properties is None or not any("properties" in k for k in said)
            if is_open and all(k.get("additionalProperties", True) is True for k in said):
                return not any("patternProperties" in keywords for keywords in said)
            names |= {name for keywords in said for name in keywords.get("properties", ())}
        if len(places) > 1 or "patternProperties" in said[0]:
            return False
        own = [name for name in said[0].get("properties", ()) if name in names]
        pointers = self.compiler.document.children(places[0], "properties")
        children = dict(zip(said[0].get("properties", ()), pointers, strict=False))
        return any(self.is_rich((children[name],), n, depth - 1) for name in own)

    def _is_rich_array(self, places: list[str], n: int, depth: int) -> bool:
        said = [self.compiler.keywords(place) for place in places]
        if len(places) > 1 or not said[0].keys() <= {"type", "items", "minItems", "uniqueItems", "description"}:
            return not said
        items = said[0].get("items")
        if items is None or items is True:
            return True
        return isinstance(items, dict) and self.is_rich((f"{places[0]}/items",), n, depth - 1)


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
