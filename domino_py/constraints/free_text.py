"""Free text: anything at all, up to the first place where one of some triggers has been written.

Where a trigger is written in ordinary tokens, it may straddle them, and a token may end inside it: what decides is the
text. `up_to` holds the texts that end with the first trigger; where several end there, the longest counts. A trigger
that is one token of the vocabulary ends the text in front of it instead; its spelled form is legal nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tokenizer_align.derivatives import heads
from tokenizer_align.expressions import (
    ALL,
    ALL_BYTES,
    EMPTY,
    EPSILON,
    Expr,
    LazyState,
    alt,
    both,
    byte_set,
    frame,
    lazy,
    lit,
    neg,
    repeat,
    seq,
    star,
)
from tokenizer_align.markers import Reading
from tokenizer_align.utf8 import code_points

__all__ = ["free_text", "part", "up_to"]

_BYTE = byte_set(ALL_BYTES)
_CONTINUED = byte_set(range(0x80, 0xC0))  # the rest of a character (RFC 3629)


@lru_cache(maxsize=256)
def free_text(triggers: tuple[bytes, ...]) -> Expr:
    """All texts in which none of the triggers occurs."""
    text = star(code_points([(0, 0x10FFFF)]))
    return both(text, neg(seq(ALL, alt(*map(lit, triggers)), ALL))) if triggers else text


@lru_cache(maxsize=256)
def up_to(triggers: tuple[bytes, ...], index: int) -> Expr:
    """All texts that end with the trigger of this index, and in which no trigger was complete before."""
    found = alt(*map(lit, triggers))
    longer = [lit(other) for other in triggers if other != triggers[index] and other.endswith(triggers[index])]
    return both(
        star(code_points([(0, 0x10FFFF)])),
        seq(ALL, lit(triggers[index])),
        neg(seq(ALL, found, repeat(_BYTE, 1))),
        *(neg(seq(ALL, other)) for other in longer),
    )


def part(reading: Reading, expr: Expr, n_tokens: int | None, end: bytes = b"") -> Expr:
    """A part of free text in a frame of its own, for a vocabulary; behind `n_tokens` tokens it must come to its `end`.

    Then what is left is the rest of a character, and of the end what is not there yet. With an `end` of b"" the part
    closes where it may be over.
    """
    expr = reading.plain(expr)
    symbol = None if n_tokens is None else reading.limit(n_tokens, 1 << end[-1] if end else 0)
    if symbol is None:
        return frame(expr)
    rests = alt(*(lit(end[start:]) for start in range(len(end)))) if end else EPSILON
    return frame(_limited(expr, seq(repeat(_CONTINUED, 0, 3), rests), symbol))


def _limited(expr: Expr, closing: Expr, symbol: bytes) -> Expr:
    """The language with one symbol allowed at any place, behind which only `closing` may follow: its derivatives, each
    a state with an edge more."""
    states: dict[Expr, Expr] = {}

    def state(at: Expr) -> Expr:
        found = states.get(at)
        if found is None:
            found = states[at] = lazy(LazyState(bool(at.memo_nullable), lambda: body(at)))
        return found

    def body(at: Expr) -> Expr:
        moves: Sequence[tuple[int, Expr]] = [(mask, after) for mask, after in heads(at) if after is not EMPTY]
        return alt(*(seq(byte_set(mask), state(after)) for mask, after in moves), seq(lit(symbol), both(at, closing)))

    return state(expr)
