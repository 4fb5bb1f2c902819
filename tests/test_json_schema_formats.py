"""Formats against the JSON Schema test suite's format tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domino_py.constraints.schema import json_schema
from domino_py.constraints.schema_formats import FORMATS
from tests.shared_data import shared_lines


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("uri-reference", ["", "#", "a/b?c", "//host/p", "http://a", "/abs/p#f"], ["\\\\a", "a b", "1:2", "#%zz"]),
        ("iri", ["http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://[::1]/"], ["/abc", "http:// a", "http://2001:0db8::7334 "]),
        ("iri-reference", ["", "âππ", "#ƒrägmênt", "//ƒøø.ßår"], ["\\\\WINDOWS\\filëßåré", "#ƒräg\\mênt"]),
        ("uri-template", ["", "http://a/{term:1}/{term}", "{?x,y*}", "dictionary"], ["{", "{term:1", "a}b", "{}"]),
        ("json-pointer", ["", "/", "/a~1b", "/foo//bar", '/~0"\n', "/é"], ["a", "/~", "/~2", "#/a"]),
        ("relative-json-pointer", ["1", "0/foo", "2#", "10/a~1", "0+1", "1-2/a"], ["", "/a", "-1", "01", "+1", "0##"]),
    ],
)
def test_references_and_pointers(name: str, valid: list[str], invalid: list[str]) -> None:
    constraint = json_schema({"type": "string", "format": name})
    assert [text for text in valid if not constraint.matches(json.dumps(text, ensure_ascii=False))] == []
    assert [text for text in invalid if constraint.matches(json.dumps(text, ensure_ascii=False))] == []


def test_the_suite_agrees_on_every_format_that_is_enforced() -> None:
    wrong: list[Any] = []
    for case in shared_lines("data/json_schema_test_suite.jsonl"):
        name = case["schema"].get("format") if isinstance(case["schema"], dict) else None
        if "optional/format/" not in case["id"] or case["remote"] or name not in FORMATS:
            continue
        constraint = json_schema(case["schema"], draft=7 if case["draft"] == "draft7" else None)
        for test in case["tests"]:
            if isinstance(test["data"], str) and _is_writable(test["data"]):
                text = json.dumps(test["data"], ensure_ascii=False)
                if constraint.matches(text) != test["valid"]:
                    wrong.append((name, test["data"], test["valid"], test["description"]))
    # Not offered: labels encoded for other scripts, fractions of leap seconds but in UTC, more digits than max_digits.
    assert {(name, valid) for name, _, valid, _ in wrong} <= {(n, True) for n in ("hostname", "date-time", "duration")}


def _is_writable(text: str) -> bool:
    return all(not 0xD800 <= ord(character) < 0xE000 for character in text)


def test_encoded_labels_are_offered_neither_by_a_format_nor_below_not() -> None:
    """Below `not` they once counted as no hostnames, which many are."""
    for name in ("hostname", "email"):
        text = '"a@xn--bcher-kva.example"' if name == "email" else '"xn--bcher-kva.example"'
        assert not json_schema({"format": name, "type": "string"}).matches(text)
        assert not json_schema({"not": {"format": name}, "type": "string"}).matches(text)
        assert json_schema({"not": {"format": name}, "type": "string"}).matches('"a b"')
