"""What is left out on request, so that the language only ever gets wider.

A keyword that cannot be enforced is dropped. Where its sub-schema can be asked to *fail* (below `not`, `if`, `oneOf`,
`contains`), dropping it would make that stricter, so those go as well (`oneOf` becomes `anyOf`); so does `unevaluated…`
above it, which would see less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tokenizer_align.errors import Problem

from .schema_claims import UNEVALUATED
from .schema_compile import SchemaCompiler
from .schema_document import Document
from .schema_dynamic import original
from .schema_keywords import known_keyword

_HEAVY = (
    *("not", "if", "oneOf", "anyOf", "contains", "uniqueItems", "unevaluatedItems", "unevaluatedProperties"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties", "pattern", "format", "multipleOf"),
)
_ASKED_TO_FAIL = frozenset(("not", "if", "oneOf", "contains"))


def dropped_keywords(document: Document, problems: Sequence[Problem]) -> frozenset[tuple[str, str]]:
    """(pointer, keyword) of what is left out; a dropped `oneOf` is built as `anyOf`.

    Without `properties` or `patternProperties`, the `additionalProperties` beside them would forbid more than before.
    """
    found = set()
    for problem in problems:
        pointer, name = problem.pointer.removesuffix(f"/{problem.keyword}"), problem.keyword or ""
        found.add((pointer, name))
        if name in ("properties", "patternProperties"):
            found.add((pointer, "additionalProperties"))
    above = _stricter_without(document, {pointer for pointer, _ in found})
    return frozenset(found | {(original(pointer), name) for pointer, name in above})


def with_keywords(compiler: SchemaCompiler, problems: Sequence[Problem]) -> list[Problem] | None:
    """The problems, each at a keyword that can be left out; None where one has none.

    What names no keyword is blamed on all those of its place that make combinations.
    """
    found = []
    for problem in problems:
        if problem.keyword:
            found.append(problem)
            continue
        at = compiler.document.at.get(problem.pointer)
        names = [name for name in _HEAVY if isinstance(at, dict) and name in compiler.keywords(problem.pointer)]
        if not names:
            return None
        found += [replace(problem, pointer=f"{problem.pointer}/{name}", keyword=name) for name in names]
    return found


def _stricter_without(document: Document, pointers: Iterable[str]) -> set[tuple[str, str]]:
    """The keywords above these sub-schemas that could get stricter when something below them is dropped."""
    above: dict[str, list[tuple[str, str]]] = {}
    for pointer, schema in list(document.at.items()):
        if isinstance(schema, dict):
            for name, value in document.keywords(pointer).items():
                if known_keyword(name, document.draft) is None:
                    continue
                below = document.children(pointer, name)
                if name in ("$ref", "$dynamicRef", "$recursiveRef"):
                    below = document.targets(pointer, {name: value})
                for child in below:
                    above.setdefault(child, []).append((pointer, name))
    found: set[tuple[str, str]] = set()
    work = list(pointers)
    seen = set(work)
    for pointer in work:
        here = document.at.get(pointer)
        if isinstance(here, dict):
            found |= {(pointer, name) for name in UNEVALUATED if name in here}
        for parent, name in above.get(pointer, ()):
            if name in _ASKED_TO_FAIL:
                found.add((parent, name))
            if parent not in seen:
                seen.add(parent)
                work.append(parent)
    return found
