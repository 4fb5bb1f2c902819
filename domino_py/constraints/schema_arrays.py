"""Arrays of a schema: what several sets of array keywords say together, some holding and some failing.

Each index has its own node up to the longest prefix; later items share one. Where items must be counted (`contains`, a
failing `items`, `unevaluatedItems`) or must differ, the states of `schema_tallies` do it; everywhere else counts are
bounded repetitions that unroll lazily, so `maxItems` of a million costs nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, EPSILON, Expr, alt, lit, optional, repeat, seq
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.unique import tracked

from . import json as grammar
from .schema_claims import Atom, Claim, claims_of, fails, positives
from .schema_distinct import ItemValues, item_values, separable_texts
from .schema_enough import EnoughValues, not_enough
from .schema_keywords import JSON_TYPES, as_whole
from .schema_limits import IGNORE_HINT
from .schema_overlap import are_disjoint
from .schema_tallies import MAX_VALUES, Atoms, TalliedArray, Tally

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_PAIRS = 66  # pairs of items that are compared to see that they always differ


@dataclass(slots=True)
class ArrayRequest:
    """What all claims about an array come to. `choices`: for each index, of which sets of sub-schemas one must hold."""

    compiler: SchemaCompiler
    atoms: list[Atom]
    n_prefix: int = 0
    lo: int = 0
    hi: int | None = None
    wants_distinct: list[str] = field(default_factory=list)
    wants_equal: list[str] = field(default_factory=list)
    tallies: list[list[Tally]] = field(default_factory=list)  # of each list, one must come out
    choices: list[list[Atoms]] = field(default_factory=list)


def array_expression(compiler: SchemaCompiler, atoms: list[Atom]) -> Expr:
    """The arrays of which all these claims hold."""
    if not atoms:
        return grammar.any_array(compiler.style)
    request = read_request(compiler, atoms)
    if request.hi is not None and request.lo > request.hi:
        return EMPTY
    return alt(*(_with_tallies(request, list(tallies)) for tallies in product(*request.tallies)))


def read_request(compiler: SchemaCompiler, atoms: list[Atom]) -> ArrayRequest:
    """What these claims (some) say about an array."""
    request = ArrayRequest(compiler, atoms)
    _read_prefixes(request)
    _read_counts(request)
    _read_items(request)
    for claim in claims_of(atoms):
        _read_claim(request, claim)
    for pointer in positives(atoms):
        _read_contains(request, pointer)
    return request


def _read_prefixes(request: ArrayRequest) -> None:
    """How many items have an index of their own."""
    pointers = dict.fromkeys(positives(request.atoms))
    for claim in claims_of(request.atoms):
        pointers[claim.pointer] = None
        pointers.update(dict.fromkeys(claim.detail if isinstance(claim.detail, frozenset) else ()))
    request.n_prefix = max(len(prefix_items(request.compiler, pointer)) for pointer in pointers)


def _read_counts(request: ArrayRequest) -> None:
    """The bounds of the number of items."""
    for atom in request.atoms:
        holds = isinstance(atom, str)
        keywords = request.compiler.keywords(atom if isinstance(atom, str) else atom.pointer)
        for keyword in ("minItems", "maxItems"):
            if keyword not in keywords or not (holds or (isinstance(atom, Claim) and atom.keyword == keyword)):
                continue
            bound = as_whole(keywords[keyword]) or 0
            if holds == (keyword == "minItems"):
                request.lo = max(request.lo, bound if holds else bound + 1)
            else:
                bound = bound if holds else bound - 1
                request.hi = bound if request.hi is None else min(request.hi, bound)


def _read_items(request: ArrayRequest) -> None:
    """What every item must satisfy, and whether items must differ."""
    places = positives(request.atoms)
    request.choices = [[tuple(item_places(request.compiler, places, i))] for i in range(request.n_prefix + 1)]
    request.wants_distinct = [p for p in places if request.compiler.keywords(p).get("uniqueItems")]


def _read_claim(request: ArrayRequest, claim: Claim) -> None:
    """A keyword that fails, or `unevaluatedItems`."""
    if claim.keyword == "uniqueItems":
        request.wants_equal.append(claim.pointer)
    elif claim.keyword == "contains":
        _add_contains(request, claim.pointer, holds=False)
    elif claim.keyword in ("items", "prefixItems", "additionalItems"):
        inside = tuple(_failing(request, claim, i) for i in range(request.n_prefix + 1))
        request.tallies.append([Tally(claim.pointer, inside)])
    elif claim.keyword == "unevaluatedItems":
        _read_unevaluated(request, claim)


def _failing(request: ArrayRequest, claim: Claim, index: int) -> Atoms | None:
    """What item `index` must satisfy so that the keyword fails there."""
    compiler = request.compiler
    prefix = prefix_items(compiler, claim.pointer)
    keyword = claim.keyword or ""
    is_prefix = keyword == "prefixItems" or isinstance(compiler.keywords(claim.pointer).get(keyword), list)
    if is_prefix:
        return (fails(prefix[index]),) if index < len(prefix) else None
    rest = rest_items(compiler, claim.pointer)
    is_meant = rest is not None and rest.endswith(f"/{keyword}") and index >= len(prefix)
    return (fails(rest),) if is_meant and rest is not None else None


def _read_unevaluated(request: ArrayRequest, claim: Claim) -> None:
    """Items that no sub-schema with a say has evaluated: each must satisfy the schema, or (failing) some must not."""
    seen, matching = _evaluated(request, claim)
    for index in range(request.n_prefix + 1):
        if seen is None or index < seen:
            continue
        if claim.holds:
            ways = [(f"{claim.pointer}/unevaluatedItems",), *((pointer,) for pointer in matching)]
            request.choices[index] = [(*base, *way) for base in request.choices[index] for way in ways]
    if not claim.holds:
        atoms = tuple(fails(pointer) for pointer in (f"{claim.pointer}/unevaluatedItems", *matching))
        ends = request.n_prefix + 1
        inside = tuple(atoms if seen is not None and index >= seen else None for index in range(ends))
        request.tallies.append([Tally(claim.pointer, inside)])


def _evaluated(request: ArrayRequest, claim: Claim) -> tuple[int | None, list[str]]:
    """(items that are evaluated by their index, None: all; sub-schemas that evaluate what satisfies them)."""
    n_seen, matching = 0, []
    assert isinstance(claim.detail, frozenset)
    for pointer in sorted(claim.detail, key=request.compiler.document.order.__getitem__):
        keywords = request.compiler.keywords(pointer)
        if rest_items(request.compiler, pointer) is not None:
            return None, []
        if "unevaluatedItems" in keywords and pointer != claim.pointer:
            return None, []
        n_seen = max(n_seen, len(prefix_items(request.compiler, pointer)))
        if "contains" in keywords and request.compiler.document.draft >= 2020:
            matching.append(f"{pointer}/contains")
    return n_seen, matching


def _read_contains(request: ArrayRequest, pointer: str) -> None:
    if "contains" in request.compiler.keywords(pointer):
        _add_contains(request, pointer, holds=True)


def _add_contains(request: ArrayRequest, pointer: str, holds: bool) -> None:
    """Count the items that satisfy `contains`; where it fails they are fewer or more than it asks for."""
    keywords = request.compiler.keywords(pointer)
    lo = as_whole(keywords.get("minContains", 1)) or 0
    hi = as_whole(keywords["maxContains"]) if "maxContains" in keywords else None
    inside: tuple[Atoms | None, ...] = ((f"{pointer}/contains",),) * (request.n_prefix + 1)
    outside = (fails(f"{pointer}/contains"),)
    if holds:
        ranges = [(lo, hi)] if lo or hi is not None else []
        if ranges and hi is not None and lo > hi:
            request.tallies.append([])
            return
    else:
        ranges = ([(0, lo - 1)] if lo else []) + ([(hi + 1, None)] if hi is not None else [])
    if ranges or not holds:
        request.tallies.append([Tally(pointer, inside, least, most, outside) for least, most in ranges])


def _with_tallies(request: ArrayRequest, tallies: list[Tally]) -> Expr:
    """The arrays in which these tallies come out."""
    compiler, lo, hi = request.compiler, request.lo, request.hi
    distinct: bool | None = None
    merges = compiler.merges_repeats and lo <= 1
    if request.wants_distinct and (hi is None or hi > 1) and not _always_differ(request):
        values = item_values(compiler, request.choices[0][0]) if request.n_prefix == 0 and not tallies else None
        texts = separable_texts(values) if values is not None and len(request.choices[0]) == 1 else None
        if texts is not None:
            return EMPTY if request.wants_equal else _distinct_items(compiler, texts, lo, hi)
        if not request.wants_equal and not (merges and values is None) and _has_many_values(request, values):
            return _tracked_items(request, tallies)
        distinct = None if merges and values is None else True
    if request.wants_equal:
        if distinct:
            return EMPTY
        distinct = False
    if tallies or distinct is not None or any(len(ways) > 1 for ways in request.choices):
        asking = [*request.wants_distinct, *request.wants_equal, *(tally.pointer for tally in tallies)]
        asking += [claim.pointer for claim in claims_of(request.atoms)] + positives(request.atoms)
        return TalliedArray(compiler, asking[0], request.choices, tallies, lo, hi, distinct).expression()
    return _counted_items(request, seq(lit(b"["), compiler.style.gap), lit(b"]"))


def _counted_items(request: ArrayRequest, start: Expr, close: Expr) -> Expr:
    """The arrays where only the index and the number of items matter, between these brackets."""
    compiler, lo, hi = request.compiler, request.lo, request.hi
    items = [compiler.value(ways[0]) for ways in request.choices]
    if EMPTY in items:
        most = items.index(EMPTY)
        hi = most if hi is None else min(hi, most)
        if lo > hi:
            return EMPTY
    return seq(start, _list_of(compiler, items[:-1], items[-1], lo, hi), close)


def _has_many_values(request: ArrayRequest, values: ItemValues | None) -> bool:
    """Whether the items' values are too many to be part of a state."""
    if values is not None:
        return len(values) > MAX_VALUES
    found: set[Hashable] = set()
    for atoms in (atoms for ways in request.choices for atoms in ways):
        here = item_values(request.compiler, atoms)
        if here is None:
            return True
        found.update(here)
    return len(found) > MAX_VALUES


