"""Bounds of lengths, and the searches that they guide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.languages import regular
from tokenizer_align import derivatives
from tokenizer_align import expressions as ex
from tokenizer_align.derivatives import heads, is_live
from tokenizer_align.errors import TooComplex
from tokenizer_align.lengths import bytes_of, is_surely_empty, lengths
from tokenizer_align.moves import moves
from tokenizer_align.recognizer import matches
from tokenizer_align.shortest import shortest

AB = ex.byte_set(b"ab")
FAR_BACK = ex.seq(ex.star(AB), ex.lit(b"a"), ex.repeat(AB, 20, 20))  # 2^20 states as a deterministic automaton


def test_bytes_and_characters_are_counted() -> None:
    assert lengths(ex.seq(ex.lit("ä€".encode()), ex.repeat(AB, 2, 7))) == (7, 12, 4, 9)
    assert lengths(ex.words([b"abc", b"z"])) == (1, 3, 1, 3)
    assert lengths(ex.ALL) == (0, None, 0, None)


def test_an_intersection_of_lengths_that_exclude_each_other_is_surely_empty() -> None:
    assert is_surely_empty(ex.both_unchecked(ex.repeat(AB, 5, None), ex.repeat(ex.byte_set(b"bc"), 0, 4)))


def test_a_pattern_that_looks_far_back_is_decided_within_a_length() -> None:
    """Depth first it took 22 s to give up."""
    tight = ex.both(FAR_BACK, ex.repeat(AB, 0, 22))
    assert shortest(tight) == b"a" * 21
    assert matches(tight, b"ba" + b"b" * 20) and not matches(tight, b"bb" + b"b" * 20)
    assert ex.both(FAR_BACK, ex.repeat(AB, 0, 20)) is ex.EMPTY


def test_what_is_too_hard_while_reading_counts_as_empty_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hard = ex.both_unchecked(*(ex.plus(ex.repeat(ex.byte_set(b"cd"), n, n)) for n in (11, 13, 17)))
    monkeypatch.setattr(derivatives, "MAX_SEARCH", 100)
    with pytest.raises(TooComplex):
        is_live(hard)
    ((_, (after,)),) = moves(ex.alt(ex.lit(b"c"), hard))  # after "c" the text may end, or go on in the hard part
    assert after.memo_nullable and moves(after) == ()
    assert "left out" in caplog.text


@given(regular, st.integers(0, 3))
def test_every_string_keeps_the_bounds(expr: ex.Expr, seed: int) -> None:
    text, here = b"", expr
    for step in range(12):
        if here.memo_nullable:
            lo, hi, leads_lo, leads_hi = lengths(expr)
            assert lo <= len(text) and (hi is None or len(text) <= hi)
            n_leads = sum(not 0x80 <= byte < 0xC0 for byte in text)
            assert leads_lo <= n_leads and (leads_hi is None or n_leads <= leads_hi)
            assert all(bytes_of(expr) >> byte & 1 for byte in text)
        ways = [(mask, after) for mask, after in heads(here) if is_live(after)]
        if not ways:
            break
        mask, here = ways[(seed + step) % len(ways)]
        text += bytes([mask.bit_length() - 1])
