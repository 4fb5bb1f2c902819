"""Residual tries that are made in parts: masks are exact where a frame may end nearly anywhere, however it goes on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_py as domino
from tests.reference.drawn_walks import assert_masks_are_what_can_be_read
from tests.reference.languages import DrawnVocabulary, vocabularies
from tokenizer_align import residuals
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary

GRAMMARS = {
    "text that may begin again behind every character": 'start: (text | tag)* "c"\ntext: /[ab]/+\ntag: "c" start "a"',
    "the same by recursion": 'start: text start | tag start | "b"\ntext: /[ab]+/\ntag: "c" start "c"',
    "names that are ignored blanks apart or not": 'start: NAME+ "(" start? ")"\nNAME: /[abc]+/\n%ignore " "',
    "names without keywords": 'start: NAME ("c" start | "b")\nNAME: /(?!(?:ab|b|ca)\\b)[abc]+/',
    "two kinds of names": 'start: ONE start? TWO\nONE: /[ab]+/\nTWO: /[bc]+/',
    "names that push frames": 'start: /[ab]/ start "c" | /[bc]/ item\nitem: "a" item "b" | /[ac]+/',
}  # fmt: skip


@pytest.mark.parametrize("text", GRAMMARS.values(), ids=GRAMMARS.keys())
@pytest.mark.parametrize("max_eager", [0, 2, residuals.MAX_EAGER])
def test_masks_are_exact(text: str, max_eager: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residuals, "MAX_EAGER", max_eager)
    expr = domino.grammar(text, syntax="lark").expression
    letters = [b"a", b"b", b"c", b"(", b")", b" "]

    @settings(max_examples=25, deadline=None, database=None)
    @given(vocabularies(), st.data())
    def check(drawn: DrawnVocabulary, data: st.DataObject) -> None:
        words = data.draw(st.lists(st.text("abc() ", min_size=2, max_size=5).map(str.encode), max_size=12))
        vocabulary = Vocabulary.from_bytes([*letters, *words, *drawn.token_bytes], ())
        compiled = Compiled(expr, vocabulary, engine=Engine(vocabulary, 1, wide_bytes=1))
        assert_masks_are_what_can_be_read(compiled, expr, data, 5)

    check()
