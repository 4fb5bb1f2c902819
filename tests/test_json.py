from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_py.constraints.json import json as any_json
from domino_py.constraints.json_strings import canonical_text, encode_ranges
from tests.shared_data import shared_lines
from tokenizer_align.errors import InvalidOption
from tokenizer_align.expressions import repeat
from tokenizer_align.recognizer import matches

DEFAULT = any_json()
COMPACT = any_json(whitespace="compact")
UNBOUNDED = any_json(whitespace="unbounded", digits="unbounded")


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "-0.5e+10",
        '""',
        "[]",
        "{}",
        '{"a": [1, {"b": null}]}',
        "[\n  1,\n  2\n]",
        '{\r\n\t"a" : 1\r\n}',
        '"\x7f"',
    ],
)
def test_default_form_accepts_what_models_write(text: str) -> None:
    assert DEFAULT.matches(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "[1,  2]",
        "[1,\n\n2]",
        "[1,\n" + " " * 65 + "2]",
        "1" * 21,
        "1e1000",
        "01",
        "[1,]",
        '{"a"}',
        "nan",
    ],
)
def test_default_form_rejects_endless_blanks_and_digits(text: str) -> None:
    assert not DEFAULT.matches(text)


@pytest.mark.parametrize("text", [" [1 ,\t2]\n\n", "123456789012345678901", "1e1000", "[1,  2]"])
def test_unbounded_form_is_the_specification(text: str) -> None:
    assert UNBOUNDED.matches(text)


def test_compact_form_has_no_blanks() -> None:
    assert COMPACT.matches('{"a":[1,2],"b":"x y"}')
    assert not COMPACT.matches('{"a": 1}') and not COMPACT.matches("[1, 2]")


def test_max_digits_counts_before_and_after_the_point() -> None:
    three = any_json(max_digits=3)
    assert three.matches("-123.456") and not three.matches("1234") and not three.matches("0.1234")


def test_strings_have_every_escape_and_no_lone_surrogate() -> None:
    assert DEFAULT.matches(r'"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00"') and DEFAULT.matches('"é😀"')
    for text in (
        r'"\ud83d"',
        r'"\ude00"',
        r'"\ud83dx"',
        r'"\ud83d\ud83d"',
        r'"\x41"',
        r'"\u12"',
        '"a\nb"',
        '"it\\\'s"',
    ):
        assert not DEFAULT.matches(text), text
    assert not DEFAULT.matches(b'"\xff"') and not DEFAULT.matches(b'"\xed\xa0\x80"')


@pytest.mark.parametrize(
    "options", [{"whitespace": "flexibel"}, {"digits": "few"}, {"max_digits": 0}, {"max_digits": True}]
)
def test_unknown_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        any_json(**options)


def test_parsing_tests_are_right_both_ways() -> None:
    wrong = []
    for test in shared_lines("data/json_test_suite.jsonl"):
        found = UNBOUNDED.matches(base64.b64decode(test["bytes_base64"]))
        if test["expect"] != "either" and found != (test["expect"] == "accept"):
            wrong.append(test["name"])
    assert wrong == []


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


@given(values, st.booleans(), st.sampled_from([None, 1, 2, 4]))
def test_every_dumped_value_is_legal_when_unbounded(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert UNBOUNDED.matches(text)
    bounded = any_json(digits="unbounded")
    assert bounded.matches(text)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_canonical_characters_spell_what_dumps_writes(text: str) -> None:
    every = repeat(encode_ranges([(0, 0x10FFFF)]), 0, None)
    assert matches(every, canonical_text(text)[1:-1])


@given(st.text(max_size=8), st.text(max_size=8))
def test_mutated_texts_agree_with_python(text: str, insert: str) -> None:
    """Python's reader is the reference, where it is as strict: no NaN, no lone surrogates."""
    for data in (text, f'["{text}",{insert}]', f"[{insert}]"):
        try:
            json.loads(data, parse_constant=lambda name: 1 / 0).__repr__()
            expected = True
        except (ValueError, ZeroDivisionError):
            expected = False
        if "\\u" not in data:
            assert UNBOUNDED.matches(data) == expected, data
