"""Arrays of a schema: what several sets of array keywords say together.

Each index has its own node up to the longest prefix; later items share one. Counts are bounded repetitions that
unroll lazily, so `maxItems` of a million costs nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, EPSILON, Expr, alt, lit, optional, repeat, seq
from tokenizer_align.members import Member, MemberSpec, start_members

from . import json as grammar
from .schema_claims import Atom, claims_of, positives
from .schema_keywords import as_whole
from .schema_values import scalar_spellings

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler


def array_expression(compiler: SchemaCompiler, atoms: list[Atom]) -> Expr:
    """The arrays of which all these claims hold."""
    failing = claims_of(atoms)
    if failing:
        problem = f'"{failing[0].keyword}" is not supported inside "not", "if" and "oneOf"'
        raise UnsupportedSchema([Problem(failing[0].pointer, failing[0].keyword, problem)])
    places = positives(atoms)
    if not places:
        return grammar.any_array(compiler.style)
    lo, hi = _count_bounds(compiler, places)
    if hi is not None and lo > hi:
        return EMPTY
    n_prefix = max(len(prefix_items(compiler, pointer)) for pointer in places)
    items = [_item(compiler, places, index) for index in range(n_prefix)]
    rest = _item(compiler, places, n_prefix)
    if EMPTY in items or rest is EMPTY:
        most = ([*items, rest]).index(EMPTY)
        hi = most if hi is None else min(hi, most)
        if lo > hi:
            return EMPTY
    if any(compiler.keywords(pointer).get("uniqueItems") for pointer in places) and (hi is None or hi > 1):
        texts = None if n_prefix else distinct_texts(compiler, item_places(compiler, places, 0))
        if texts is not None:
            return _distinct_items(compiler, texts, lo, hi)
        if not compiler.merges_repeats or lo > 1:
            asking = next(pointer for pointer in places if compiler.keywords(pointer).get("uniqueItems"))
            raise UnsupportedSchema([_unique_problem(asking)])
    return _list_of(compiler, items, rest, lo, hi)


def prefix_items(compiler: SchemaCompiler, pointer: str) -> list[str]:
    """The sub-schemas of the first items."""
    keywords = compiler.keywords(pointer)
    if "prefixItems" in keywords and compiler.document.draft >= 2020:
        return compiler.document.children(pointer, "prefixItems")
    return compiler.document.children(pointer, "items") if isinstance(keywords.get("items"), list) else []


def rest_items(compiler: SchemaCompiler, pointer: str) -> str | None:
    """The sub-schema of the items after the first ones, None where they are free."""
    keywords = compiler.keywords(pointer)
    keyword = "additionalItems" if isinstance(keywords.get("items"), list) else "items"
    return f"{pointer}/{keyword}" if keyword in keywords else None


def _item(compiler: SchemaCompiler, places: list[str], index: int) -> Expr:
    return compiler.value(item_places(compiler, places, index))


def item_places(compiler: SchemaCompiler, places: list[str], index: int) -> list[str]:
    """The sub-schemas that the item at an index must satisfy."""
    found = []
    for pointer in places:
        prefix = prefix_items(compiler, pointer)
        rest = prefix[index] if index < len(prefix) else rest_items(compiler, pointer)
        if rest is not None:
            found.append(rest)
    return found


def _count_bounds(compiler: SchemaCompiler, places: list[str]) -> tuple[int, int | None]:
    lo, hi = 0, None
    for pointer in places:
        keywords = compiler.keywords(pointer)
        lo = max(lo, as_whole(keywords.get("minItems", 0)) or 0)
        most = as_whole(keywords["maxItems"]) if "maxItems" in keywords else None
        if most is not None:
            hi = most if hi is None else min(hi, most)
    return lo, hi


def _list_of(compiler: SchemaCompiler, items: list[Expr], rest: Expr, lo: int, hi: int | None) -> Expr:
    """`[`, then the items in turn, then `lo` to `hi` of them in all."""
    gap = compiler.style.gap
    comma, close = seq(lit(b","), gap), lit(b"]")
    items = items[:hi]
    left_lo, left_hi = max(lo - len(items), 0), None if hi is None else hi - len(items)
    if items:
        tail = repeat(seq(comma, rest, gap), left_lo, left_hi) if left_hi != 0 else EPSILON
    elif left_hi == 0:
        tail = EPSILON
    else:
        more = None if left_hi is None else left_hi - 1
        tail = seq(rest, gap, repeat(seq(comma, rest, gap), max(left_lo - 1, 0), more))
        tail = tail if left_lo else optional(tail)
    for index in reversed(range(len(items))):
        tail = seq(comma if index else EPSILON, items[index], gap, tail)
        tail = tail if index < lo else optional(tail)
    return seq(lit(b"["), gap, tail, close)


def _distinct_items(compiler: SchemaCompiler, texts: list[bytes], lo: int, hi: int | None) -> Expr:
    """Different items out of finitely many scalars, in any order: the same machine as the keys of an object."""
    gap = compiler.style.gap
    if lo > len(texts):
        return EMPTY
    members = tuple(Member(text, gap) for text in texts)
    empty = lit(b"]") if lo == 0 else EMPTY
    if not members:
        return seq(lit(b"["), gap, empty)
    spec = MemberSpec(members, seq(lit(b","), gap), lit(b"]"), lo=lo, hi=hi)
    return seq(lit(b"["), gap, alt(empty, start_members(spec)))


def distinct_texts(compiler: SchemaCompiler, item_pointers: list[str]) -> list[bytes] | None:
    """The texts of finitely many scalar items, none the beginning of another; None where there is no such list."""
    key = frozenset(item_pointers)
    values: list[Any] = []
    for kind in ("array", "object", "string", "number", "boolean", "null"):
        for conjunct in compiler.conjuncts(key, kind):
            places = compiler.in_order(conjunct)
            listing = compiler.listing(places)
            if kind == "null":
                values.append(None)
            elif kind == "boolean" and not listing:
                values += [False, True]
            elif not listing or kind in ("array", "object"):
                return None
            else:
                values += compiler.listed(kind, places)
    texts = list(dict.fromkeys(scalar_spellings(value)[0] for value in values))
    ordered = sorted(texts)
    if any(b.startswith(a) for a, b in pairwise(ordered)):
        return None
    return texts


def _unique_problem(pointer: str) -> Problem:
    return Problem(
        f"{pointer}/uniqueItems",
        "uniqueItems",
        '"uniqueItems" is supported only where the items are finitely many scalars, none the beginning of another,',
        hint='Give the items an enum, or pass on_unsupported="ignore".',
    )
