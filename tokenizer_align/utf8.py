"""Code points as UTF-8 byte expressions (RFC 3629): ranges are split where the encoded bytes split.

The method is the usual one (Ken Thompson's; see also Rust's `utf8-ranges`): cut a range at encoding lengths and at
continuation-byte boundaries until first and last code point differ in one trailing block only.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from .expressions import EMPTY, Expr, alt, byte_set, seq

_LIMITS = ((0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))


def normalize(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted, disjoint, merged inclusive ranges, without the surrogates U+D800 to U+DFFF."""
    merged: list[list[int]] = []
    for lo, hi in sorted(ranges):
        for part_lo, part_hi in ((lo, min(hi, 0xD7FF)), (max(lo, 0xE000), min(hi, 0x10FFFF))):
            if part_lo > part_hi:
                continue
            if merged and part_lo <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], part_hi)
            else:
                merged.append([part_lo, part_hi])
    return tuple((lo, hi) for lo, hi in merged)


def complement(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """All code points outside the ranges (never surrogates)."""
    result, start = [], 0
    for lo, hi in normalize(ranges):
        if lo > start:
            result.append((start, lo - 1))
        start = hi + 1
    if start <= 0x10FFFF:
        result.append((start, 0x10FFFF))
    return normalize(result)


def code_points(ranges: Iterable[tuple[int, int]]) -> Expr:
    """One code point out of inclusive ranges, as its UTF-8 bytes."""
    return _encode(normalize(ranges))


@lru_cache(maxsize=4096)
def _encode(ranges: tuple[tuple[int, int], ...]) -> Expr:
    paths: list[tuple[tuple[int, int], ...]] = []
    for lo, hi in ranges:
        for limit_lo, limit_hi in _LIMITS:
            if max(lo, limit_lo) <= min(hi, limit_hi):
                _split(max(lo, limit_lo), min(hi, limit_hi), paths)
    return _join(paths)


def _split(lo: int, hi: int, paths: list[tuple[tuple[int, int], ...]]) -> None:
    size = len(chr(lo).encode())
    for i in range(1, size):
        block = (1 << (6 * i)) - 1
        if lo & ~block != hi & ~block:
            if lo & block:
                _split(lo, lo | block, paths)
                _split((lo | block) + 1, hi, paths)
                return
            if hi & block != block:
                _split(lo, (hi & ~block) - 1, paths)
                _split(hi & ~block, hi, paths)
                return
    paths.append(tuple(zip(chr(lo).encode(), chr(hi).encode(), strict=True)))


def _join(paths: list[tuple[tuple[int, int], ...]]) -> Expr:
    """Paths of byte ranges as one expression, common tails shared so that lead bytes merge into one set."""
    tails: dict[tuple[tuple[int, int], ...], int] = {}
    for path in paths:
        (lo, hi), tail = path[0], path[1:]
        tails[tail] = tails.get(tail, 0) | ((1 << (hi + 1)) - (1 << lo))
    by_lead: dict[int, list[tuple[tuple[int, int], ...]]] = {}
    for tail, mask in tails.items():
        by_lead.setdefault(mask, []).append(tail)
    parts = [seq(byte_set(mask), _join(group) if group != [()] else seq()) for mask, group in by_lead.items()]
    return alt(*parts) if parts else EMPTY


ANY_CHAR = code_points([(0, 0x10FFFF)])
