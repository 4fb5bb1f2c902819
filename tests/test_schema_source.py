"""The text that a schema is known by: the same whether Python's encoder writes it or our own."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import domino_py as domino
from domino_py.constraints import schema_source
from domino_py.constraints.schema_source import MAX_DEPTH, is_plain, read_schema, read_source
from tokenizer_align.errors import UnsupportedSchema

scalars = (
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["\ud800", 'a"\\\n', "é😀", 1.5, 10**400])
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_both_ways_to_write_a_schema_agree(schema: dict[str, Any]) -> None:
    text, read = read_schema(schema)
    assert text == schema_source._written(schema)
    assert read == read_source(text)
    assert read_schema(text) == (text, read)


class Text(str):
    """A string of another type."""


@pytest.mark.parametrize(
    "schema", [{1: {}}, {"a": 1.5}, {"a": (1,)}, OrderedDict(a=1), {"a": {None: 1}}, {"a": Text("b")}, {"a": 10**400}]
)
def test_what_the_encoder_may_write_otherwise_is_not_plain(schema: Any) -> None:
    assert not is_plain(schema)


def test_depth_is_limited_either_way() -> None:
    schema: Any = {}
    for _ in range(MAX_DEPTH):
        schema = {"not": schema}
    assert is_plain(schema) and read_schema(schema)[0].count("{") == MAX_DEPTH + 1
    assert not is_plain({"not": schema})
    with pytest.raises(UnsupportedSchema, match="nested"):
        read_schema({"not": schema})


def test_what_the_caller_changes_later_does_not_matter() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    constraint = domino.json_schema(schema)
    schema["properties"]["a"]["type"] = "string"
    assert constraint.matches('{"a": 1}') and not constraint.matches('{"a": "b"}')


def test_a_constraint_can_be_built_again_from_its_text() -> None:
    import pickle

    constraint = domino.json_schema('{"$defs": {"a": {"maxLength": 1}}, "properties": {"b": {"$ref": "#/$defs/a"}}}')
    again = pickle.loads(pickle.dumps(constraint))
    assert again == constraint
    assert again.matches('{"b": "x"}') and not again.matches('{"b": "xy"}')
