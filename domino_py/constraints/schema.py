"""`json_schema()`: the JSON values that a JSON Schema accepts, in full or not at all.

Every keyword is enforced exactly, or the schema is refused with all reasons and their JSON Pointers at once
(`schema_support`). The building itself is in `schema_compile`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Literal

from tokenizer_align.errors import ConstraintError, EmptyLanguage, InvalidOption, Problem, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, K_CALL, Expr, seq
from tokenizer_align.productive import is_productive

from .base import Constraint
from .json import style_of
from .json_layout import style_from_options
from .option_names import names_its_options
from .schema_compile import SchemaCompiler
from .schema_dialect import OPENAPI_DRAFT, Adapt, adapter, strict_problems
from .schema_document import Document
from .schema_dynamic import original
from .schema_enough import lacks_values
from .schema_ignore import dropped_keywords, with_keywords
from .schema_keywords import DRAFTS
from .schema_limits import time_limit
from .schema_lint import log_misspelt
from .schema_pause import collector_paused
from .schema_registry import collect_remotes
from .schema_source import MAX_SHOWN, read_schema, read_source
from .schema_support import Support, find_support, shape_problems

logger = logging.getLogger(__name__)

CHOICES = {"key_order": ("any", "declared"), "on_unsupported": ("raise", "ignore"), "formats": ("assert", "annotate")}
DEFAULTS: dict[str, Any] = {
    "key_order": "any",
    "whitespace": "flexible",
    "digits": "bounded",
    "max_digits": 20,
    "number_spelling": "canonical",
    "additional_properties": None,
    "on_unsupported": "raise",
    "formats": "assert",
    "draft": None,
    "openapi": False,
    "strict": False,
}
MAX_LATER_S = 0.3  # of the processor, for what else would be refused
DEEP_LEVELS = 20  # levels of sub-schemas from which on nodes are decided from the inside out


@names_its_options
def json_schema(
    schema: dict[str, Any] | str | bool,
    *,
    key_order: Literal["any", "declared"] = "any",
    whitespace: Literal["flexible", "compact", "unbounded"] = "flexible",
    digits: Literal["bounded", "unbounded"] = "bounded",
    max_digits: int = 20,
    number_spelling: Literal["canonical", "any"] = "canonical",
    additional_properties: bool | None = None,
    on_unsupported: Literal["raise", "ignore"] = "raise",
    formats: Literal["assert", "annotate"] = "assert",
    draft: int | None = None,
    registry: Any = None,
    openapi: bool = False,
    strict: bool = False,
) -> Constraint:
    """JSON texts whose value satisfies a JSON Schema (draft 4 to 2020-12; by `$schema`, else `draft`, else 2020-12).

    `schema`: a dict, JSON text, or True or False. `key_order`: keys in any order, or in the order of `properties`.
    `whitespace`, `digits`, `max_digits`: as in `json()`. `number_spelling="any"`: whole and listed numbers also as
    `1.0`, `1e0` or `10e-1`. `additional_properties`: False closes objects that name keys and say nothing about others
    (docs/json_schema.md has the rule); None leaves it to the specification (open). `on_unsupported="ignore"`: what
    cannot be enforced is left out (the constraint gets wider) and listed in `Constraint.ignored`. `formats="annotate"`:
    `format` says nothing. `registry`: where schemas with other URIs are found, a mapping from URI to schema or a
    `referencing.Registry`. `openapi`: OpenAPI 3.0 (`nullable`, `discriminator`, else draft 4). `strict`: OpenAI's
    strict mode, objects with exactly the declared keys, all required; what that mode refuses is refused.

    Raises UnsupportedSchema (with `problems`) for an invalid schema or one that cannot be enforced in full,
    EmptyLanguage where no value satisfies it, InvalidOption.

    >>> person = json_schema({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}})
    >>> person.matches('{"age": 31, "name": "Ada"}'), person.matches('{"age": -1}')
    (True, False)
    """
    options = check_options(
        key_order=key_order,
        whitespace=whitespace,
        digits=digits,
        max_digits=max_digits,
        number_spelling=number_spelling,
        additional_properties=additional_properties,
        on_unsupported=on_unsupported,
        formats=formats,
        draft=OPENAPI_DRAFT if openapi and draft is None else draft,
        openapi=openapi,
        strict=strict,
    )
    source, root = read_schema(schema)
    document = Document(root, dict(options)["draft"])
    remotes = collect_remotes(document, registry)
    constraint = Constraint("json_schema", source, (*options, ("remotes", remotes)) if remotes else options)
    if not remotes and _adapter(constraint) is None:
        constraint._memo["document"] = document
    _ = constraint.expression
    return constraint


def check_options(**given: Any) -> tuple[tuple[str, Any], ...]:
    """The options as a constraint keeps them; what is not given has its default. Raises InvalidOption."""
    options = {**DEFAULTS, **given}
    style_from_options(options["whitespace"], options["digits"], options["max_digits"], options["number_spelling"])
    for name, known in CHOICES.items():
        if options[name] not in known:
            message = f"{name}={options[name]!r}: use one of {', '.join(known)}."
            raise InvalidOption(str(options[name]), message, known)
    if options["additional_properties"] not in (None, True, False):
        raise InvalidOption("additional_properties", "additional_properties must be True, False or None.")
    if options["draft"] not in (None, *DRAFTS.values()):
        known_drafts = ", ".join(map(str, DRAFTS.values()))
        raise InvalidOption("draft", f"draft={options['draft']!r}: drafts {known_drafts} are known.")
    for name in ("openapi", "strict"):
        if not isinstance(options[name], bool):
            raise InvalidOption(name, f"{name} must be True or False.")
    return tuple(sorted(options.items()))


def read_document(constraint: Constraint) -> Document:
    """The document of a `json_schema` or `type` constraint, adapted as its options ask."""
    known = constraint._memo.pop("document", None)  # building adds to it, so it serves once
    if isinstance(known, Document):
        return known
    remotes = {uri: read_source(text) for uri, text in constraint.option("remotes", ())}
    source = read_source(constraint.source)
    return Document(source, constraint.option("draft"), remotes=remotes, adapt=_adapter(constraint))


def _adapter(constraint: Constraint) -> Adapt | None:
    option = constraint.option
    return adapter(
        formats=option("formats", "assert"), openapi=option("openapi", False), strict=option("strict", False)
    )


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `json_schema` or `type` constraint, and what was left out on request or is narrower."""
    with time_limit(), collector_paused():
        return _build(constraint)


