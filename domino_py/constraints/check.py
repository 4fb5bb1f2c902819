"""`check()`: everything that can be said about a constraint, a schema or a type without a model."""

from __future__ import annotations

from typing import Any

from tokenizer_align.errors import ConstraintError, EmptyLanguage, GrammarError, Problem, UnsupportedSchema

from .base import Constraint
from .findings import KINDS as COMBINED
from .findings import check_combined
from .grammar import check_grammar
from .quiet import unlogged
from .schema import check_options, checked_shape, make_compiler, read_document
from .schema_compile import SchemaCompiler
from .schema_dialect import strict_problems
from .schema_limits import time_limit
from .schema_lint import findings
from .schema_source import canonical_source
from .schema_support import find_support

_ORDER = {"error": 0, "warning": 1, "note": 2}


def check(subject: Any) -> list[Problem]:
    """List what is wrong with, or worth knowing about, a constraint, a JSON Schema (dict, JSON text, bool) or a type.

    Errors come first: what is invalid, not supported or can never be satisfied. Then warnings: likely mistakes and what
    has no effect. Then notes: formats that are not enforced, orders of keys
    that are not offered. An empty list means that there is nothing to say.

    >>> [str(problem) for problem in check({"type": "string", "minlength": 3})]
    ['the unknown keyword "minlength" has no effect at /minlength. Did you mean "minLength"?']
    """
    try:
        constraint = _as_constraint(subject)
        if constraint.kind in ("json_schema", "type"):
            problems = _check_schema(constraint)
        elif constraint.kind == "grammar":
            with unlogged():
                problems = list(check_grammar(constraint))
        elif constraint.kind in COMBINED:
            problems = check_combined(constraint)
        else:
            constraint.validate()
            problems = [*constraint.ignored, *constraint.narrowed]
    except (UnsupportedSchema, GrammarError, EmptyLanguage) as error:
        problems = list(error.problems) or [Problem("", None, str(error))]
    except ConstraintError as error:
        problems = [Problem("", None, str(error))]
    return sorted(dict.fromkeys(problems), key=lambda problem: _ORDER[problem.severity])


def _as_constraint(subject: Any) -> Constraint:
    """The constraint that is meant, not yet built."""
    if isinstance(subject, Constraint):
        return subject
    options = check_options()
    if isinstance(subject, dict | bool | str):
        return Constraint("json_schema", canonical_source(subject), options)
    from .types import type_schema

    return Constraint("type", canonical_source(type_schema(subject)[1]), options, extra=subject)


def _check_schema(constraint: Constraint) -> list[Problem]:
    document = read_document(constraint)
    problems = checked_shape(document)
    if not problems and constraint.option("strict"):
        problems = list(strict_problems(document.at))
    if problems:
        return problems
    compiler = make_compiler(document, constraint)
    support = find_support(document, compiler)
    problems = support.errors + [problem for _, _, problem in support.unsupported]
    if not problems:
        problems = _find_contradictions(constraint, compiler)
    return problems + list(compiler.narrowed) + findings(document, compiler, support.reached)


def _find_contradictions(constraint: Constraint, compiler: SchemaCompiler) -> list[Problem]:
    """Build everything: what can never be satisfied is an error at the root and a warning below."""
    try:
        with time_limit(), unlogged():
            constraint.validate()
            compiler.build_ahead(everything=True)
    except (UnsupportedSchema, EmptyLanguage) as error:
        return list(error.problems) or [Problem("", None, str(error))]
    except RecursionError:
        return [Problem("", None, "nested too deeply")]
    return [
        Problem(problem.pointer, problem.keyword, problem.message, "warning", "Nothing is ever written there.")
        for problem in compiler.contradictions.problems()
    ]
