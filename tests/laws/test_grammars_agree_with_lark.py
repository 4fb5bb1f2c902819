"""`matches` against Lark's Earley parser with its dynamic lexer, which tries every way to cut a text into terminals.

DOMINO_SLOW draws 10,000 pairs of a grammar and a text, in chunks; the default draws some hundreds.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_py as domino
from tests.grammar_strategies import grammar_or_reject, grammars
from tokenizer_align import recognizer

lark = pytest.importorskip("lark", reason="Lark is the reference here")

CHUNKS = 25 if os.environ.get("DOMINO_SLOW") else 1
TEXTS = 8
LIMIT_S = 1.0  # Lark needs minutes for some ambiguous grammars: those texts are left out


class _TooSlow(Exception):
    pass


@contextmanager
def time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def lark_takes(parser: lark.Lark, text: str) -> bool | None:
    """Whether Lark parses the text; None where it takes too long."""
    try:
        with time_limit():
            parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except _TooSlow:
        return None
    return True


def random_text(constraint: domino.Constraint, letters: str, rng: random.Random) -> str:
    """Letters that mostly go on as the grammar allows, so that legal texts are among them."""
    here, text = recognizer.start(constraint.expression), ""
    for _ in range(rng.randrange(9)):
        legal = [letter for letter in letters if recognizer.step(here, ord(letter))]
        letter = rng.choice(legal if legal and rng.random() < 0.95 else letters)
        here, text = recognizer.step(here, ord(letter)), text + letter
    return text


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_matches_agrees_with_lark(chunk: int) -> None:
    n_pairs = n_legal = 0

    @settings(max_examples=50, database=None)
    @given(grammars("xyz", ignores=True), st.integers(0, 2**32))
    def compare(text: str, seed: int) -> None:
        nonlocal n_pairs, n_legal
        rng = random.Random(seed * CHUNKS + chunk)
        constraint = grammar_or_reject(text)
        parser = lark.Lark(text, parser="earley", lexer="dynamic_complete", ambiguity="resolve")
        for _ in range(TEXTS):
            candidate = random_text(constraint, "xyz " if "%ignore" in text else "xyz", rng)
            expected = lark_takes(parser, candidate)
            if expected is None:
                return
            assert constraint.matches(candidate) == expected, candidate
            n_pairs, n_legal = n_pairs + 1, n_legal + expected

    compare()
    assert n_pairs >= 6 * 50 and n_legal >= n_pairs // 10


KEYWORDS = """
start: "if" NAME "then" NAME
NAME: /[a-z]+/
%ignore " "
"""


def test_there_is_no_longest_match_as_documented() -> None:
    """docs/grammars.md: a lexer takes `ifx` as one name; here, as with Lark's dynamic lexer, it may be `if x`."""
    ours = domino.grammar(KEYWORDS, syntax="lark")
    assert ours.matches("ifxtheny") and ours.matches("if x then y")
    assert lark_takes(lark.Lark(KEYWORDS, parser="earley", lexer="dynamic_complete"), "ifxtheny")
    assert not lark_takes(lark.Lark(KEYWORDS, parser="lalr"), "ifxtheny")
