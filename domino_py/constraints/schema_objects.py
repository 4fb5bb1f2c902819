"""Objects of a schema: what claims about object keywords, holding and failing, say together.

What is said about a key (`schema_keys`) gives its values: a node of all that must hold there. A keyword that fails
(`properties`, `additionalProperties`, …) is a *duty*: some key has a value that fails one of its sub-schemas. So a
key has variants, one for each set of duties that its value may fulfil, and undeclared keys fall into classes by the
patterns they match. Keys come in any order, or in the declared one by option.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, EPSILON, Expr, alt, lit, repeat, seq
from tokenizer_align.expressions import frame as in_frame
from tokenizer_align.members import KeyClass, Member, MemberSpec, Variant, may_be_empty, start_members
from tokenizer_align.unique import Need, holds_at_least, tracked

from . import json as grammar
from .json_strings import ANY_STRING, CANONICAL_STRING, canonical_text
from .schema_claims import HAS, Atom, claims_of, positives
from .schema_dynamic import original
from .schema_keys import MAX_VARIANTS, Kind, Sayings
from .schema_keywords import as_whole
from .schema_terms import has_key

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_DUTIES = 40  # claims that some key of one object must fulfil


@dataclass(frozen=True, slots=True)
class Ways:
    """The values under one key, each with the duties (bits) that it fulfils; the first ones need fulfil no more."""

    free: Expr
    marks: int = 0  # that every value fulfils
    marked: tuple[tuple[Expr, int], ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.free is EMPTY

    @property
    def all_marks(self) -> int:
        return reduce(or_, (marks for _, marks in self.marked), self.marks)


def object_expression(compiler: SchemaCompiler, atoms: list[Atom]) -> Expr:
    """The objects of which all these claims hold."""
    if not atoms:
        return grammar.any_object(compiler.style)
    lo, hi = count_bounds(compiler, atoms)
    sayings = Sayings(compiler, atoms)
    if not sayings.settle_duties():
        return EMPTY
    if len(sayings.duties) > MAX_DUTIES:
        message = f"{len(sayings.duties)} claims about keys of one object that some key must fulfil"
        raise UnsupportedSchema([_problem(compiler, atoms, sayings.duties[0].keyword or "", message)])
    decisive = _decisive_key(compiler, sayings)
    if decisive is not None:
        return alt(*(object_expression(compiler, [*atoms, has_key(decisive, holds)]) for holds in (True, False)))
    required, absent = sayings.required, sayings.absent
    members: list[Member] = []
    for key in sayings.declared:
        ways = Ways(EMPTY) if key in absent else _ways(compiler, sayings, sayings.declared_kind(key))
        if ways.is_empty and key in required:
            compiler.contradictions.note(atoms, "required", f"the required key {key!r} can have no value")
            return EMPTY
        if not ways.is_empty:
            members.append(_member(compiler, key, ways, key in required))
    kinds = _joined_kinds(compiler, sayings)
    n_required = sum(member.required for member in members)
    if hi is not None and hi < max(lo, n_required):
        return EMPTY
    close, is_tracked = lit(b"}"), bool(kinds) and lo > n_required + 1  # else the same undeclared key could count twice
    needs: tuple[Need, ...] = ()
    if is_tracked:
        close = EPSILON
        message = f'"minProperties" is not supported where it is not sure that {lo:,} different keys can be written'
        refusal = _problem(compiler, atoms, "minProperties", message)
        needs = _needed_keys(compiler, members, kinds, lo, refusal)
    if not members and not sayings.duties:
        body = _uniform(compiler, kinds, lo, hi, close)
    else:
        _note_orders(compiler, sayings, kinds)
        body = _mixed(compiler, members, kinds, len(sayings.duties), lo, hi, close)
    if not is_tracked:
        return in_frame(seq(lit(b"{"), body))
    result = tracked("object", body, needs)
    compiler.counted.append((refusal, result))
    return in_frame(result)


def _decisive_key(compiler: SchemaCompiler, sayings: Sayings) -> str | None:
    """A key that fulfils most duties by being there, where the others could fulfil them in too many ways.

    With it these duties are done, and without it there are fewer keys that can do them: each case is small.
    """
    if not sayings.duties:
        return None
    n_sure: dict[str, int] = {}
    n_most = 1
    for key in sayings.declared:
        kind = sayings.declared_kind(key)
        if key in sayings.absent or sayings.base(kind) is None:
            continue
        events = sayings.events(kind)
        n_most = max(n_most, prod(1 + len(event.options) for event in events if not event.is_sure))
        if key not in sayings.required:
            n_sure[key] = sum(event.is_sure for event in events)
    if n_most <= MAX_VARIANTS or not any(n_sure.values()):
        return None
    return max(n_sure, key=lambda key: n_sure[key])


def _needed_keys(
    compiler: SchemaCompiler, members: list[Member], kinds: list[tuple[Expr | None, Ways]], lo: int, refusal: Problem
) -> tuple[Need, ...]:
    """So many undeclared keys as may have to be written, of kinds that have values. Raises UnsupportedSchema."""
    n_required = sum(member.required for member in members)
    for keys, ways in kinds:
        if keys is None or holds_at_least(keys, lo - n_required):
            return (Need(CANONICAL_STRING if keys is None else keys, lo - n_required, ways.free),)
    keys = alt(*(keys for keys, _ in kinds if keys))
    values = seq(*(ways.free for _, ways in kinds))
    if holds_at_least(keys, lo - n_required):
        return (Need(keys, lo - n_required, values),)
    if compiler.is_ordered and holds_at_least(keys, lo - len(members)):  # declared keys may have been left out before
        raise UnsupportedSchema([refusal])
    return (Need(keys, lo - len(members), seq(values, *(member.rest for member in members))),)


def _ways(compiler: SchemaCompiler, sayings: Sayings, kind: Kind) -> Ways:
    """What may stand under keys of one kind."""
    base = sayings.base(kind)
    free = EMPTY if base is None else compiler.value(base)
    if base is None or free is EMPTY:
        return Ways(EMPTY)
    if not sayings.duties:
        return Ways(free)
    always, alike = 0, dict[Hashable, list[tuple[int, list[Atom]]]]()
    for event in sayings.events(kind):
        duty = 1 << sayings.duties.index(event.claim)
        if event.is_sure:
            always |= duty
            continue
        name = frozenset(compiler.same_claims(more) for more in event.options)
        done = alike[name][0][0] if name in alike else 0
        alike[name] = [(done | duty, more) for more in event.options]
    n = prod(1 + len(choice) for choice in alike.values())
    if n > MAX_VARIANTS:
        claim = sayings.duties[0]
        message = f"{n:,} ways in which one key can fulfil claims (at most {MAX_VARIANTS} are built)"
        place = f"{original(claim.pointer)}/{claim.keyword}"
        raise UnsupportedSchema([Problem(place, claim.keyword, message)])
    marked: dict[tuple[Expr, int], None] = {}
    for chosen in product(*([None, *choice] for choice in alike.values())):
        taken = [pair for pair in chosen if pair is not None]
        if taken:
            value = compiler.value([*base, *(atom for _, more in taken for atom in more)])
            if value is not EMPTY:
                marked[value, reduce(or_, (done for done, _ in taken), always)] = None
    return Ways(free, always, tuple(marked))


def _joined_kinds(compiler: SchemaCompiler, sayings: Sayings) -> list[tuple[Expr | None, Ways]]:
    """(language of undeclared keys, what may stand under them); keys of equal values are one kind."""
    found: dict[Ways, list[Expr | None]] = {}
    for kind in sayings.undeclared_kinds():
        ways = _ways(compiler, sayings, kind)
        if not ways.is_empty:
            found.setdefault(ways, []).append(kind.language)
    if any(None in languages for languages in found.values()):
        return [(None, ways) for ways in found]
    return [(alt(*(e for e in languages if e is not None)), ways) for ways, languages in found.items()]


def _member(compiler: SchemaCompiler, key: str, ways: Ways, required: bool) -> Member:
    others = tuple(Variant(compiler.after_key(value), marks) for value, marks in ways.marked)
    if ways.marks:
        others = (Variant(compiler.after_key(ways.free), ways.marks), *others)
    return Member(canonical_text(key), EMPTY if ways.marks else compiler.after_key(ways.free), required, others)


def _uniform(
    compiler: SchemaCompiler, kinds: list[tuple[Expr | None, Ways]], lo: int, hi: int | None, close: Expr
) -> Expr:
    """The insides of objects without declared keys and duties: members as in a list."""
    gap = compiler.style.gap
    comma, colon = seq(lit(b","), gap), seq(gap, lit(b":"), gap)
    if not kinds:
        return seq(gap, close) if lo == 0 else EMPTY
    parts = [seq(ANY_STRING if keys is None else in_frame(keys), colon, ways.free, gap) for keys, ways in kinds]
    member = alt(*parts)
    more = None if hi is None else hi - 1
    some = EMPTY if hi == 0 else seq(member, repeat(seq(comma, member), max(lo - 1, 0), more))
    return seq(gap, alt(close if lo == 0 else EMPTY, seq(some, close)))


def _mixed(
    compiler: SchemaCompiler,
    members: list[Member],
    kinds: list[tuple[Expr | None, Ways]],
    n_duties: int,
    lo: int,
    hi: int | None,
    close: Expr,
) -> Expr:
    gap = compiler.style.gap
    comma, colon = seq(lit(b","), gap), seq(gap, lit(b":"), gap)
    is_simple = len(kinds) <= 1 and not n_duties
    extra = kinds[0] if kinds and is_simple else None
    spec = MemberSpec(
        tuple(members),
        comma,
        close,
        extra_key=extra[0] if extra else None,
        extra_rest=seq(colon, extra[1].free, gap) if extra else None,
        lo=lo,
        hi=hi,
        ordered=compiler.is_ordered,
        classes=() if is_simple else tuple(_classes(compiler, kinds)),
        n_duties=n_duties,
    )
    if not members and not kinds:
        return seq(gap, close) if may_be_empty(spec) else EMPTY
    return seq(gap, alt(close if may_be_empty(spec) else EMPTY, start_members(spec)))


def _note_orders(compiler: SchemaCompiler, sayings: Sayings, kinds: list[tuple[Expr | None, Ways]]) -> None:
    """Say which duties an undeclared key can fulfil that a later one could undo, by repeating the key.

    Then not every order of keys is offered; where several duties need different keys of one kind, no order is.
    """
    for _, ways in kinds:
        undone = ways.all_marks & ~ways.marks
        claims = [claim for duty, claim in enumerate(sayings.duties) if undone >> duty & 1]
        for claim in claims:
            how = "written last" if len(claims) == 1 else f"one key that makes all {len(claims)} such claims fail, last"
            message = f'undeclared keys whose values make "{claim.keyword}" fail are {how}'
            place = f"{original(claim.pointer)}/{claim.keyword}"
            compiler.narrowed[Problem(place, claim.keyword, message, "note")] = len(claims) > 1


def _classes(compiler: SchemaCompiler, kinds: list[tuple[Expr | None, Ways]]) -> list[KeyClass]:
    """Undeclared keys with what they may hold. Kinds share no keys, so a duty fulfilled by one kind's key can only be
    undone by the same kind."""
    gap = compiler.style.gap
    colon = seq(gap, lit(b":"), gap)
    found = []
    for language, ways in kinds:
        assert language is not None
        values = ((ways.free, ways.marks), *ways.marked)
        found += [KeyClass(language, seq(colon, value, gap), marks, ways.all_marks) for value, marks in values]
    return found


def count_bounds(compiler: SchemaCompiler, atoms: list[Atom]) -> tuple[int, int | None]:
    """How many keys there may be, by `minProperties` and `maxProperties`."""
    los, his = [0], []
    for pointer in positives(atoms):
        keywords = compiler.keywords(pointer)
        los.append(as_whole(keywords.get("minProperties", 0)) or 0)
        his += [as_whole(keywords["maxProperties"]) or 0] if "maxProperties" in keywords else []
    for claim in claims_of(atoms):
        if claim.keyword == "minProperties":
            his.append((as_whole(compiler.keywords(claim.pointer)["minProperties"]) or 0) - 1)
        elif claim.keyword == "maxProperties":
            los.append((as_whole(compiler.keywords(claim.pointer)["maxProperties"]) or 0) + 1)
    return max(los), min(his, default=None)


def _problem(
    compiler: SchemaCompiler, atoms: list[Atom], keyword: str, message: str, hint: str | None = None
) -> Problem:
    """A problem at the first sub-schema that has the keyword."""
    places = [atom if isinstance(atom, str) else atom.pointer for atom in atoms]
    place = next((pointer for pointer in places if keyword in compiler.keywords(pointer)), places[0])
    return Problem(f"{place}/{keyword}", keyword, message, hint=hint)


__all__ = ["HAS", "object_expression"]
