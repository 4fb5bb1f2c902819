"""Objects of a schema: what several sets of object keywords say together.

A declared key gets the node of all that applies to it: its schema in each set, every pattern it matches, and where
a set has neither, that set's `additionalProperties`. Other keys fall into classes by the patterns they match; each
class is a regular language of keys without the declared ones. Keys come in any order, or in the declared one by
option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, Expr, alt, both, lit, minus, neg, repeat, seq, words
from tokenizer_align.expressions import frame as in_frame
from tokenizer_align.members import Member, MemberSpec, may_be_empty, start_members
from tokenizer_align.recognizer import matches

from . import json as grammar
from .json_strings import ANY_STRING, CANONICAL_STRING, canonical_text, quoted
from .schema_claims import Atom, claims_of, positives
from .schema_keywords import as_whole
from .schema_source import escape_token
from .schema_strings import pattern_body

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_PATTERNS = 6  # patterns of one object: their combinations are 2^n classes of keys


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Keys that are not declared: their language (canonical, with quotes; None: any key) and their values."""

    keys: Expr | None
    value: Expr


def object_expression(compiler: SchemaCompiler, atoms: list[Atom]) -> Expr:
    """The objects of which all these claims hold."""
    failing = claims_of(atoms)
    if failing:
        problem = f'"{failing[0].keyword}" is not supported inside "not", "if" and "oneOf"'
        raise UnsupportedSchema([Problem(failing[0].pointer, failing[0].keyword, problem)])
    places = positives(atoms)
    if not places:
        return grammar.any_object(compiler.style)
    keys, required = _declared(compiler, places)
    names = _key_names(compiler, places)
    patterns = _patterns(compiler, places)
    members: list[Member] = []
    gap = compiler.style.gap
    colon = seq(gap, lit(b":"), gap)
    for key in keys:
        text = canonical_text(key)
        value = compiler.value(_places_of_key(compiler, places, key, text, patterns))
        if names is not None and not matches(names, text):
            value = EMPTY
        if value is EMPTY and key in required:
            compiler.note_contradiction(places, "required", f"the required key {key!r} can have no value")
            return EMPTY
        if value is not EMPTY:
            members.append(Member(text, seq(colon, value, gap), key in required))
    classes = _key_classes(compiler, places, keys, names, patterns)
    return _object_of(compiler, places, members, classes)


def _declared(compiler: SchemaCompiler, places: list[str]) -> tuple[list[str], set[str]]:
    """All keys that some set names, in their order, and those that are required."""
    found: dict[str, None] = {}
    for pointer in places:
        found.update(dict.fromkeys(compiler.keywords(pointer).get("properties", ())))
    required = {key: None for pointer in places for key in compiler.keywords(pointer).get("required", ())}
    found.update(required)
    return list(found), set(required)


def _patterns(compiler: SchemaCompiler, places: list[str]) -> dict[str, Expr]:
    """The patterns of `patternProperties`, as languages of keys with quotes."""
    found = (p for pointer in places for p in compiler.keywords(pointer).get("patternProperties", ()))
    return {pattern: quoted(pattern_body(pattern)) for pattern in dict.fromkeys(found)}


def _key_names(compiler: SchemaCompiler, places: list[str]) -> Expr | None:
    """The language of all keys by `propertyNames` (canonical, with quotes), None where it is free."""
    naming = frozenset(
        f"{pointer}/propertyNames" for pointer in places if "propertyNames" in compiler.keywords(pointer)
    )
    if not naming:
        return None
    return compiler.key_names(naming)


def _places_of_key(
    compiler: SchemaCompiler, places: list[str], key: str, text: bytes, patterns: dict[str, Expr]
) -> list[str]:
    """The sub-schemas that the value of a declared key must satisfy."""
    matched = {pattern for pattern, language in patterns.items() if matches(language, text)}
    found = []
    for pointer in places:
        keywords = compiler.keywords(pointer)
        here = [f"{pointer}/properties/{escape_token(key)}"] if key in keywords.get("properties", ()) else []
        here += _pattern_places(pointer, keywords.get("patternProperties", ()), matched)
        if not here and "additionalProperties" in keywords:
            here = [f"{pointer}/additionalProperties"]
        found += here
    return found


def _pattern_places(pointer: str, own: object, matched: set[str]) -> list[str]:
    names = own if isinstance(own, dict) else {}
    return [f"{pointer}/patternProperties/{escape_token(name)}" for name in names if name in matched]


