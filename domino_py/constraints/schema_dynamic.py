"""`$dynamicRef` and `$recursiveRef`: what they point at depends on the resources passed on the way there.

The *scope* of a place is which resource, first on the way from the root, gave each dynamic name (core 2020-12,
sections 7.1 and 8.2.3.2). A sub-schema reached in another scope than the root's is a copy, with a pointer that
begins `~1!`, `~2!`, …; so every pointer has one scope, and references from it one target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from tokenizer_align.errors import Problem, UnsupportedSchema

if TYPE_CHECKING:
    from .schema_document import Document

Scope = tuple[tuple[str, str], ...]  # (name, URI of the resource that gives it), sorted
MAX_SCOPES = 50
CASE = "/~case"  # in the place of a sub-schema that the text does not have; no JSON Pointer leads there
RECURSIVE = ""  # the name that `$recursiveAnchor: true` gives


def original(pointer: str) -> str:
    """The place in the text of a sub-schema.

    >>> original("~2!/properties/a"), original("/properties/a")
    ('/properties/a', '/properties/a')
    """
    pointer = pointer.partition(CASE)[0]
    return pointer.partition("!")[2] if pointer.startswith("~") else pointer


class DynamicScopes:
    """The scopes of one document with dynamic names: `names[uri][name]` is a pointer in the resource with that URI."""

    def __init__(self, document: Document, names: dict[str, dict[str, str]]) -> None:
        self.document, self.names = document, names
        self._scopes: list[Scope] = [self._within((), document.base_of(""))]
        self._targets: dict[tuple[str, str, str], str | None] = {}

    def target(self, pointer: str, keyword: str, reference: str) -> str | None:
        """What a reference points at, as a copy for the scope there; None where it points at nothing."""
        key = (pointer, keyword, reference)
        if key not in self._targets:
            self._targets[key] = self._find(*key)
        return self._targets[key]

    def _find(self, pointer: str, keyword: str, reference: str) -> str | None:
        document = self.document
        first = document.resolve(pointer, reference)
        if first is None:
            return None
        scope = self._scope_at(pointer)
        if keyword != "$ref":
            name = RECURSIVE if keyword == "$recursiveRef" else urldefrag(reference)[1]
            own = self.names.get(document.base_of(first), {})
            if own.get(name) == first:
                first = self.names[dict(scope).get(name, document.base_of(first))][name]
        return self._copy(first, self._within(scope, document.base_of(first)))

    def _scope_at(self, pointer: str) -> Scope:
        number = int(pointer[1 : pointer.index("!")]) if pointer.startswith("~") else 0
        return self._within(self._scopes[number], self.document.base_of(pointer))

    def _within(self, scope: Scope, uri: str) -> Scope:
        """The scope inside a resource: its names are added where they have not been given before."""
        known = dict(scope)
        return tuple(sorted({**dict.fromkeys(self.names.get(uri, ()), uri), **known}.items()))

    def _copy(self, pointer: str, scope: Scope) -> str:
        """The copy of a sub-schema for a scope; the sub-schema itself in the root's."""
        if scope not in self._scopes:
            if len(self._scopes) >= MAX_SCOPES:
                message = f"dynamic references with more than {MAX_SCOPES} different scopes"
                raise UnsupportedSchema([Problem(pointer, "$dynamicRef", message)])
            self._scopes.append(scope)
        number = self._scopes.index(scope)
        if number == 0:
            return pointer
        self.document.copy_below(pointer, f"~{number}!")
        return f"~{number}!{pointer}"
