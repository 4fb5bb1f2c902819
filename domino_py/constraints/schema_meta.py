"""The meta-schema check by the `jsonschema` package.

It takes milliseconds and its import a tenth of a second, so it is asked only about documents that fail our own check
already, to list what else is wrong; a test holds that both find the same documents wrong.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tokenizer_align.errors import Problem

from .schema_document import Document
from .schema_source import escape_token


def meta_schema_problems(document: Document) -> list[Problem]:
    """What `jsonschema` finds wrong with a document under the meta-schema of its draft."""
    import jsonschema

    classes: dict[int, Any] = {
        4: jsonschema.Draft4Validator,
        6: jsonschema.Draft6Validator,
        7: jsonschema.Draft7Validator,
        2019: jsonschema.Draft201909Validator,
        2020: jsonschema.Draft202012Validator,
    }
    validator_class = classes[document.draft]
    validator = validator_class(validator_class.META_SCHEMA)
    return [
        Problem("".join(f"/{escape_token(str(token))}" for token in error.absolute_path), None, error.message)
        for error in validator.iter_errors(_as_read_by_others(document.root))
    ]


def _as_read_by_others(value: Any) -> Any:
    """The same JSON value with floats; `jsonschema` does not take a Decimal for a whole number."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [_as_read_by_others(item) for item in value]
    return {key: _as_read_by_others(item) for key, item in value.items()} if isinstance(value, dict) else value
