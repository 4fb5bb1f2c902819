"""A schema document: its sub-schemas by JSON Pointer, its base URIs and anchors, and what a reference points at.

Sub-schemas are named by their canonical pointer from the root (`/properties/a`); that name is their identity
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from .schema_dynamic import CASE, RECURSIVE, DynamicScopes
from .schema_keywords import DEFAULT_DRAFT, DRAFTS, keywords_of_schemas, known_keyword
from .schema_source import escape_token, unescape_token

Schema = dict[str, Any] | bool


def child_pointers(pointer: str, keyword: str, value: Any, draft: int) -> Iterator[tuple[str, Any]]:
    """(pointer, value) of the sub-schemas that stand directly under one keyword."""
    known = known_keyword(keyword, draft)
    if known is None or known.children == "none":
        return
    base = f"{pointer}/{escape_token(keyword)}"
    if isinstance(value, list) and known.children in ("list", "one or list"):
        yield from ((f"{base}/{i}", item) for i, item in enumerate(value))
    elif known.children in ("one", "one or list"):
        yield base, value
    elif known.children in ("map", "map or lists") and isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(item, list):
                yield f"{base}/{escape_token(key)}", item


def value_schema(value: Any, draft: int) -> dict[str, Any]:
    """A schema of exactly one value, by its parts."""
    if isinstance(value, list):
        items, rest = ("prefixItems", "items") if draft >= 2020 else ("items", "additionalItems")
        shape: dict[str, Any] = {"type": "array", "minItems": len(value)}
        if not value:
            return shape | {"maxItems": 0}
        return shape | {items: [value_schema(item, draft) for item in value], rest: False}
    if isinstance(value, dict):
        parts = {key: value_schema(item, draft) for key, item in value.items()}
        return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    return {"enum": [value]}


def draft_of(root: Any) -> int | None:
    """The draft that a schema names by `$schema`, None where it names none that is known."""
    uri = root.get("$schema") if isinstance(root, dict) else None
    return DRAFTS.get(uri.rstrip("#")) if isinstance(uri, str) else None


class Document:
    """One schema text, read; `at[pointer]` is a sub-schema, `order[pointer]` its place in the text."""

    def __init__(
        self,
        root: Schema,
        draft: int | None = None,
        *,
        remotes: Mapping[str, Schema] | None = None,
        adapt: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        """`draft`: where the root does not say; `remotes`: other documents by URI, whose pointers begin with `URI#`;
        `adapt`: changes each sub-schema when it is read."""
        self.root = root
        self._adapt = adapt
        self.at: dict[str, Schema] = {}
        self.order: dict[str, int] = {}
        self._base: dict[str, str] = {}  # pointer -> base URI
        self._children: dict[tuple[str, str], list[str]] = {}
        self._resources: dict[str, str] = {}  # absolute URI -> pointer
        self._anchors: dict[tuple[str, str], str] = {}  # (resource's URI, name) -> pointer
        self._dynamic: dict[str, dict[str, str]] = {}  # resource's URI -> dynamic name -> pointer
        self._scopes: DynamicScopes | None = None
        self._resolved: dict[tuple[str, str], str] = {}
        self._cases: dict[tuple[str, str], str] = {}
        self.meta_schema = root.get("$schema") if isinstance(root, dict) else None
        known = draft_of(root)
        self.draft = known or draft or DEFAULT_DRAFT
        self.is_known_draft = self.meta_schema is None or known is not None
        self._resources[""] = ""
        self._scan("", root, "")
        for uri, remote in (remotes or {}).items():
            self.add_remote(uri, remote)

    def add_remote(self, uri: str, root: Schema) -> None:
        """Take in another document under its URI."""
        self._resources[uri] = f"{uri}#"
        self._resolved.clear()
        self._scan(f"{uri}#", root, uri)

    def knows(self, uri: str) -> bool:
        """Whether some resource has this URI."""
        return uri in self._resources

    def base_of(self, pointer: str) -> str:
        """The base URI inside a sub-schema."""
        return self._base[pointer]

    def _scan(self, start: str, schema: Schema, base: str) -> None:
        """Register a sub-schema and all below it."""
        work = [(start, schema, base)]
        parents = keywords_of_schemas(self.draft)
        while work:
            pointer, here, base = work.pop()
            if pointer in self.at or not isinstance(here, dict | bool):
                continue
            if self._adapt is not None and isinstance(here, dict):
                here = self._adapt(here)
            self.at[pointer], self.order[pointer] = here, len(self.order)
            if isinstance(here, dict):
                base = self._register(pointer, here, base)
                below = [
                    (child, value, base)
                    for keyword, item in here.items()
                    if keyword in parents
                    for child, value in child_pointers(pointer, keyword, item, self.draft)
                ]
                work.extend(reversed(below))
            self._base[pointer] = base

    def _register(self, pointer: str, schema: dict[str, Any], base: str) -> str:
        """Note the names that a sub-schema gives itself. Returns the base URI inside it."""
        name = schema.get("id" if self.draft == 4 else "$id")
        if self.draft < 2019 and "$ref" in schema:
            name = None  # siblings of $ref are ignored there
        if isinstance(name, str):
            uri, fragment = urldefrag(urljoin(base, name) if not name.startswith("#") else base + name)
            if fragment and self.draft < 2019:
                self._anchors.setdefault((uri, fragment), pointer)
            if uri and uri != base:
                base = uri
                self._resources.setdefault(uri, pointer)
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str) and self.draft >= 2019:
                self._anchors.setdefault((base, anchor), pointer)
                if keyword == "$dynamicAnchor":
                    self._dynamic.setdefault(base, {}).setdefault(anchor, pointer)
        if schema.get("$recursiveAnchor") is True and self.draft == 2019:
            self._dynamic.setdefault(base, {}).setdefault(RECURSIVE, pointer)
        return base

    def resolve(self, pointer: str, reference: str) -> str | None:
        """The pointer of the sub-schema that `reference`, standing at `pointer`, means; None where there is none."""
        key = (self._base[pointer], reference)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolve(*key)
            if found is not None:  # what is not found may be read in later
                self._resolved[key] = found
        return found

    def _resolve(self, base: str, reference: str) -> str | None:
        if reference.startswith("#"):
            uri, fragment = base, reference[1:]
        else:
            uri, fragment = urldefrag(urljoin(base, reference))
        resource = self._resources.get(uri)
        if resource is None:
            return None
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors.get((uri, fragment))
        return self._walk(resource, fragment, uri)

    def _walk(self, start: str, fragment: str, base: str) -> str | None:
        """Follow a JSON Pointer below the sub-schema at `start`, through any JSON values."""
        pointer, value = start, self.at[start]
        here: Any = value
        for token in fragment.split("/")[1:]:
            token = unescape_token(token)
            if isinstance(here, dict) and token in here:
                here = here[token]
            elif isinstance(here, list) and token.isascii() and token.isdigit() and int(token) < len(here):
                token = str(int(token))
                here = here[int(token)]
            else:
                return None
            pointer = f"{pointer}/{escape_token(token)}"
            base = self._base.get(pointer, base)
        if not isinstance(here, dict | bool):
            return None
        if pointer not in self.at:
            self._scan(pointer, here, base)
        return pointer

    def targets(self, pointer: str, keywords: dict[str, Any]) -> list[str]:
        """What the references of a sub-schema point at."""
        found = []
        for name in ("$ref", "$dynamicRef", "$recursiveRef"):
            if name in keywords:
                found.append(self._target(pointer, name, keywords[name]))
        return [target for target in found if target is not None]

    def _target(self, pointer: str, keyword: str, reference: str) -> str | None:
        if not self._dynamic:
            return self.resolve(pointer, reference)
        if self._scopes is None:
            self._scopes = DynamicScopes(self, self._dynamic)
        return self._scopes.target(pointer, keyword, reference)

    def copy_below(self, start: str, prefix: str) -> None:
        """Register a sub-schema and all below it a second time, with pointers that have a prefix."""
        if prefix + start in self.at:
            return
        for pointer in [p for p in self.at if p == start or p.startswith(f"{start}/")]:
            self.at[prefix + pointer], self.order[prefix + pointer] = self.at[pointer], len(self.order)
            self._base[prefix + pointer] = self._base[pointer]

    def listed_schemas(self, pointer: str, kind: str) -> list[str]:
        """Sub-schemas that say what the arrays (or objects) listed by `enum` and `const` look like, one for each."""
        from .schema_terms import listed_values
        from .schema_values import json_type

        found = []
        for i, value in enumerate(listed_values(self.keywords(pointer))):
            if json_type(value) == kind:
                place = f"{pointer}/enum/{i}/~value"  # no JSON Pointer leads there
                if place not in self.at:
                    self._scan(place, value_schema(value, self.draft), self._base[pointer])
                found.append(place)
        return found

    def add_case(self, pointer: str, schema: dict[str, Any]) -> str:
        """Register a sub-schema that the text does not have, beside the one at `pointer`; its place."""
        name = (pointer, repr(schema))
        if name not in self._cases:
            self._cases[name] = f"{pointer}{CASE}{len(self._cases)}"
            self._scan(self._cases[name], schema, self._base[pointer])
        return self._cases[name]

    def keywords(self, pointer: str) -> dict[str, Any]:
        """The keywords that count at a sub-schema: before 2019-09, `$ref` hides its siblings."""
        schema = self.at[pointer]
        if not isinstance(schema, dict):
            return {}
        if self.draft < 2019 and isinstance(schema.get("$ref"), str):
            return {"$ref": schema["$ref"]}
        return schema

    def children(self, pointer: str, keyword: str) -> list[str]:
        """Pointers of the sub-schemas directly under one keyword, in their order."""
        found = self._children.get((pointer, keyword))
        if found is None:
            value = self.keywords(pointer).get(keyword)
            found = [child for child, _ in child_pointers(pointer, keyword, value, self.draft)]
            self._children[pointer, keyword] = found
        return list(found)
