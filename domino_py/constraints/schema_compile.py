"""From schemas to expressions: a schema is a Boolean formula over assertions, split by JSON type.

A *node* is a set of sub-schemas that must all hold or fail. For each JSON type it has *alternatives* (`schema_logic`),
each a *conjunct*: keywords that hold or fail together (`schema_claims`). A conjunct's keywords are merged per type:
strings and numbers become regular expressions, objects and arrays ask for further nodes by key and index. Nodes and
conjuncts are memoized, and a node is a rule whose body is made when it is first needed: recursion ends, siblings of
`$ref` and `allOf` of objects come out right, and only what is visited is ever built.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from tokenizer_align.errors import ConstraintError, Problem, TooComplex, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, Expr, Rule, alt, call, lit, seq, words

from . import json as grammar
from .json_layout import JsonStyle
from .json_strings import canonical_text, quoted
from .schema_claims import ANYTHING, NOTHING, Alternatives, Atom, Claim, Conjunct, fails, is_contradiction, pointer_of
from .schema_claims import positives as positive_atoms
from .schema_contradictions import Contradictions
from .schema_document import Document
from .schema_dynamic import original
from .schema_keys import Kind
from .schema_keywords import JSON_TYPES
from .schema_leaves import LEAVES, language_of, leaf_key, said_by_leaf
from .schema_limits import IGNORE_HINT, is_over
from .schema_listed import ListedValues
from .schema_logic import SchemaLogic
from .schema_numbers import NumberSet, number_set
from .schema_risk import is_risky, parts_of
from .schema_strings import StringSet, string_set
from .schema_sure import SureValues
from .schema_terms import listed_values
from .schema_values import any_of_values, json_type, value_key

MAX_FORCED = 5_000  # nodes built ahead where a schema could turn out to be unsupported only there


class SchemaCompiler(SchemaLogic):
    """Builds the expressions of one document; `dropped` holds (pointer, keyword) pairs that are left out on request."""

    def __init__(
        self,
        document: Document,
        style: JsonStyle,
        *,
        is_ordered: bool = False,
        additional_properties: bool | None = None,
        merges_repeats: bool = False,
        dropped: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        super().__init__(document, dropped)
        self.style = style
        self.is_ordered, self.additional_properties = is_ordered, additional_properties
        self.merges_repeats = (
            merges_repeats  # where different items cannot be enforced, repeats will do (Python's sets)
        )
        self.contradictions = Contradictions(self)
        self.narrowed: dict[Problem, bool] = {}  # objects of which not every text is offered, whether maybe none
        self.counted: list[tuple[Problem, Expr]] = []  # tracked nodes that need so many values, and what to say if not
        self._nodes: dict[Conjunct, Expr] = {}
        self._rules: list[tuple[Rule, Conjunct]] = []
        self._conjuncts: dict[tuple[str, Conjunct], Expr] = {}
        self._after_key: dict[Expr, Expr] = {}
        self._risky: dict[str, bool] = {}
        self.sure = SureValues(self)
        self._language = language_of(document.draft, style)
        self._looked_at: set[str] = set()  # when building ahead
        self.listed_values = ListedValues(self)
        self.kinds_of_keys: dict[Hashable, list[Kind]] = {}

    # Nodes

    def value(self, wanted: Iterable[Atom]) -> Expr:
        """The JSON values that satisfy all these sub-schemas; `fails(pointer)` asks for values that do not."""
        key = frozenset(wanted)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._node(key)
        return found

    def _node(self, key: Conjunct) -> Expr:
        atom = next(iter(key), None)
        if len(key) == 1 and isinstance(atom, str):
            return self._single(atom, key)
        known = [(atom, self.document.at[pointer_of(atom)]) for atom in key]
        if is_contradiction(key) or any(schema is isinstance(atom, Claim) for atom, schema in known):
            return EMPTY
        if all(schema is isinstance(atom, str) for atom, schema in known):
            return grammar.any_value(self.style)
        return call(self._rule(key))

    def _rule(self, key: Conjunct) -> Rule:
        rule = Rule(" & ".join(_shown(atom) for atom in self.in_order(key)))
        rule.define(lambda: self._body(key))
        self._rules.append((rule, key))
        return rule

    def _single(self, pointer: str, key: Conjunct) -> Expr:
        """The values of one sub-schema; leaves are shared with other schemas that say the same."""
        schema = self.document.at[pointer]
        if isinstance(schema, bool):
            return grammar.any_value(self.style) if schema else EMPTY
        leaf = leaf_key(self.keywords(pointer), self._language)
        if leaf is not None:
            shared = LEAVES.find(leaf)
            if shared is not None:
                return shared
            if self.sure.has_of_every_type(pointer):
                return LEAVES.keep(leaf, self._leaf(pointer))
        node = call(self._rule(key))
        if self.sure.has(pointer):
            node.memo_productive = True
        return node

    def _leaf(self, pointer: str) -> Expr:
        """The values of a leaf about which there is nothing to report, built when they are needed and apart from this
        document."""
        said, draft, style = said_by_leaf(self.keywords(pointer)), self.document.draft, self.style
        rule = Rule("leaf").define(lambda: SchemaCompiler(Document(said, draft), style)._body(frozenset([""])))
        node = call(rule)
        node.memo_productive = True
        return node

    def _body(self, key: Conjunct) -> Expr:
        by_type = {kind: self.conjuncts(key, kind) for kind in JSON_TYPES}
        if all(found == ANYTHING for found in by_type.values()):
            return grammar.any_value(self.style)
        body = alt(*(self.conjunct(kind, c) for kind, found in by_type.items() for c in found))
        if body is EMPTY and not any(by_type.values()):
            self.contradictions.note(key, None, None)
        return body

    def conjuncts(self, key: Iterable[Atom], kind: str) -> Alternatives:
        """The alternatives of a node for one JSON type."""
        result = ANYTHING
        for atom in self.in_order(key):
            pointer = pointer_of(atom)
            more = self.alternatives(pointer, kind, isinstance(atom, str))
            result = self.product((pointer, None), kind, result, more)
            if result == NOTHING:
                break
        return result

    def conjunct(self, kind: str, conjunct: Conjunct) -> Expr:
        """The values of one type that satisfy all these claims."""
        key = (kind, conjunct)
        found = self._conjuncts.get(key)
        if found is None:
            found = self._conjuncts[key] = self._build_conjunct(kind, conjunct)
        return found

    def after_key(self, value: Expr) -> Expr:
        """What follows a key: colon, value, blanks."""
        found = self._after_key.get(value)
        if found is None:
            gap = self.style.gap
            found = self._after_key[value] = seq(gap, lit(b":"), gap, value, gap)
        return found

    def _build_conjunct(self, kind: str, conjunct: Conjunct) -> Expr:
        atoms = self.in_order(conjunct)
        n_known = self.contradictions.n_noted
        if self.listing(atoms):
            result = any_of_values(self.listed(kind, atoms), self.style)
        else:
            result = self.unlisted(kind, atoms)
        if result is EMPTY and self.contradictions.n_noted == n_known:
            self.contradictions.note(conjunct, None, None, kind)
        return result

    def unlisted(self, kind: str, atoms: list[Atom]) -> Expr:
        """As `conjunct`, without regard to the values that `enum` and `const` name."""
        from .schema_arrays import array_expression
        from .schema_objects import object_expression

        if kind in ("null", "boolean"):
            values = [None] if kind == "null" else [True, False]
            return any_of_values(self._not_excluded(values, atoms), self.style)
        if kind == "number":
            return self._number(atoms)
        if kind == "string":
            return self.strings(atoms).expression()
        build = array_expression if kind == "array" else object_expression
        return build(self, [atom for atom in atoms if isinstance(atom, Claim) or self._says(atom, kind)])

    def _says(self, pointer: str, kind: str) -> bool:
        return not self.own[kind].isdisjoint(self.keywords(pointer))

    def numbers(self, atoms: Iterable[Atom]) -> NumberSet:
        holding, failing = self._split(atoms)
        return number_set(holding, self.document.draft, failing)

    def _number(self, atoms: Iterable[Atom]) -> Expr:
        """Raises UnsupportedSchema where divisors and bounds together are too much: the places of the divisors."""
        try:
            return self.numbers(atoms).expression(self.style)
        except TooComplex as error:
            named = [atom for atom in atoms if "multipleOf" in self.keywords(pointer_of(atom))]
            places = dict.fromkeys(original(pointer_of(atom)) for atom in self.in_order(named))
            problems = [Problem(f"{at}/multipleOf", "multipleOf", str(error), hint=IGNORE_HINT) for at in places]
            if not problems:
                raise
            raise UnsupportedSchema(problems) from None

    def strings(self, atoms: Iterable[Atom]) -> StringSet:
        holding, failing = self._split(atoms)
        return string_set(holding, self.style.digits.fraction, failing)

    def _split(self, atoms: Iterable[Atom]) -> tuple[list[dict[str, Any]], list[tuple[str, dict[str, Any]]]]:
        """(keywords that hold, keywords that fail with their neighbours)."""
        holding, failing = [], []
        for atom in atoms:
            if isinstance(atom, str):
                holding.append(self.keywords(atom))
            elif atom.keyword is not None:
                keywords = self.keywords(atom.pointer)
                if atom.keyword == "enum":
                    keywords = {"enum": listed_values(keywords)}
                failing.append((atom.keyword, keywords))
        return holding, failing

    def key_names(self, wanted: Iterable[Atom]) -> Expr:
        """The strings (canonical, with quotes) that satisfy all these sub-schemas, without calls."""
        parts = []
        for conjunct in self.conjuncts(wanted, "string"):
            atoms = self.in_order(conjunct)
            if self.listing(atoms):
                parts.append(words(canonical_text(value) for value in self.listed("string", atoms)))
            else:
                parts.append(quoted(self.strings(atoms).body()))
        return alt(*parts)

    # Listed values

    def listing(self, atoms: Iterable[Atom]) -> list[str]:
        """The sub-schemas among these that list their values."""
        return [p for p in positive_atoms(atoms) if not self.keywords(p).keys().isdisjoint(("enum", "const"))]

    def listed(self, kind: str, atoms: list[Atom]) -> list[Any]:
        """The values of this type that all `enum` and `const` name and that the other keywords admit."""
        common: dict[Any, Any] | None = None
        for pointer in self.listing(atoms):
            here = {value_key(v): v for v in listed_values(self.keywords(pointer)) if json_type(v) == kind}
            common = here if common is None else {key: value for key, value in common.items() if key in here}
        return [value for value in (common or {}).values() if self.listed_values.holds(kind, atoms, value)]

    def unlisting(self, kind: str, atoms: list[Atom]) -> list[Atom]:
        """What these claim about a type besides the values that they list or exclude."""
        return [a for a in atoms if (a.keyword != "enum" if isinstance(a, Claim) else self._says(a, kind))]

    def _not_excluded(self, values: Iterable[Any], atoms: Iterable[Atom]) -> list[Any]:
        """Those values that no failing `enum` or `const` names."""
        excluded = {
            value_key(value)
            for atom in atoms
            if isinstance(atom, Claim) and atom.keyword == "enum"
            for value in listed_values(self.keywords(atom.pointer))
        }
        return [value for value in values if value_key(value) not in excluded]

    # Order, reports, and building ahead

    def in_order(self, atoms: Iterable[Atom]) -> list[Atom]:
        """In the order of the document, for what is built and what is reported."""
        atoms = list(atoms)
        if len(atoms) < 2:
            return atoms
        order = self.document.order

        def place(atom: Atom) -> tuple[int, str]:
            return order[pointer_of(atom)], "" if isinstance(atom, str) else repr(atom[1:])

        return sorted(atoms, key=place)

    def settle(self) -> None:
        """Forget what served to decide whether the schema can be built; texts will build what they reach."""
        self.forget()
        self.contradictions.close()
        self._rules.clear()
        self._looked_at.clear()

    def is_risky(self, pointer: str) -> bool:
        """Whether a sub-schema must be built to know that it can be."""
        found = self._risky.get(pointer)
        if found is None:
            schema = self.document.at[pointer]
            found = not isinstance(schema, bool) and is_risky(self, pointer, self.keywords(pointer))
            self._risky[pointer] = found
        return found

    def _look_below(self, key: Conjunct) -> bool:
        """Make the next nodes below a single sub-schema that must be built, as it cannot be refused by itself. False:
        it must be built."""
        atom = next(iter(key))
        if len(key) > 1 or isinstance(atom, Claim) or self.is_risky(atom):
            return False
        work = [atom]
        for pointer in work:
            for child in parts_of(self.document, pointer, self.keywords(pointer)):
                if child not in self._looked_at:
                    self._looked_at.add(child)
                    if self.is_risky(child):
                        self.value([child])
                    else:
                        work.append(child)
        return True

    def build_ahead(self, *, everything: bool = False) -> None:
        """Build every node that can be reached and may be refused, or `everything`; raises UnsupportedSchema."""
        self.value([""])
        problems: list[Problem] = []
        n_built = 0
        for rule, key in self._rules:  # grows
            if n_built > MAX_FORCED:
                message = f"more than {MAX_FORCED:,} different places once its parts are combined"
                raise TooComplex(f"the schema has {message}")
            if not everything and self._look_below(key):
                continue
            n_built += 1
            try:
                _ = rule.body
            except UnsupportedSchema as error:
                problems += [replace(problem, pointer=original(problem.pointer)) for problem in error.problems]
            except ConstraintError as error:
                place = rule.name.split(" & ")[0].removeprefix("not ")
                problems.append(Problem("" if place == "#" else original(place), None, str(error)))
            if problems and is_over():
                break  # what is left would only say the same
        if problems:
            raise UnsupportedSchema(list(dict.fromkeys(problems)))


def _shown(atom: Atom) -> str:
    return f"{'' if isinstance(atom, str) else 'not '}{pointer_of(atom) or '#'}"


__all__ = ["SchemaCompiler", "fails", "listed_values"]
