"""Whether two sub-schemas can hold for the same value: for `oneOf`, which is `anyOf` where its branches exclude
each other.

Works on an over-approximation of a sub-schema, so "disjoint" is always right and "may overlap" sometimes too
careful: for each JSON type the values that `enum` and `const` leave, the numbers that bounds leave, and for objects
which keys must be there, which may not, and the same of what is below them, a few levels deep.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tokenizer_align.derivatives import holds_text
from tokenizer_align.errors import ConstraintError

from .json_numbers import Bounds
from .json_strings import canonical_text
from .schema_keywords import JSON_TYPES, as_whole
from .schema_literals import literal_start, start_apart
from .schema_numbers import number_set
from .schema_strings import pattern_body
from .schema_terms import listed_values
from .schema_values import json_type, value_key

if TYPE_CHECKING:
    from .schema_products import SchemaProducts

MAX_LEVELS = 4
MAX_MATCHED = 50  # listed values that are compared with patterns
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


@dataclass(slots=True)
class Outline:
    """At most these values: `types`, `listed` values (None: not listed), numbers' bounds; `keys` of objects."""

    types: set[str] = field(default_factory=lambda: set(JSON_TYPES))
    listed: dict[Hashable, Any] | None = None
    excluded: set[Hashable] = field(default_factory=set)  # values that it cannot be
    bounds: Bounds = field(default_factory=Bounds)
    is_integer: bool = False
    lengths: tuple[int, int | None] = (0, None)
    patterns: list[str] = field(default_factory=list)
    starts: list[tuple[str, bool]] = field(default_factory=list)  # of `literal_start`: strings begin in all these ways
    required: set[str] = field(default_factory=set)
    forbidden_but: set[str] | None = None  # only these keys may occur
    below: dict[str, list[str]] = field(default_factory=dict)  # key -> sub-schemas of its value
    choices: list[list[str]] = field(default_factory=list)  # anyOf and oneOf: one of these sub-schemas holds


def are_disjoint(
    compiler: SchemaProducts,
    left: list[str],
    right: list[str],
    kind: str | None = None,
    levels: int = MAX_LEVELS,
    keys: frozenset[str] = frozenset(),
) -> bool:
    """Whether surely no value (of the JSON type `kind`) satisfies all of `left` and all of `right`; of objects only
    those that have all these keys."""
    key = (*left, None, *right, kind, levels, keys)
    found = compiler.overlaps.get(key)
    if found is None:
        found = compiler.overlaps[key] = _are_disjoint(compiler, left, right, kind, levels, keys)
    return found


def _are_disjoint(
    compiler: SchemaProducts, left: list[str], right: list[str], kind: str | None, levels: int, keys: frozenset[str]
) -> bool:
    outline = outline_of(compiler, [*left, *right], None if kind is None else {kind})
    outline.required |= keys
    if _is_empty(outline):
        return True
    if levels == 0:
        return False
    return _objects_clash(compiler, outline, levels) or _choices_clash(compiler, outline, left, right, levels)


def are_told_apart(compiler: SchemaProducts, branches: list[str], kind: str, keys: frozenset[str]) -> bool:
    """Whether all these exclude each other by the values that they list, themselves or under required keys, `keys`
    among them.

    That is what unions look like; to compare all pairs of 200 branches took 3 s.
    """
    outlines = [outline_of(compiler, [branch], {kind}) for branch in branches]
    for outline in outlines:
        outline.required |= keys
    return _are_told_apart(compiler, outlines, MAX_LEVELS)


def _are_told_apart(compiler: SchemaProducts, outlines: list[Outline], levels: int) -> bool:
    outlines = [outline for outline in outlines if not _is_empty(outline)]
    if _are_distinct(outlines):
        return True
    if levels == 0 or any(outline.types != {"object"} for outline in outlines):
        return False
    for key in sorted(set.intersection(*(outline.required for outline in outlines))):
        below = [outline_of(compiler, outline.below.get(key, [])) for outline in outlines]
        if _are_told_apart(compiler, below, levels - 1):
            return True
    return False


def outline_of(compiler: SchemaProducts, places: list[str], kinds: set[str] | None = None) -> Outline:
    """What all these sub-schemas leave, at most."""
    outline = Outline(kinds or set(JSON_TYPES))
    for pointer in places:
        _narrow(compiler, outline, pointer, set())
    whole = [text for text, is_whole in outline.starts if is_whole]
    if outline.listed is None and outline.types == {"string"} and whole:
        outline.listed = {value_key(whole[0]): whole[0]}
    if outline.listed is not None and outline.patterns and len(outline.listed) <= MAX_MATCHED:
        outline.listed = {k: v for k, v in outline.listed.items() if not isinstance(v, str) or _matches(outline, v)}
    return outline


def _matches(outline: Outline, value: str) -> bool:
    """Whether a string matches all patterns, as far as they can be read."""
    try:
        inside = canonical_text(value)[1:-1]
        return all(holds_text(pattern_body(pattern), inside) for pattern in outline.patterns)
    except (ConstraintError, UnicodeEncodeError):
        return True


