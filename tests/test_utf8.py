"""Code points as byte expressions, against Python's own encoder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer_align import expressions as ex
from tokenizer_align import utf8
from tokenizer_align.derivatives import heads
from tokenizer_align.expressions import Expr
from tokenizer_align.recognizer import matches

EDGES = [0x00, 0x01, 0x7F, 0x80, 0x81, 0xBF, 0xC0, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF]
EDGES += [0x10000, 0x1F950, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF]
points = st.one_of(st.sampled_from(EDGES), st.integers(0, 0x10FFFF))
ranges = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))


def members_of(expr: Expr) -> set[bytes]:
    """All texts of a finite call-free expression."""
    texts, work = set(), [(expr, b"")]
    while work:
        node, text = work.pop()
        if node.memo_nullable:
            texts.add(text)
        for mask, after in heads(node):
            work += [(after, text + bytes([b])) for b in range(256) if mask >> b & 1]
    return texts


@pytest.mark.parametrize("lo", EDGES)
def test_every_edge_is_itself_and_not_its_neighbours(lo: int) -> None:
    expr = utf8.code_points([(lo, lo)])
    for point in (lo - 1, lo, lo + 1):
        if 0 <= point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
            assert matches(expr, chr(point).encode()) == (point == lo)


def test_the_basic_multilingual_plane_is_written_as_python_writes_it() -> None:
    assert members_of(utf8.code_points([(0, 0xFFFF)])) == {
        chr(point).encode() for point in range(0x10000) if not 0xD800 <= point <= 0xDFFF
    }


def test_ranges_above_it_are_written_as_python_writes_them() -> None:
    expr = utf8.code_points([(0x1F300, 0x1F6FF), (0x10FFF0, 0x10FFFF)])
    expected = [*range(0x1F300, 0x1F700), *range(0x10FFF0, 0x110000)]
    assert members_of(expr) == {chr(point).encode() for point in expected}


@pytest.mark.parametrize(
    "data",
    b"|\x80|\xc0\x80|\xc1\xbf|\xe0\x80\x80|\xe0\x9f\xbf|\xed\xa0\x80|\xed\xbf\xbf|\xf0\x80\x80\x80|\xf0\x8f\xbf\xbf"
    b"|\xf4\x90\x80\x80|\xf5\x80\x80\x80|\xff|\xc3|ab".split(b"|"),
)
def test_any_character_refuses_what_is_not_one_code_point_in_utf8(data: bytes) -> None:
    assert not matches(utf8.ANY_CHAR, data)


def test_surrogates_are_dropped() -> None:
    assert utf8.normalize([(0xD800, 0xDFFF)]) == ()
    assert utf8.code_points([(0xD800, 0xDFFF)]) is ex.EMPTY
    assert utf8.normalize([(0xD000, 0xE001)]) == ((0xD000, 0xD7FF), (0xE000, 0xE001))


def test_normalize_sorts_and_merges() -> None:
    assert utf8.normalize([(5, 9), (0, 4), (20, 30), (25, 40), (42, 42)]) == ((0, 9), (20, 40), (42, 42))


def test_complement_of_everything_is_nothing() -> None:
    assert utf8.complement([(0, 0x10FFFF)]) == ()
    assert utf8.complement([]) == ((0, 0xD7FF), (0xE000, 0x10FFFF))


@given(st.lists(ranges, max_size=4), st.lists(points, min_size=1, max_size=20))
def test_ranges_agree_with_python(drawn: list[tuple[int, int]], tried: list[int]) -> None:
    expr, outside = utf8.code_points(drawn), utf8.code_points(utf8.complement(drawn))
    for point in tried + [p for pair in drawn for p in (pair[0] - 1, *pair, pair[1] + 1)]:
        if 0 <= point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
            inside = any(lo <= point <= hi for lo, hi in drawn)
            assert matches(expr, chr(point).encode()) == inside
            assert matches(outside, chr(point).encode()) != inside


@given(st.binary(max_size=4))
def test_any_character_is_what_python_decodes_to_one(data: bytes) -> None:
    try:
        is_one = len(data.decode()) == 1
    except UnicodeDecodeError:
        is_one = False
    assert matches(utf8.ANY_CHAR, data) == is_one
