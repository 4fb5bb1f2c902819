"""What a set of claims says about the keys of one object, and about the value under each.

Keys that some claim names are *declared*; the others fall into kinds by the patterns they match and the
`propertyNames` they fail, each a regular language (canonical spelling, with quotes) that shares no key with the
others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenizer_align.derivatives import holds_text, is_live
from tokenizer_align.errors import Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, Expr, both, both_unchecked, minus, neg, words

from .json_strings import CANONICAL_STRING, canonical_text, quoted
from .schema_claims import HAS, Atom, Claim, claims_of, fails, pointer_of, positives
from .schema_kinds import combinations
from .schema_limits import check_time
from .schema_source import escape_token
from .schema_strings import pattern_body

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

MAX_KINDS = 64  # kinds of undeclared keys in one object
MAX_VARIANTS = 128  # sets of claims that the value of one key may fulfil
_ABOUT_VALUES = ("properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties")


@dataclass(frozen=True, slots=True)
class Kind:
    """A declared key (`name`) or a class of others: the patterns they match, the failing `propertyNames` they break."""

    name: str | None
    matched: frozenset[str]
    broken: frozenset[str]  # pointers
    language: Expr | None  # of a class; None: every key, in every spelling


@dataclass(frozen=True, slots=True)
class Event:
    """A duty that a key of some kind may fulfil. `options`: what its value must satisfy for that, one of these;
    `is_sure`: every value that may stand there does."""

    claim: Claim
    options: list[list[Atom]]
    is_sure: bool


@dataclass(frozen=True, slots=True)
class KeyClaims:
    """`base`: what every value under keys of one kind must satisfy, None where there may be no such key."""

    base: list[Atom] | None
    events: list[Event]


@dataclass(slots=True)
class Sayings:
    """Claims about one object, asked by key."""

    compiler: SchemaCompiler
    atoms: list[Atom]
    declared: list[str] = field(default_factory=list)
    required: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    duties: list[Claim] = field(default_factory=list)
    patterns: dict[str, Expr] = field(default_factory=dict)
    names: Expr | None = None  # what all `propertyNames` that hold leave, None: every key
    broken: dict[str, Expr] = field(default_factory=dict)  # `propertyNames` that must fail -> keys that satisfy it
    seeing: list[Claim] = field(default_factory=list)  # `unevaluatedProperties` that hold
    has_properties: bool = False
    forced: dict[str, list[Atom]] = field(default_factory=dict)  # key -> what its value must satisfy besides
    kinds: list[Kind] | None = None
    known: dict[Kind | str, KeyClaims] = field(default_factory=dict)  # by name or class
    # (sub-schema that holds, its `properties`, its `patternProperties`, whether it has `additionalProperties`)
    views: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        keywords = self.compiler.keywords
        holding, failing = positives(self.atoms), claims_of(self.atoms)
        for pointer in holding:
            here = keywords(pointer)
            named, patterned = here.get("properties", {}), here.get("patternProperties", {})
            self.views.append((pointer, named, patterned, "additionalProperties" in here))
        for claim in failing:
            if claim.keyword == "properties" and isinstance(
                claim.detail, str
            ):  # such a key is absent, or its value fails
                place = f"{claim.pointer}/properties/{escape_token(claim.detail)}"
                self.forced.setdefault(claim.detail, []).append(fails(place))
        self.duties = [
            c for c in failing if not c.holds and c.keyword in _ABOUT_VALUES and not isinstance(c.detail, str)
        ]
        self.seeing = [claim for claim in failing if claim.holds and claim.keyword != HAS]
        places = dict.fromkeys([*holding, *(claim.pointer for claim in failing if claim.keyword != HAS)])
        for claim in failing:
            if isinstance(claim.detail, frozenset):
                places.update(dict.fromkeys(sorted(claim.detail, key=self.compiler.document.order.__getitem__)))
        declared: dict[str, None] = {}
        patterns: dict[str, None] = {}
        for pointer in places:
            declared.update(dict.fromkeys(keywords(pointer).get("properties", ())))
            patterns.update(dict.fromkeys(keywords(pointer).get("patternProperties", ())))
        self.required = {key for pointer in holding for key in keywords(pointer).get("required", ())}
        for pointer in holding:
            declared.update(dict.fromkeys(keywords(pointer).get("required", ())))
        self.has_properties = any(
            keywords(pointer).get(name) for pointer in holding for name in ("properties", "required")
        )
        for claim in failing:
            if claim.keyword == HAS:
                declared[str(claim.detail)] = None
                (self.required if claim.holds else self.absent).add(str(claim.detail))
        self.declared = list(declared)
        self.patterns = {pattern: quoted(pattern_body(pattern)) for pattern in patterns}
        naming = [f"{pointer}/propertyNames" for pointer in holding if "propertyNames" in keywords(pointer)]
        self.names = self.compiler.key_names(naming) if naming else None
        self.broken = {
            claim.pointer: self.compiler.key_names([f"{claim.pointer}/propertyNames"])
            for claim in self.duties
            if claim.keyword == "propertyNames"
        }

    def settle_duties(self) -> bool:
        """Make duties that only one declared key can fulfil plain requirements. False: some cannot be fulfilled."""
        if not self.duties:
            return True
        kinds = [self.declared_kind(key) for key in self.declared if key not in self.absent] + self.undeclared_kinds()
        ways: dict[Claim, list[tuple[Kind, bool, list[Atom]]]] = {claim: [] for claim in self.duties}
        done: set[Claim] = set()  # by a required key, whatever its value
        for kind in kinds:
            base, events = self.base(kind), self.events(kind)
            if base is None:
                continue
            for event in events:
                if event.claim in done:
                    continue
                if event.is_sure and kind.name in self.required:
                    done.add(event.claim)
                    continue
                for more in event.options:
                    is_sure = event.is_sure and self.is_sure(base, more)
                    if self.compiler.value(base if is_sure else [*base, *more]) is not EMPTY:
                        ways[event.claim].append((kind, is_sure, more))
        left = []
        for claim, found in ways.items():
            if claim in done:
                continue
            if not found:
                return False
            (kind, is_sure, more), *others = found
            if others or kind.name is None:
                left.append(claim)
            else:
                self.required.add(kind.name)
                if not is_sure:
                    self.forced.setdefault(kind.name, []).extend(more)
                    self.known.pop(kind.name, None)
        self.duties = left
        return True

    # Kinds of keys

    def declared_kind(self, key: str) -> Kind:
        if not self.patterns and not self.broken:
            return Kind(key, frozenset(), frozenset(), None)
        text = canonical_text(key)
        matched = frozenset(pattern for pattern, language in self.patterns.items() if holds_text(language, text))
        broken = frozenset(place for place, language in self.broken.items() if not holds_text(language, text))
        return Kind(key, matched, broken, None)

    def undeclared_kinds(self) -> list[Kind]:
        """The kinds of keys that no claim names, none of them empty. Raises UnsupportedSchema for too many."""
        if self.kinds is None:
            self.kinds = self._find_kinds()
        return self.kinds

    def _find_kinds(self) -> list[Kind]:
        if not self.declared and not self.patterns and self.names is None and not self.duties:
            return [Kind(None, frozenset(), frozenset(), None)]
        key = (frozenset(self.declared), tuple(self.patterns), self.names, tuple(self.broken.items()))
        found = self.compiler.kinds_of_keys.get(key)
        if found is None:
            found = self.compiler.kinds_of_keys[key] = self._split_keys()
        return found

    def _split_keys(self) -> list[Kind]:
        keys = CANONICAL_STRING if self.names is None else both(self.names, CANONICAL_STRING)
        rest = keys
        if self.declared:
            listed = words(canonical_text(key) for key in self.declared)
            if self.names is None:  # of infinitely many keys some are left: no search for one in every object
                rest = both_unchecked(rest, neg(listed))
                rest.memo_live = True
            else:
                rest = minus(rest, listed)
        if rest is EMPTY:
            return []
        languages = [*self.patterns.values(), *map(neg, self.broken.values())]
        if not languages:
            return [Kind(None, frozenset(), frozenset(), rest)]
        found = combinations(keys, languages, MAX_KINDS + len(self.declared))
        if found is None:
            return self._split_one_by_one(rest)
        n, kinds = len(languages), []
        for matched in sorted(found, key=lambda matched: [index not in matched for index in range(n)]):
            parts = [language if i in matched else neg(language) for i, language in enumerate(languages)]
            language = both_unchecked(rest, *parts)
            if found[matched] or not self.declared:
                language.memo_live = True
            elif not is_live(language):
                continue
            kinds.append(self._kind(matched, language))
        self._refuse_many(kinds)
        return kinds

    def _kind(self, matched: frozenset[int], language: Expr) -> Kind:
        names = [*self.patterns, *self.broken]
        n = len(self.patterns)
        patterns = frozenset(names[index] for index in matched if index < n)
        return Kind(None, patterns, frozenset(names[index] for index in matched if index >= n), language)

    def _split_one_by_one(self, rest: Expr) -> list[Kind]:
        """The kinds by one pattern after another, each part found by a search."""
        found = [Kind(None, frozenset(), frozenset(), rest)]
        for pattern, language in self.patterns.items():
            found = [part for kind in found for part in self._split(kind, pattern, language, is_pattern=True)]
            self._refuse_many(found)
        for place, language in self.broken.items():
            found = [part for kind in found for part in self._split(kind, place, neg(language), is_pattern=False)]
            self._refuse_many(found)
        return found

    def _refuse_many(self, kinds: list[Kind]) -> None:
        if len(kinds) > MAX_KINDS:
            message = f"more than {MAX_KINDS} kinds of keys by the patterns they match"
            place = pointer_of(self.atoms[0])
            raise UnsupportedSchema([Problem(f"{place}/patternProperties", "patternProperties", message)])

    def _split(self, kind: Kind, name: str, language: Expr, is_pattern: bool) -> list[Kind]:
        """The part of a kind inside a language, and the part outside it."""
        assert kind.language is not None
        check_time()  # patterns that overlap without an end make every search long
        inside, outside = both(kind.language, language), both(kind.language, neg(language))
        matched = kind.matched | {name} if is_pattern else kind.matched
        broken = kind.broken if is_pattern else kind.broken | {name}
        found = [Kind(None, matched, broken, inside)] if inside is not EMPTY else []
        return found + ([Kind(None, kind.matched, kind.broken, outside)] if outside is not EMPTY else [])

    # What is said about the value under a key

    def base(self, kind: Kind) -> list[Atom] | None:
        """What every value under such a key must satisfy; None where such a key may not be."""
        return self._claims(kind).base

    def events(self, kind: Kind) -> list[Event]:
        """The duties that such a key may fulfil, once duties are settled those that are left."""
        events = self._claims(kind).events
        return [event for event in events if event.claim in self.duties] if events else events

    def _claims(self, kind: Kind) -> KeyClaims:
        name = kind if kind.name is None else kind.name
        found = self.known.get(name)
        if found is None:
            base = self._base(kind)
            events = self._events(kind, base) if base is not None and self.duties else []
            found = self.known[name] = KeyClaims(base, events)
        return found

    def _base(self, kind: Kind) -> list[Atom] | None:
        compiler = self.compiler
        if kind.name is not None and self.names is not None and not holds_text(self.names, canonical_text(kind.name)):
            return None
        found: list[Atom] = []
        is_said = False
        for pointer, named, patterned, has_others in self.views:
            is_named = kind.name is not None and kind.name in named
            here = [f"{pointer}/properties/{escape_token(kind.name or '')}"] if is_named else []
            here += self._patterned(pointer, kind) if patterned else []
            if not here and has_others:
                here = [f"{pointer}/additionalProperties"]
            is_said = is_said or bool(here)
            found += here
        for claim in self.seeing:
            if not self._is_evaluated(claim, kind):
                is_said = True
                found.append(f"{claim.pointer}/unevaluatedProperties")
        found += self.forced.get(kind.name, ()) if kind.name is not None else ()
        if kind.name is None and self.has_properties and compiler.additional_properties is False and not is_said:
            return None
        return found

    def _events(self, kind: Kind, base: list[Atom]) -> list[Event]:
        found: list[Event] = []
        for claim in self.duties:
            pointer = claim.pointer
            options: list[list[Atom]] = []
            if claim.keyword == "properties":  # of required keys other claims say that they fail
                if kind.name not in self.compiler.keywords(pointer).get("required", ()):
                    options = [[fails(place)] for place in self._named(pointer, kind)]
            elif claim.keyword == "patternProperties":
                options = [[fails(place)] for place in self._patterned(pointer, kind)]
            elif claim.keyword == "additionalProperties":
                if not self._named(pointer, kind) and not self._patterned(pointer, kind):
                    options = [[fails(f"{pointer}/additionalProperties")]]
            elif claim.keyword == "propertyNames":
                options = [[]] if pointer in kind.broken else []
            elif not self._is_evaluated(claim, kind):
                options = [[fails(f"{pointer}/unevaluatedProperties")]]
            if options:
                found.append(Event(claim, options, any(self.is_sure(base, more) for more in options)))
        return found

    def is_sure(self, base: list[Atom], more: list[Atom]) -> bool:
        """Whether every value that satisfies `base` surely satisfies `more` too, since they exclude its opposite."""
        from .schema_overlap import are_disjoint

        known = positives(base)
        return not more or all(
            isinstance(atom, Claim) and bool(known) and are_disjoint(self.compiler, known, [atom.pointer], levels=2)
            for atom in more
        )

    def _named(self, pointer: str, kind: Kind) -> list[str]:
        if kind.name is None or kind.name not in self.compiler.keywords(pointer).get("properties", ()):
            return []
        return [f"{pointer}/properties/{escape_token(kind.name)}"]

    def _patterned(self, pointer: str, kind: Kind) -> list[str]:
        own = self.compiler.keywords(pointer).get("patternProperties", ())
        return [f"{pointer}/patternProperties/{escape_token(name)}" for name in own if name in kind.matched]

    def _is_evaluated(self, claim: Claim, kind: Kind) -> bool:
        """Whether a sub-schema that `unevaluatedProperties` sees has evaluated such keys."""
        assert isinstance(claim.detail, frozenset)
        for pointer in {*claim.detail, claim.pointer}:
            keywords = self.compiler.keywords(pointer)
            if "additionalProperties" in keywords or ("unevaluatedProperties" in keywords and pointer != claim.pointer):
                return True
            if self._named(pointer, kind) or self._patterned(pointer, kind):
                return True
        return False
