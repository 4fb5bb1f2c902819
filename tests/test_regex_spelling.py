"""Patterns where they are used: inside JSON strings, and as masks over tokens; look-arounds that need states too."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_py.constraints.json_strings import encode_ranges
from domino_py.constraints.regex import compile_pattern
from tests.regex_patterns import patterns
from tokenizer_align.compiled import compile_expression
from tokenizer_align.errors import RegexError
from tokenizer_align.recognizer import matches, run
from tokenizer_align.vocabulary import Vocabulary

WORDS = ["foo", "ab", ". ", "a b", "é", "oo", "--", "bar", " foo", "Ab", "b\n"]
TOKENS = [*(bytes([b]) for b in "abAB1_ -.xfor\né".encode()), *(word.encode() for word in WORDS), b"\xc3", b"ab", None]
VOCABULARY = Vocabulary.from_bytes([*TOKENS, None], eos_token_ids=(len(TOKENS),))

NEEDING_STATES = [
    r"(\b\w+\b ?)+",
    r"(?:(?!foo).)*bar",
    r"(?:(?!.*x)a)*a*b?x?",
    r".*\bfoo\b.*",
    r"(?:(?!-)[a-z1-]{1,63}(?<!-)\.)+[a-z]{2,6}",
    r"(?:\w+(?<!_)\.)+",
    r"(?m)(^[ab]+$\n?)+",
]


@settings(max_examples=100)
@given(patterns(), st.lists(st.text('abA1_ -\né"\\\x01', max_size=5), min_size=2, max_size=5))
def test_a_pattern_in_a_json_string_reads_the_decoded_text(pattern: str, texts: list[str]) -> None:
    try:
        compiled = compile_pattern(pattern)
    except RegexError:
        return
    for text in texts:
        spelled = json.dumps(text, ensure_ascii=False)[1:-1].encode()
        assert matches(compiled.lower(encode_ranges), spelled) == matches(compiled.lower(), text.encode())


@pytest.mark.parametrize("pattern", [*NEEDING_STATES, r"(?=.*A)(?!.*--)[^\n]{3,9}", r"(?i)(ab|fo)\1"])
def test_masks_hold_every_token_that_can_still_be_completed(pattern: str) -> None:
    expr = compile_pattern(pattern).lower()
    compiled = compile_expression(expr, VOCABULARY)
    draw = random.Random(pattern)
    for _ in range(4):
        matcher, text = compiled.matcher(), b""
        for _ in range(10):
            bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
            legal = [i for i, token in enumerate(TOKENS) if token is not None and run(expr, text + token)]
            assert [i for i in range(len(TOKENS)) if bits[i]] == legal, text
            assert matcher.is_complete() == matches(expr, text)
            if not legal:
                break
            chosen = draw.choice(legal)
            matcher.advance(chosen)
            text += TOKENS[chosen] or b""