def _tracked_items(request: ArrayRequest, tallies: list[Tally]) -> Expr:
    """Different items whose values are too many to be listed: they are noted while a text is read (`unique`)."""
    compiler, lo, hi = request.compiler, request.lo, request.hi
    pointer = request.wants_distinct[0]
    enough = EnoughValues(compiler, pointer)
    needs = [enough.need(request.choices[i], i + 1) for i in range(min(lo, request.n_prefix))]
    if lo > request.n_prefix:
        needs.append(enough.need(request.choices[-1], lo, lo - request.n_prefix))
    needs += [enough.need(choices, n) for tally in tallies for choices, n in _scarce_items(request, tally)]
    if len(tallies) > 1 or any(t.lo > 1 or (t.hi is not None and lo > t.lo) for t in tallies):
        message = '"uniqueItems" is not supported beside a "contains" of several items, unless the items are listed'
        hint = f"Give the items an enum, or ask for one item that is contained. {IGNORE_HINT}"
        raise UnsupportedSchema([Problem(f"{pointer}/uniqueItems", "uniqueItems", message, hint=hint)])
    if tallies or any(len(ways) > 1 for ways in request.choices):
        body = TalliedArray(compiler, pointer, request.choices, tallies, lo, hi, close=EPSILON).body()
    else:
        body = _counted_items(request, compiler.style.gap, EPSILON)
    array = tracked("array", body, tuple(need for need in needs if need is not None))
    compiler.counted.append((not_enough(pointer, lo), array))
    return array


