"""How long the strings of a call-free node are: bounds by structure, never by search.

Two measures: bytes, and *leads*, the bytes that do not continue a UTF-8 character, which in text without escapes are
its characters. The bounds may be loose, so `hi < lo` proves that nothing is left, and the lower bound in bytes never
overestimates: both guide the searches that decide whether an intersection holds anything.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

from .expressions import (
    ALL_BYTES,
    EMPTY,
    K_ALT,
    K_BOTH,
    K_EMPTY,
    K_EPSILON,
    K_LAZY,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_WORDS,
    Expr,
    seq_parts,
)

Lengths = tuple[int, int | None, int, int | None]  # bytes: at least, at most (None: any number); leads: the same

_CONTINUING = ((1 << 64) - 1) << 0x80
_NOTHING: Lengths = (1, 0, 1, 0)
_MAX_WORDS = 1_000  # of more words only whether there is an empty one is looked at


def lengths(node: Expr) -> Lengths:
    """Bounds of the number of bytes and of leads in the strings of a call-free node.

    >>> from .expressions import lit, repeat, alt
    >>> lengths(repeat(alt(lit(b"ab"), lit(b"\\xc3\\xa4")), 2, 3))
    (4, 6, 2, 6)
    """
    work = [node] if node.memo_lengths is None else []
    while work:  # parts first, and not by recursion: a bound of a thousand digits is a thousand nodes deep
        here = work[-1]
        parts = () if here.kind == K_NEG else here.args
        waiting = [part for part in parts if part.memo_lengths is None]
        work += waiting
        if not waiting:
            here.memo_lengths = _lengths(here)
            work.pop()
    assert node.memo_lengths is not None
    return node.memo_lengths


def is_surely_empty(node: Expr) -> bool:
    """Whether the bounds alone show that a call-free node holds no string."""
    bytes_lo, bytes_hi, leads_lo, leads_hi = lengths(node)
    return (bytes_hi is not None and bytes_lo > bytes_hi) or (leads_hi is not None and leads_lo > leads_hi)


def bytes_of(node: Expr) -> int:
    """A mask of the bytes that may occur in the strings of a call-free node; it may name too many, never too few."""
    kind = node.kind
    if kind == K_SET:
        return int(node.data)
    if kind == K_LIT:
        return _mask_of(node.data)
    if kind in (K_NEG, K_LAZY):
        return ALL_BYTES
    if kind == K_WORDS:
        source, first, last, depth = node.data
        return (
            ALL_BYTES if last - first > _MAX_WORDS else _mask_of(b"".join(w[depth:] for w in source.items[first:last]))
        )
    masks = [bytes_of(part) for part in (seq_parts(node) if kind == K_SEQ else node.args)]
    return reduce(and_ if kind == K_BOTH else or_, masks, ALL_BYTES if kind == K_BOTH else 0)


def _mask_of(text: bytes) -> int:
    return reduce(or_, (1 << byte for byte in set(text)), 0)


def _lengths(node: Expr) -> Lengths:
    kind = node.kind
    if kind == K_EMPTY:
        return _NOTHING
    if kind == K_EPSILON:
        return (0, 0, 0, 0)
    if kind == K_SET:
        return (1, 1, int(not node.data & _CONTINUING), int(bool(node.data & ~_CONTINUING)))
    if kind == K_LIT:
        n_leads = _n_leads(node.data)
        return (len(node.data), len(node.data), n_leads, n_leads)
    if kind == K_SEQ:
        return _sum(lengths(node.args[0]), lengths(node.args[1]))
    if kind == K_REPEAT:
        return _repeated(lengths(node.args[0]), *node.data)
    if kind == K_ALT:
        return _widest([found for found in map(lengths, node.args) if not _is_empty(found)])
    if kind == K_BOTH:
        return _narrowest([lengths(arg) for arg in node.args])
    if kind == K_WORDS and node.data[2] - node.data[1] <= _MAX_WORDS:
        source, first, last, depth = node.data
        rests = [word[depth:] for word in source.items[first:last]]
        sizes, leads = [len(rest) for rest in rests], [_n_leads(rest) for rest in rests]
        return (min(sizes), max(sizes), min(leads), max(leads))
    if kind == K_NEG and node.args[0] is EMPTY:
        return (0, None, 0, None)
    return (0 if node.memo_nullable else 1, None, 0, None)


def _n_leads(text: bytes) -> int:
    return sum(not 0x80 <= byte < 0xC0 for byte in text)


def _is_empty(found: Lengths) -> bool:
    return (found[1] is not None and found[0] > found[1]) or (found[3] is not None and found[2] > found[3])


def _sum(one: Lengths, other: Lengths) -> Lengths:
    if _is_empty(one) or _is_empty(other):
        return _NOTHING
    bytes_hi = None if one[1] is None or other[1] is None else one[1] + other[1]
    leads_hi = None if one[3] is None or other[3] is None else one[3] + other[3]
    return (one[0] + other[0], bytes_hi, one[2] + other[2], leads_hi)


def _repeated(item: Lengths, lo: int, hi: int | None) -> Lengths:
    if _is_empty(item):
        return _NOTHING if lo else (0, 0, 0, 0)
    bytes_hi = None if hi is None or item[1] is None else hi * item[1]
    leads_hi = None if hi is None or item[3] is None else hi * item[3]
    return (lo * item[0], bytes_hi, lo * item[2], leads_hi)


def _widest(parts: list[Lengths]) -> Lengths:
    if not parts:
        return _NOTHING
    return (
        min(part[0] for part in parts),
        None if any(part[1] is None for part in parts) else max(part[1] or 0 for part in parts),
        min(part[2] for part in parts),
        None if any(part[3] is None for part in parts) else max(part[3] or 0 for part in parts),
    )


def _narrowest(parts: list[Lengths]) -> Lengths:
    bytes_hi = [part[1] for part in parts if part[1] is not None]
    leads_hi = [part[3] for part in parts if part[3] is not None]
    return (
        max(part[0] for part in parts),
        min(bytes_hi, default=None),
        max(part[2] for part in parts),
        min(leads_hi, default=None),
    )
