"""What one sub-schema says by itself: its keywords, those that bear on a JSON type, and how they can fail."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .schema_claims import HAS, UNEVALUATED, Claim, Conjunct
from .schema_document import Document
from .schema_dynamic import original
from .schema_formats import FORMATS
from .schema_keywords import JSON_TYPES, known_keywords, own_keywords
from .schema_source import escape_token
from .schema_values import json_type as type_of
from .schema_values import value_key

BY_KEY = ("dependentRequired", "dependentSchemas", "dependencies")


@lru_cache(maxsize=64)
def _own(kind: str, draft: int) -> frozenset[str]:
    """The keywords that bear on a JSON type by themselves."""
    return own_keywords(kind, draft).difference(BY_KEY, UNEVALUATED)


class SchemaTerms:
    """The sub-schemas of one document; `dropped`: (pointer, keyword) pairs that are left out on request.

    A dropped `oneOf` is built as `anyOf`, which only ever widens.
    """

    def __init__(self, document: Document, dropped: frozenset[tuple[str, str]] = frozenset()) -> None:
        self.document, self.dropped = document, dropped
        self.own = {kind: _own(kind, document.draft) for kind in JSON_TYPES}
        self._keywords: dict[str, dict[str, Any]] = {}

    def keywords(self, pointer: str) -> dict[str, Any]:
        """The keywords that count at a sub-schema."""
        found = self._keywords.get(pointer)
        if found is None:
            known = known_keywords(self.document.draft)
            found = {name: value for name, value in self.document.keywords(pointer).items() if name in known}
            if self.dropped:
                found = {n: value for n, value in found.items() if n == "oneOf" or not self.is_dropped(pointer, n)}
            self._keywords[pointer] = found
        return found

    def is_dropped(self, pointer: str, keyword: str) -> bool:
        """Whether a keyword is left out on request."""
        return bool(self.dropped) and (original(pointer), keyword) in self.dropped

    def all_of(self, pointer: str) -> list[str]:
        """The sub-schemas that must hold in the same place whatever the value is: references and `allOf`."""
        keywords = self.keywords(pointer)
        found = self.document.children(pointer, "allOf") if "allOf" in keywords else []
        return [*self.document.targets(pointer, keywords), *found]

    def in_place(self, pointer: str) -> list[str]:
        """All sub-schemas that are asked about the very same value."""
        keywords = self.keywords(pointer)
        found = self.all_of(pointer)
        for keyword in ("anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"):
            if keyword in keywords:
                found = found + self.document.children(pointer, keyword)
        return found

    def can_fail(self, keyword: str, value: Any) -> bool:
        """Whether a keyword with this value can fail by itself."""
        if keyword in ("minContains", "maxContains"):
            return False  # `contains` fails, counts included
        if keyword in ("uniqueItems", "contains"):
            return value is not False or keyword == "contains"
        if value is True or value == {} or (isinstance(value, bool) and keyword.startswith("exclusive")):
            return False  # in draft 4, `minimum` fails as `exclusiveMinimum` has it
        if keyword in ("properties", "patternProperties"):
            return any(schema is not True and schema != {} for schema in value.values())
        if keyword == "format":
            return self.asserts_format(value)
        return not (keyword in ("minLength", "minItems", "minProperties") and value == 0)

    def asserts_format(self, name: str) -> bool:
        """Whether a format is enforced, and no annotation."""
        return name in FORMATS

    def own_conjunct(self, pointer: str, keywords: dict[str, Any], kind: str) -> Conjunct | None:
        """The sub-schema itself if its own keywords say something about the type, None if they exclude it."""
        names = keywords.get("type")
        says = False
        if names is not None:
            names = [names] if isinstance(names, str) else names
            if kind not in names:
                if kind != "number" or "integer" not in names:
                    return None
                says = True
        if "enum" in keywords or "const" in keywords:
            says = True
            if not any(type_of(value) == kind for value in listed_values(keywords)):
                return None
        return frozenset([pointer]) if says or not self.own[kind].isdisjoint(keywords) else frozenset()

    def dependencies(self, pointer: str) -> Iterator[tuple[str, str, list[str | Claim]]]:
        """(keyword, key, what must hold where an object has it): sub-schemas, and claims about other keys."""
        keywords = self.keywords(pointer)
        for name in BY_KEY:
            for key, needed in keywords.get(name, {}).items():
                if isinstance(needed, list):
                    yield name, key, [has_key(other, True) for other in needed if other != key]
                else:
                    yield name, key, [f"{pointer}/{name}/{escape_token(key)}"]


def listed_values(keywords: dict[str, Any]) -> list[Any]:
    """The values that `enum` and `const` of one sub-schema leave."""
    if "const" not in keywords:
        return list(keywords["enum"])
    constant = keywords["const"]
    if "enum" in keywords and value_key(constant) not in {value_key(value) for value in keywords["enum"]}:
        return []
    return [constant]


def has_key(key: str, holds: bool) -> Claim:
    return Claim("", HAS, holds, key)