def _key_classes(
    compiler: SchemaCompiler, places: list[str], keys: list[str], names: Expr | None, patterns: dict[str, Expr]
) -> list[KeyClass]:
    """The classes of undeclared keys that may have a value."""
    if len(patterns) > MAX_PATTERNS:
        message = f"more than {MAX_PATTERNS} patterns for the keys of one object"
        raise UnsupportedSchema([_problem(compiler, places, "patternProperties", message)])
    declared = words(canonical_text(key) for key in keys)
    by_value: dict[Expr, list[Expr]] = {}
    for bits in range(1 << len(patterns)):
        matched = {pattern for i, pattern in enumerate(patterns) if bits >> i & 1}
        value = _undeclared_value(
            compiler, places, matched, is_open=not keys or compiler.additional_properties is not False
        )
        if value is EMPTY:
            continue
        if not keys and not patterns and names is None:
            return [KeyClass(None, value)]
        sides = [patterns[p] if p in matched else neg(patterns[p]) for p in patterns]
        language = both(names if names is not None else CANONICAL_STRING, CANONICAL_STRING, *sides)
        language = minus(language, declared) if keys else language
        if language is not EMPTY:
            by_value.setdefault(value, []).append(language)
    return [KeyClass(alt(*languages), value) for value, languages in by_value.items()]


def _undeclared_value(compiler: SchemaCompiler, places: list[str], matched: set[str], is_open: bool) -> Expr:
    """The node of values under undeclared keys that match these patterns and no others.

    `is_open`: whether keys of which no sub-schema says anything are legal.
    """
    found, is_said = [], False
    for pointer in places:
        keywords = compiler.keywords(pointer)
        here = _pattern_places(pointer, keywords.get("patternProperties", ()), matched)
        if not here and "additionalProperties" in keywords:
            here = [f"{pointer}/additionalProperties"]
        is_said = is_said or bool(here)
        found += here
    if not is_said and not is_open:
        return EMPTY
    return compiler.value(found)


def _object_of(compiler: SchemaCompiler, places: list[str], members: list[Member], classes: list[KeyClass]) -> Expr:
    gap = compiler.style.gap
    start, close, comma, colon = seq(lit(b"{"), gap), lit(b"}"), seq(lit(b","), gap), seq(gap, lit(b":"), gap)
    lo, hi = _count_bounds(compiler, places)
    n_required = sum(member.required for member in members)
    if hi is not None and (hi < max(lo, n_required)):
        return EMPTY
    if classes and lo > n_required + 1:
        message = f'"minProperties" above {n_required + 1} is not supported where undeclared keys are allowed,'
        hint = "The same undeclared key could be written twice; set additionalProperties to false."
        raise UnsupportedSchema([_problem(compiler, places, "minProperties", message, hint)])
    if not members and not classes:
        return seq(start, close) if lo == 0 else EMPTY
    if not members:
        parts = [seq(ANY_STRING if c.keys is None else in_frame(c.keys), colon, c.value, gap) for c in classes]
        member = alt(*parts)
        more = None if hi is None else hi - 1
        some = EMPTY if hi == 0 else seq(member, repeat(seq(comma, member), max(lo - 1, 0), more))
        return in_frame(seq(start, alt(close if lo == 0 else EMPTY, seq(some, close))))
    if len(classes) > 1:
        message = "declared keys beside several kinds of undeclared keys are not supported yet"
        hint = 'Set additionalProperties to false or use one pattern, or pass on_unsupported="ignore".'
        raise UnsupportedSchema([_problem(compiler, places, "patternProperties", message, hint)])
    extra = classes[0] if classes else None
    spec = MemberSpec(
        tuple(members),
        comma,
        close,
        extra_key=extra.keys if extra else None,
        extra_rest=seq(colon, extra.value, gap) if extra else None,
        lo=lo,
        hi=hi,
        ordered=compiler.is_ordered,
    )
    return in_frame(seq(start, alt(close if may_be_empty(spec) else EMPTY, start_members(spec))))


def _count_bounds(compiler: SchemaCompiler, places: list[str]) -> tuple[int, int | None]:
    lo, hi = 0, None
    for pointer in places:
        keywords = compiler.keywords(pointer)
        lo = max(lo, as_whole(keywords.get("minProperties", 0)) or 0)
        most = as_whole(keywords["maxProperties"]) if "maxProperties" in keywords else None
        if most is not None:
            hi = most if hi is None else min(hi, most)
    return lo, hi


def _problem(
    compiler: SchemaCompiler, places: list[str], keyword: str, message: str, hint: str | None = None
) -> Problem:
    """A problem at the first sub-schema that has the keyword."""
    place = next((pointer for pointer in places if keyword in compiler.keywords(pointer)), places[0])
    return Problem(f"{place}/{keyword}", keyword, message, hint=hint)
