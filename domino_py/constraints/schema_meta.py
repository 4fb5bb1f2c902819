"""The meta-schema check by the `jsonschema` package: the last word on whether a document is a schema.

It takes milliseconds and its import a tenth of a second, so it is asked only about documents that look wrong already;
a test holds that both checks agree.
"""

from __future__ import annotations

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
        for error in validator.iter_errors(document.root)
    ]
