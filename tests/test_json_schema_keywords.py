"""Every row of the table of keywords in docs/json_schema.md: what it claims, and that the page is current."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from domino_py.constraints.schema import json_schema
from domino_py.constraints.schema_keywords import KEYWORDS
from tokenizer_align.errors import ConstraintError, EmptyLanguage, UnsupportedSchema

_PATH = Path(__file__).resolve().parents[1] / "docs" / "keyword_table.py"
_SPEC = importlib.util.spec_from_file_location("keyword_table", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
keyword_table = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(keyword_table)
ROWS = keyword_table.rows()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['keywords'][0]}-{row['status']}" for row in ROWS])
def test_a_row_says_what_is_so(row: dict[str, Any]) -> None:
    options = row.get("options", {})
    if row["status"] == "refused":
        with pytest.raises(ConstraintError) as caught:
            json_schema(row["schema"], **options)
        assert isinstance(caught.value, UnsupportedSchema)
        assert row["refused_at"] in [problem.pointer for problem in caught.value.problems]
        return
    constraint = json_schema(row["schema"], **options)
    assert [text for text in row["accept"] if not constraint.matches(text)] == []
    assert [text for text in row["reject"] if constraint.matches(text)] == []
    assert constraint.ignored == ()


def test_every_keyword_has_a_row() -> None:
    assert set(KEYWORDS) <= {name for row in ROWS for name in row["keywords"]}


def test_the_page_is_current() -> None:
    """If not: python docs/keyword_table.py"""
    assert keyword_table.PAGE.read_text(encoding="utf-8") == keyword_table.page()


def test_a_number_that_is_a_multiple_of_one_may_have_zeros_behind_the_point() -> None:
    """As beside any other divisor; it was taken for `"type": "integer"`, whose spelling has none."""
    for divisor in (1, 5, 0.5):
        number = json_schema({"type": "number", "multipleOf": divisor})
        assert number.matches("75") and number.matches("75.0") and not number.matches("75.3")
    assert not json_schema({"type": "integer", "multipleOf": 1}).matches("75.0")
    with pytest.raises(EmptyLanguage):
        json_schema({"type": "number", "multipleOf": 1, "not": {"type": "integer"}})
