"""What of a schema cannot be enforced: every reason at once, each with its JSON Pointer, before anything is built.

First the shape of the whole document (its meta-schema), then everything that can be reached from the root: keywords
that are not supported, references that lead nowhere or in a circle, patterns that are not regular.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tokenizer_align.errors import Problem, RegexError, TooComplex

from .schema_compile import SchemaCompiler
from .schema_document import Document
from .schema_dynamic import original
from .schema_keywords import is_number, known_keywords
from .schema_limits import IGNORE_HINT, MAX_SUBSCHEMAS, size_reason
from .schema_risk import ALIKE, FOLLOWED, REFERENCES
from .schema_source import escape_token
from .schema_strings import pattern_body

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_JUDGED = frozenset(  # keywords that some value of theirs makes impossible to enforce
    (*REFERENCES, *_BOUNDS, "pattern", "patternProperties", "properties", "required", "enum", "const")
)
MAX_LEVELS = 250  # levels of sub-schemas inside each other


@dataclass(slots=True)
class Support:
    """`errors` are never ignored; `unsupported`: (pointer, keyword, problem) of what may be dropped on request."""

    errors: list[Problem] = field(default_factory=list)
    unsupported: list[tuple[str, str, Problem]] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)  # breadth first
    n_levels: int = 0


def shape_problems(document: Document) -> list[Problem]:
    """Where the document violates its meta-schema."""
    problems = []
    if not document.is_known_draft:
        message = f"unknown $schema {document.meta_schema!r}"
        problems.append(Problem("/$schema", "$schema", message, hint="Drafts 4, 6, 7, 2019-09 and 2020-12 are known."))
    if document.draft == 4 and isinstance(document.root, bool):
        problems.append(Problem("", None, "true and false are no schemas in draft 4"))
    known = known_keywords(document.draft)
    for pointer, schema in document.at.items():
        if isinstance(schema, dict):
            for name, value in schema.items():
                keyword = known.get(name)
                if keyword is not None and not keyword.shape(value, document.draft):
                    place = f"{pointer}/{escape_token(name)}"
                    problems.append(Problem(place, name, f'"{name}" must be {keyword.words}, not {_shown(value)},'))
    return problems


def _shown(value: Any) -> str:
    from .schema_values import compact_text

    if is_number(value):
        return str(value)
    try:
        text = compact_text(value).decode()
    except UnicodeEncodeError:
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def find_support(document: Document, compiler: SchemaCompiler) -> Support:
    """Walk everything that can be reached from the root."""
    support = Support()
    level = {"": 0}
    work = [""]
    for pointer in work:
        support.reached.append(pointer)
        support.n_levels = max(support.n_levels, level[pointer])
        schema = document.at[pointer]
        if isinstance(schema, bool):
            continue
        if len(work) > MAX_SUBSCHEMAS:
            message = f"more than {MAX_SUBSCHEMAS:,} sub-schemas can be reached"
            support.errors.append(Problem(pointer, None, message))
            return support
        for child in _visit(document, compiler, support, pointer):
            if child not in level:
                level[child] = level[pointer] + 1
                work.append(child)
    if not support.errors:
        _find_circles(compiler, support)
    return support


def _visit(document: Document, compiler: SchemaCompiler, support: Support, pointer: str) -> list[str]:
    """Judge the keywords of one sub-schema. Returns the sub-schemas that bear on the result."""
    children: list[str] = []
    keywords = compiler.keywords(pointer)
    for name, value in keywords.items():
        reason = unsupported_reason(document, pointer, name, value) if name in _JUDGED else None
        if reason is not None:
            problem = Problem(f"{original(pointer)}/{escape_token(name)}", name, reason, hint=IGNORE_HINT)
            support.unsupported.append((pointer, name, problem))
        elif name in FOLLOWED:
            children += document.children(pointer, name)
        elif name in REFERENCES:
            children += document.targets(pointer, {name: value})
    return children


def unsupported_reason(document: Document, pointer: str, name: str, value: Any) -> str | None:
    """Why a keyword with this value cannot be enforced; None where it can or where it says nothing."""
    if name in REFERENCES:
        if document.resolve(pointer, value) is None:
            uri, _, fragment = value.partition("#")
            if not uri or (fragment and document.resolve(pointer, uri) is not None):
                return f'"{name}" {value!r} points at nothing'
            return f'"{name}" {value!r} is not in this document or a registry that was passed'
        return None
    too_large = size_reason(name, value)
    if too_large is not None:
        return too_large
    patterns = [value] if name == "pattern" else list(value) if name == "patternProperties" else []
    for pattern in patterns:
        try:
            pattern_body(pattern)
        except (RegexError, TooComplex) as error:
            return f'"{name}": {error}'
    if name in ("properties", "required", "enum", "const") and not _can_be_written(value):
        return f'"{name}" holds a lone surrogate, which UTF-8 cannot write,'
    if name in _BOUNDS and is_number(value):
        return None if abs(Decimal(value).adjusted()) < 1100 or not value else f'"{name}" has too many digits'
    return None


def _can_be_written(value: Any) -> bool:
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, str):
            try:
                _ = item.isascii() or item.encode()
            except UnicodeEncodeError:
                return False
        elif isinstance(item, dict):
            if not "".join(item).isascii():
                work.extend(item)
            work.extend(
                v for v in item.values() if isinstance(v, str | list) or (isinstance(v, dict) and "type" not in v)
            )
        elif isinstance(item, list):
            work.extend(item)
    return True


def _find_circles(compiler: SchemaCompiler, support: Support) -> None:
    """References that come back to themselves without going down into a value."""
    state: dict[str, int] = {}  # 1: being visited, 2: done
    for start in support.reached:
        if ALIKE.isdisjoint(compiler.keywords(start)):
            continue
        work = [(start, False)]
        while work:
            pointer, leaving = work.pop()
            if leaving:
                state[pointer] = 2
                continue
            if state.get(pointer):
                continue
            if ALIKE.isdisjoint(compiler.keywords(pointer)):
                state[pointer] = 2
                continue
            state[pointer] = 1
            work.append((pointer, True))
            for child in compiler.in_place(pointer):
                if state.get(child) == 1:
                    message = f"the reference circle through {child or 'the root'} never reaches a value"
                    support.errors.append(Problem(pointer, "$ref", message))
                elif child not in state:
                    work.append((child, False))