def _scarce_items(request: ArrayRequest, tally: Tally) -> Iterator[tuple[list[Atoms], int]]:
    """What a tally asks of an item where others that do not count may have its value, and how many values it takes."""
    if None not in tally.inside:
        return
    for index, inside in enumerate(tally.inside):
        if inside is not None:
            yield [(*base, *inside) for base in request.choices[index]], index + 1


def _always_differ(request: ArrayRequest) -> bool:
    """Whether no two items of an array of bounded length can be equal, by their schemas."""
    hi = request.n_prefix if request.compiler.value(request.choices[-1][0]) is EMPTY else request.hi
    hi = hi if request.hi is None or hi is None else min(hi, request.hi)
    if hi is None or hi > request.n_prefix + 1 or hi * (hi - 1) // 2 > MAX_PAIRS:
        return False
    if any(len(ways) > 1 for ways in request.choices):
        return False
    schemas = [list(positives(request.choices[index][0])) for index in range(hi)]
    return all(
        are_disjoint(request.compiler, schemas[i], schemas[j], kind)
        for i in range(hi)
        for j in range(i)
        for kind in JSON_TYPES
    )


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


def item_places(compiler: SchemaCompiler, places: list[str], index: int) -> list[str]:
    """The sub-schemas that the item at an index must satisfy."""
    found = []
    for pointer in places:
        prefix = prefix_items(compiler, pointer)
        rest = prefix[index] if index < len(prefix) else rest_items(compiler, pointer)
        if rest is not None:
            found.append(rest)
    return found


def _list_of(compiler: SchemaCompiler, items: list[Expr], rest: Expr, lo: int, hi: int | None) -> Expr:
    """The items in turn, then `lo` to `hi` of them in all."""
    gap = compiler.style.gap
    comma = seq(lit(b","), gap)
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
    return tail


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