def _are_distinct(outlines: list[Outline]) -> bool:
    """Whether all list their values, none of them twice."""
    seen: set[Hashable] = set()
    for outline in outlines:
        if outline.listed is None or not seen.isdisjoint(outline.listed):
            return False
        seen.update(outline.listed)
    return True


def _narrow(compiler: SchemaProducts, outline: Outline, pointer: str, seen: set[str]) -> None:
    """Take what a sub-schema says into the outline, `$ref` and `allOf` included."""
    if pointer in seen:
        return
    seen.add(pointer)
    schema = compiler.document.at[pointer]
    if schema is False:
        outline.types.clear()
    if isinstance(schema, bool):
        return
    keywords = compiler.keywords(pointer)
    names = keywords.get("type")
    if names is not None:
        names = {names} if isinstance(names, str) else set(names)
        outline.types &= {"number" if name == "integer" else name for name in names}
        outline.is_integer = outline.is_integer or ("integer" in names and "number" not in names)
    if "enum" in keywords or "const" in keywords:
        here = {value_key(value): value for value in listed_values(keywords)}
        kept = here if outline.listed is None else {k: v for k, v in outline.listed.items() if k in here}
        outline.listed = kept
    unwanted = compiler.document.at[f"{pointer}/not"] if "not" in keywords else None
    if isinstance(unwanted, dict) and len(unwanted) == 1 and unwanted.keys() <= {"enum", "const"}:
        outline.excluded.update(map(value_key, listed_values(unwanted)))
    if not keywords.keys().isdisjoint(_BOUNDS):
        numbers = number_set([keywords], compiler.document.draft).bounds
        if numbers.lo is not None:
            outline.bounds = outline.bounds.with_lo(numbers.lo, numbers.lo_open)
        if numbers.hi is not None:
            outline.bounds = outline.bounds.with_hi(numbers.hi, numbers.hi_open)
    _narrow_strings(outline, keywords)
    _narrow_keys(compiler, outline, pointer, keywords)
    outline.choices += [compiler.document.children(pointer, k) for k in ("anyOf", "oneOf") if k in keywords]
    for child in compiler.all_of(pointer):
        _narrow(compiler, outline, child, seen)


def _narrow_strings(outline: Outline, keywords: dict[str, Any]) -> None:
    if "pattern" in keywords:
        outline.patterns.append(keywords["pattern"])
        start = literal_start(keywords["pattern"])
        if start is not None:
            outline.starts.append(start)
    lo, hi = outline.lengths
    lo = max(lo, as_whole(keywords.get("minLength", 0)) or 0)
    most = as_whole(keywords["maxLength"]) if "maxLength" in keywords else None
    outline.lengths = (lo, most if hi is None else hi if most is None else min(hi, most))


def _narrow_keys(compiler: SchemaProducts, outline: Outline, pointer: str, keywords: dict[str, Any]) -> None:
    outline.required |= set(keywords.get("required", ()))
    properties = keywords.get("properties", {})
    for key, child in zip(properties, compiler.document.children(pointer, "properties"), strict=True):
        outline.below.setdefault(key, []).append(child)
    if keywords.get("additionalProperties") is False and not keywords.get("patternProperties"):
        known = set(properties)
        outline.forbidden_but = known if outline.forbidden_but is None else outline.forbidden_but & known


def _is_empty(outline: Outline) -> bool:
    if outline.listed is not None:
        left = (value for name, value in outline.listed.items() if name not in outline.excluded)
        return not any(_may_hold(outline, value) for value in left)
    if outline.bounds.is_contradiction:
        outline.types.discard("number")
    lo, hi = outline.lengths
    if (hi is not None and lo > hi) or any(start_apart(*pair) for pair in combinations(outline.starts, 2)):
        outline.types.discard("string")
    if outline.forbidden_but is not None and outline.required - outline.forbidden_but:
        outline.types.discard("object")
    return not outline.types


def _may_hold(outline: Outline, value: Any) -> bool:
    kind = json_type(value)
    if kind not in outline.types:
        return False
    if kind == "number":
        exact = Decimal(value)
        return outline.bounds.holds(exact) and (not outline.is_integer or exact == exact.to_integral_value())
    if kind == "string":
        lo, hi = outline.lengths
        is_apart = any(start_apart(start, (value, True)) for start in outline.starts)
        return lo <= len(value) and (hi is None or len(value) <= hi) and not is_apart
    return True


def _objects_clash(compiler: SchemaProducts, outline: Outline, levels: int) -> bool:
    """Whether only objects are left and one of their required keys can have no value."""
    if outline.types != {"object"} or outline.listed is not None:
        return False
    return any(
        are_disjoint(compiler, outline.below[key], [], None, levels - 1)
        for key in sorted(outline.required)
        if key in outline.below
    )


def _choices_clash(compiler: SchemaProducts, outline: Outline, left: list[str], right: list[str], levels: int) -> bool:
    """Whether some anyOf or oneOf has no branch that goes with the rest."""
    places = [*left, *right]
    return any(
        all(
            are_disjoint(compiler, places, [branch], None, 0 if len(branches) > 8 else levels - 2)
            for branch in branches
        )
        for branches in outline.choices
        if levels >= 2
    )
