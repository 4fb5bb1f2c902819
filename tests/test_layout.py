"""The layout of a text is read off it, and says what blanks come next."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tokenizer_align.layout import DEFAULT_LAYOUT, LayoutTracker, observe

DOCUMENT = {"a": [1, 2, {"b": 'x, y: {\n "', "c": []}], "d": {"e": None}, "f": {}}


def styles() -> list[dict[str, Any]]:
    return [{}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {"indent": 0}]


@pytest.mark.parametrize("style", styles())
def test_a_documents_style_is_recognized(style: dict[str, Any]) -> None:
    layout = observe(json.dumps(DOCUMENT, **style).encode())
    assert layout.colon == (b"" if style.get("separators") else b" ")
    indent = style.get("indent")
    assert layout.indent == (None if indent is None else indent.encode() if isinstance(indent, str) else b" " * indent)
    if indent is None:
        assert layout.comma == (b"" if style.get("separators") else b" ")


@pytest.mark.parametrize("style", styles())
def test_blanks_are_foreseen_once_the_style_is_known(style: dict[str, Any]) -> None:
    text = json.dumps({"k": {"x": 1, "y": [1, 2]}, "m": DOCUMENT, "n": DOCUMENT}, **style).encode()
    tracker = LayoutTracker()
    depth, in_string, wrong, places = 0, False, 0, 0
    index = 0
    while index < len(text):
        byte = text[index : index + 1]
        if not in_string and (byte in b" \n\t" or text[index - 1 : index] in (b":", b",", b"{", b"[")) and index:
            end = index
            while text[end : end + 1] in (b" ", b"\n", b"\t"):
                end += 1
            following = text[end : end + 1]
            inner = depth - (following in (b"}", b"]"))
            guess = tracker.layout.whitespace(text[index - 1 : index], inner, following)
            if index > len(text) // 3:
                places += 1
                wrong += guess != text[index:end]
            tracker.feed(text[index:end])
            index = end
            byte = following
        if byte == b'"' and text[index - 1 : index] != b"\\":
            in_string = not in_string
        elif not in_string:
            depth += (byte in (b"{", b"[")) - (byte in (b"}", b"]"))
        tracker.feed(byte)
        index += 1
    assert places > 15
    assert wrong == 0


def test_nothing_seen_means_the_commonest() -> None:
    assert observe(b'{"a":') == observe(b'{"a"')
    assert observe(b"") == DEFAULT_LAYOUT
    assert DEFAULT_LAYOUT.whitespace(b":", 1) == b" "
    assert DEFAULT_LAYOUT.whitespace(b",", 1) == b" "
    assert DEFAULT_LAYOUT.whitespace(b"{", 1, b'"') == b""


def test_an_opening_line_break_means_indentation_everywhere() -> None:
    layout = observe(b'{\n  "a": 1')
    assert layout.whitespace(b",", 1) == b"\n  "
    assert layout.whitespace(b"1", 0, b"}") == b"\n"
    assert layout.whitespace(b"{", 2, b'"') == b"\n    "


def test_lists_on_one_line_inside_an_indented_text_are_noticed() -> None:
    layout = observe(b'{\n  "a": [1, 2],\n  "b": [3')
    assert layout.whitespace(b",", 2) == b" "
    assert layout.whitespace(b"3", 1, b"]") == b""
    assert observe(b'{\n  "a": [1, 2],\n  "b": [3]').whitespace(b",", 1) == b"\n  "
    assert observe(b'{\n  "a": [1, 2],\n  "b":').whitespace(b"[", 2, b"3") == b""


def test_empty_brackets_hold_no_blanks() -> None:
    assert observe(b'{\n  "a": 1').whitespace(b"[", 1, b"]") == b""


def test_strings_do_not_count() -> None:
    assert observe(b'["a:b,c{\\"d: [", ') == observe(b'["x", ')


def test_a_text_read_in_pieces_shows_the_same_layout() -> None:
    text = json.dumps(DOCUMENT, indent=2).encode()
    tracker = LayoutTracker()
    for byte in text:
        tracker.feed(bytes([byte]))
    assert tracker.layout == observe(text)
