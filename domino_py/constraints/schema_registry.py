"""Schemas that a schema refers to by URI: looked up once, when the constraint is made, so that it stays a value.

A registry is a mapping from URI to schema or a `referencing.Registry`. The meta-schemas of JSON Schema are always
known. Nothing is ever fetched unless a `referencing.Registry` does so itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urldefrag, urljoin

from tokenizer_align.errors import InvalidOption, Problem, UnsupportedSchema

from .schema_document import Document, draft_of
from .schema_source import canonical_source, read_source

MAX_DOCUMENTS = 200

Remotes = tuple[tuple[str, str], ...]  # (URI, schema as JSON text), in the order in which they were met


def collect_remotes(document: Document, registry: Any) -> Remotes:
    """All documents that are referred to from this one, directly or not, as far as they are known; it takes them in.

    Raises UnsupportedSchema where one of them is of another draft, InvalidOption where `registry` is none.
    """
    if registry is not None and not isinstance(registry, Mapping) and not hasattr(registry, "get_or_retrieve"):
        raise InvalidOption("registry", "registry must be a mapping from URIs to schemas or a referencing.Registry.")
    found: dict[str, str] = {}
    tried: set[str] = set()
    work = list(document.at)
    for pointer in work:
        schema = document.at[pointer]
        for name in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(name) if isinstance(schema, dict) else None
            if not isinstance(reference, str) or reference.startswith("#"):
                continue
            uri = urldefrag(urljoin(document.base_of(pointer), reference))[0]
            if uri in tried or document.knows(uri):
                continue
            tried.add(uri)
            remote = _look_up(uri, registry)
            if remote is None:
                continue
            if len(found) >= MAX_DOCUMENTS:
                message = f"more than {MAX_DOCUMENTS} documents refer to each other"
                raise UnsupportedSchema([Problem(pointer, name, message)])
            found[uri] = canonical_source(remote)
            other = draft_of(remote)
            if other is not None and other != document.draft:
                message = f"{uri} is a schema of draft {other}, and this one is of draft {document.draft}"
                raise UnsupportedSchema([Problem(f"{pointer}/{name}", name, message)])
            known = set(document.at)
            document.add_remote(uri, read_source(found[uri]))
            work += [new for new in document.at if new not in known]
    return tuple(found.items())


def _look_up(uri: str, registry: Any) -> Any:
    """The schema with this URI, None where nobody knows it."""
    if isinstance(registry, Mapping) and not hasattr(registry, "get_or_retrieve"):
        for name in (uri, f"{uri}#"):
            if name in registry:
                return registry[name]
    elif registry is not None:
        schema = _retrieve(uri, registry)
        if schema is not None:
            return schema
    if uri.startswith(("http://json-schema.org/", "https://json-schema.org/")):
        return _retrieve(uri, importlib.import_module("jsonschema_specifications").REGISTRY)
    return None


def _retrieve(uri: str, registry: Any) -> Any:
    from referencing.exceptions import NoSuchResource, Unretrievable

    try:
        return registry.get_or_retrieve(uri).value.contents
    except (NoSuchResource, Unretrievable):
        return None
