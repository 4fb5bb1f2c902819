"""Frames less finitely many words, read byte by byte: what follows is what Python's `re` says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_py as domino
from tests.reference.drawn_walks import assert_masks_are_what_can_be_read
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary

PATTERNS = {
    "names less keywords": r"(?!(?:ab|aba|b|za|zab)\b)[a-z]+",
    "in any letter case": r"(?!(?ai:ab|abz|z|az)\b)[A-Za-z][A-Za-z0-9]*",
    "sets that overlap": r"(?!(?:[ab]z|a[yz]|zz?)\b)[a-z]+",
    "several in a frame": r"(?!(?:a|ab)\b)[a-z]+(?: (?!(?:b|ba)\b)[a-z]+)*",
    "counted": r"(?!(?:ab|z)\b)[a-z]{1,4}",
}
GRAMMARS = {
    "behind words of functions": r"""
        start: operand ("," operand)*
        operand: NAME ("." NAME)? | ("sa" | "az") "(" operand ")" | "(" start ")"
        NAME: /(?!(?:ab|aba|zab)\b)[a-z]+/
    """,
    "before letters": r"""
        start: (NAME ("a" | "by" | "(" start? ")"))+
        NAME: /(?!(?:ab|b|zab)\b)[a-z]+/ | /(?!(?:00?)\b)[0-9]+/
    """,
}
TOKENS = st.lists(st.text("abzsyAB0 (),.", min_size=1, max_size=4).map(str.encode), max_size=12)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS.keys())
def test_texts_are_read_as_by_re(pattern: str) -> None:
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(128)), None], (128,))
    compiled = Compiled(domino.regex(pattern).expression, vocabulary, engine=Engine(vocabulary))

    @given(st.text("abzyAB0 ", max_size=7))
    def check(text: str) -> None:
        matcher = compiled.matcher()
        is_read = all(matcher.accepts(ord(char)) and matcher.advance(ord(char)) is None for char in text)
        assert (is_read and matcher.is_complete()) == bool(re.fullmatch(pattern, text))
        if is_read:
            assert re.fullmatch(pattern, (text.encode() + compiled.completion(matcher.configuration)).decode())

    check()


CONSTRAINTS = {name: domino.regex(pattern) for name, pattern in PATTERNS.items()} | {
    name: domino.grammar(text, syntax="lark") for name, text in GRAMMARS.items()
}


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS.keys())
def test_masks_are_exact(constraint: domino.Constraint) -> None:
    expr = constraint.expression

    @settings(max_examples=20, deadline=None, database=None)
    @given(TOKENS, st.data())
    def check(tokens: list[bytes], data: st.DataObject) -> None:
        vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *tokens], ())
        compiled = Compiled(expr, vocabulary, engine=Engine(vocabulary, 1, wide_bytes=1))
        assert_masks_are_what_can_be_read(compiled, expr, data, 4)

    check()
