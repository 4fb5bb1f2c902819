"""`of_type()`: JSON texts that read as values of a Python type.

int, float, bool, str, None, Literal, Enum, Union, Optional, Annotated (annotated_types and Pydantic's Field), list,
tuple, set, dict, dataclass, TypedDict, NamedTuple, dates and times, UUID, Decimal, Pydantic models, and functions,
whose parameters become the keys of an arguments object. Objects are closed: exactly the declared keys are legal.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from domino_py.json_reading import exact_json
from tokenizer_align.errors import ConstraintError, Problem
from tokenizer_align.expressions import Expr

from .base import Constraint
from .option_names import names_its_options
from .schema import build as build_schema
from .schema import check_options
from .schema_source import canonical_source
from .types_forms import FormBuilder
from .types_simple import Form


@names_its_options
def of_type(
    tp: Any,
    *,
    key_order: Literal["any", "declared"] = "any",
    whitespace: Literal["flexible", "compact", "unbounded"] = "flexible",
    digits: Literal["bounded", "unbounded"] = "bounded",
    max_digits: int = 20,
) -> Constraint:
    """JSON texts that `Constraint.parse` turns into values of the type.

    Options as in `json_schema`. A set may be written with repeats where its items are not finitely many; they merge.
    What a schema cannot express (Pydantic validators, predicates) is checked by `parse`, which raises ConstraintError.
    Raises ConstraintError for types without a JSON form, MissingPackage where Pydantic is needed and absent.

    >>> level = of_type(Literal["low", "high"])
    >>> level.matches('"low"'), level.parse('"high"')
    (True, 'high')
    """
    options = check_options(
        key_order=key_order,
        whitespace=whitespace,
        digits=digits,
        max_digits=max_digits,
    )
    form, schema = type_schema(tp)
    constraint = Constraint("type", canonical_source(schema), options, extra=tp)
    constraint._memo["form"] = form
    _ = constraint.expression
    return constraint


def type_schema(tp: Any) -> tuple[Form, dict[str, Any]]:
    """The form of a type, and its whole JSON Schema with definitions. Raises ConstraintError with all problems."""
    builder = FormBuilder()
    form = builder.form(tp)
    if len(builder.problems) == 1:
        raise ConstraintError(builder.problems[0])
    if builder.problems:
        found = "".join(f"\n  - {problem}" for problem in builder.problems)
        raise ConstraintError(f"{len(builder.problems)} problems of {getattr(tp, '__name__', tp)}.{found}")
    schema = dict(form.schema)
    if builder.definitions:
        schema["$defs"] = builder.definitions
    return form, schema


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `type` constraint."""
    return build_schema(constraint)


def parse(constraint: Constraint, text: str) -> Any:
    """The typed value of a legal text. Raises ConstraintError where the text or the type's own checks fail."""
    form = constraint._memo.get("form")
    if form is None:
        form = constraint._memo["form"] = type_schema(constraint.extra)[0]
    name = getattr(constraint.extra, "__name__", repr(constraint.extra))
    try:
        return form.read(exact_json(text))
    except json.JSONDecodeError as error:
        raise ConstraintError(f"the text is not JSON, so it is no {name}: {error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ConstraintError(f"the text does not read as {name}: {error}") from error