def _build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    document = read_document(constraint)
    compiler, support = prepare(document, constraint)
    ignored = [problem for _, _, problem in support.unsupported]
    while True:
        try:
            is_possible = _decide(compiler, support)
            break
        except RecursionError:
            raise UnsupportedSchema([Problem("", None, "nested too deeply")]) from None
        except UnsupportedSchema as error:
            found = with_keywords(compiler, error.problems) if constraint.option("on_unsupported") == "ignore" else None
            if found is None:
                raise
            ignored += found
            compiler = make_compiler(document, constraint, compiler.dropped | dropped_keywords(document, found))
    if not is_possible:
        found = compiler.contradictions.problems(MAX_SHOWN) or _endless(compiler, support)
        raise EmptyLanguage("no JSON value satisfies the schema" + (":" if found else ""), found)
    log_misspelt(document, logger)
    compiler.settle()
    outer = compiler.style.outer
    return seq(outer, compiler.value([""]), outer), (*ignored, *compiler.narrowed)


def _decide(compiler: SchemaCompiler, support: Support) -> bool:
    """Whether any value satisfies the schema. Raises UnsupportedSchema for what shows only once parts are combined."""
    if support.n_levels > DEEP_LEVELS:
        for pointer in reversed(support.reached):
            node = compiler.value([pointer])
            if node.memo_productive:
                compiler.alternatives_ahead(pointer)
                continue
            if node.kind == K_CALL:
                _ = node.data.body
            is_productive(node)
    if any(compiler.is_risky(pointer) for pointer in support.reached):
        compiler.build_ahead()
    scarce = [problem for problem, node in compiler.counted if lacks_values(node)]
    if scarce:
        raise UnsupportedSchema(list(dict.fromkeys(replace(p, pointer=original(p.pointer)) for p in scarce)))
    is_possible = is_productive(compiler.value([""]))
    unoffered = [problem for problem, is_none in compiler.narrowed.items() if is_none]
    if not is_possible and unoffered:  # what is not offered may be all there is
        message = 'several undeclared keys may be needed that make "{}" and other claims fail; that is not supported'
        said = [(problem, message.format(problem.keyword)) for problem in unoffered]
        raise UnsupportedSchema([replace(problem, message=text, severity="error") for problem, text in said])
    return is_possible


def _endless(compiler: SchemaCompiler, support: Support) -> list[Problem]:
    """Where recursion is all that keeps values from existing."""
    message = "every value would hold another one here, without end"
    own = [pointer for pointer in support.reached if "$ref" not in compiler.keywords(pointer)]
    found = [p for p in own if (node := compiler.value([p])) is not EMPTY and not is_productive(node)]
    return [Problem(pointer, None, message) for pointer in dict.fromkeys(map(original, found))][:MAX_SHOWN]


def _later_problems(document: Document, constraint: Constraint, refused: list[Problem]) -> list[Problem]:
    """What else would be refused once these are gone: all reasons at once, as far as the rest can be built."""
    if not all(problem.keyword for problem in refused):
        return []
    try:
        with time_limit(MAX_LATER_S):
            make_compiler(document, constraint, dropped_keywords(document, refused)).build_ahead()
    except UnsupportedSchema as error:
        return list(error.problems)
    except (ConstraintError, RecursionError):
        return []
    return []


def prepare(document: Document, constraint: Constraint) -> tuple[SchemaCompiler, Support]:
    """A compiler for the document, after all checks. Raises UnsupportedSchema with every reason."""
    problems = checked_shape(document)
    if not problems and constraint.option("strict"):
        problems = list(strict_problems(document.at))
    if problems:
        raise UnsupportedSchema(problems[:MAX_SHOWN])
    compiler = make_compiler(document, constraint)
    support = find_support(document, compiler)
    is_ignored = constraint.option("on_unsupported") == "ignore"
    refused = support.errors + ([] if is_ignored else [problem for _, _, problem in support.unsupported])
    if refused:
        raise UnsupportedSchema(list(dict.fromkeys(refused + _later_problems(document, constraint, refused))))
    if support.unsupported:
        problems = [problem for _, _, problem in support.unsupported]
        compiler = make_compiler(document, constraint, dropped_keywords(document, problems))
    return compiler, support


def make_compiler(
    document: Document, constraint: Constraint, dropped: frozenset[tuple[str, str]] = frozenset()
) -> SchemaCompiler:
    return SchemaCompiler(
        document,
        style_of(constraint),
        is_ordered=constraint.option("key_order") == "declared",
        additional_properties=constraint.option("additional_properties"),
        merges_repeats=constraint.kind == "type",
        dropped=dropped,
    )


def checked_shape(document: Document) -> list[Problem]:
    """Violations of the meta-schema. Where there are any, the `jsonschema` package lists what else it finds."""
    problems = shape_problems(document)
    if not problems or not document.is_known_draft:
        return problems
    from .schema_meta import meta_schema_problems

    known = {problem.pointer for problem in problems}
    return problems + [problem for problem in meta_schema_problems(document) if problem.pointer not in known]
