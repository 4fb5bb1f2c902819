"""The shortest text of an expression, rules included: Knuth's generalization of Dijkstra's algorithm (1977).

Needed to close a text in time (law 6) and to say before the first pass that a length limit cannot be met. Among texts
of equal length a fixed order of bytes decides, so that the answer is always the same one.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from . import member_steps
from .derivatives import heads, is_known_live, is_live
from .errors import TooComplex
from .expressions import (
    EMPTY,
    K_ALT,
    K_ANCHOR,
    K_BOTH,
    K_CALL,
    K_EPSILON,
    K_KEYS,
    K_LAZY,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_UNIQUE,
    K_WORDS,
    Expr,
    Rule,
    seq_parts,
)
from .lengths import is_surely_empty, lengths
from .unique import CLOSING, OPENING

_ORDER = sorted(range(256), key=lambda b: (not chr(b).isalnum() or b > 126, not 32 <= b < 127, b))
_RANK = bytes(_ORDER.index(b) for b in range(256))
MAX_BYTES = 1 << 20  # no model writes so much; without a bound, a{1000000000} would be built in memory
TOO_LONG: Final = bytes(MAX_BYTES + 1)  # stands for every longer text

if TYPE_CHECKING:
    from .members import Member, MemberSpec

Known = dict[Rule, bytes | None]


def best_byte(mask: int) -> int:
    """The preferred byte of a mask: letters and digits first, then what can be printed."""
    return next(b for b in _ORDER if mask >> b & 1)


@lru_cache(4096)
def byte_order(mask: int) -> tuple[int, ...]:
    """The bytes of a mask, the preferred ones first."""
    return tuple(b for b in _ORDER if mask >> b & 1)


def _better(a: bytes | None, b: bytes | None) -> bytes | None:
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        return a if len(a) < len(b) else b
    return a if a is b else min(a, b, key=_cost)


def _cost(text: bytes) -> tuple[int, bytes]:
    return len(text), text.translate(_RANK)


def shortest(node: Expr) -> bytes | None:
    """The shortest byte string of the node; None for the empty language.

    Raises TooComplex where even the shortest one is longer than `MAX_BYTES`.
    """
    value = shortest_or_too_long(node)
    if value is not None and len(value) > MAX_BYTES:
        raise too_long()
    return value


def too_long() -> TooComplex:
    """The error for what cannot be completed with `MAX_BYTES`."""
    return TooComplex(f"even the shortest text has more than {MAX_BYTES:,} bytes; no model writes so much")


def shortest_or_too_long(node: Expr) -> bytes | None:
    """The same, but any text of more than `MAX_BYTES` where it would raise."""
    if node.memo_shortest is None:
        node.memo_shortest = _relax(node, {})
    return node.memo_shortest


def _relax(node: Expr, known: Known) -> bytes | None:
    value = _shortest(node, known)
    found: list[Rule] = []
    while len(found) < len(known):  # the rules that can be reached, callers first
        for rule in list(known)[len(found) :]:
            found.append(rule)
            known[rule] = _shortest(rule.body, known)
    changed = True
    while changed:
        changed = False
        for rule in reversed(found):
            text = _better(known[rule], _shortest(rule.body, known))
            if text != known[rule]:
                known[rule], changed = text, True
    for rule, final in known.items():
        if final is not None and rule.body.memo_shortest is None:
            rule.body.memo_shortest = final
    return _shortest(node, known) if known else value


def _shortest(node: Expr, known: Known) -> bytes | None:
    if node.memo_shortest is not None:
        return node.memo_shortest
    kind = node.kind
    if node is EMPTY:
        return None
    if kind == K_EPSILON:
        return b""
    if kind == K_SET:
        return bytes([best_byte(node.data)])
    if kind == K_LIT:
        return bytes(node.data)
    if kind == K_CALL:
        final = node.data.body.memo_shortest
        return final if final is not None else known.setdefault(node.data, None)
    if kind == K_SEQ:
        return _join(*(_shortest(part, known) for part in seq_parts(node)))
    if kind == K_ALT:
        best: bytes | None = None
        for arg in node.args:
            best = _better(best, _shortest(arg, known))
        return best
    if kind == K_REPEAT:
        lo = node.data[0]
        item = _shortest(node.args[0], known) if lo else b""
        if item is not None and len(item) * lo > MAX_BYTES:
            return TOO_LONG
        return None if item is None else item * lo
    if kind == K_WORDS:
        source, first, last, depth = node.data
        word = min(source.items[first:last], key=lambda text: (len(text), text.translate(_RANK)))
        return bytes(word[depth:])
    if kind == K_KEYS:
        return _shortest_members(node, known)
    if kind == K_ANCHOR:
        return bytes([CLOSING[node.data]])
    if kind == K_UNIQUE:
        kind_of = node.data[0]
        return _join(bytes([OPENING[kind_of]]), _shortest(node.args[0], known), bytes([CLOSING[kind_of]]))
    assert kind in (K_BOTH, K_NEG, K_LAZY)
    return _by_search(node)


def _by_search(node: Expr) -> bytes | None:
    """Best first over derivatives, by length so far and a lower bound of the rest (A*); a fixed order of equals."""
    if not is_live(node):
        return None
    best: dict[Expr, tuple[int, bytes]] = {node: (0, b"")}
    work = [(lengths(node)[0], b"", node.uid, node, b"")]
    while work:
        _, ranked, _, state, text = heappop(work)
        if best[state] != (len(text), ranked):
            continue
        if state.memo_nullable:
            node.memo_shortest = text
            return text
        for mask, after in heads(state):
            longer = text + bytes([best_byte(mask)])
            found = (len(longer), longer.translate(_RANK))
            if (after not in best or found < best[after]) and not is_surely_empty(after) and is_known_live(after):
                best[after] = found
                heappush(work, (found[0] + lengths(after)[0], found[1], after.uid, after, longer))
    return None


def _shortest_members(node: Expr, known: Known) -> bytes | None:
    """The required members in declared order and the cheapest others, as many as must come."""
    spec, open_keys, count, position = node.data
    if not spec.is_plain:
        return member_steps.shortest(
            node, lambda part: _shortest(part, known), lambda texts: reduce(_better, texts, None)
        )
    if position:
        return _shortest_from_key(node, known)
    required = open_keys & spec.required_keys
    chosen = {rank: _member(spec.by_rank(rank), known) for rank in spec.order if required >> rank & 1}
    missing = max(max(spec.lo - count, 1) - len(chosen), 0)
    if spec.hi is not None and count + len(chosen) + missing > spec.hi:
        return None
    others: list[bytes | None] = []
    if missing:
        extra = _extra_member(spec, known)
        options = [
            (rank, _member(spec.by_rank(rank), known)) for rank in spec.order if (open_keys & ~required) >> rank & 1
        ]
        better = [(rank, text) for rank, text in options if text is not None and _better(text, extra) == text]
        better.sort(key=lambda pair: _cost(pair[1]))
        chosen |= dict(better[:missing])
        others = [extra] * (missing - len(better[:missing]))
    order = sorted(chosen, key=spec.order.index) if spec.ordered else chosen
    parts = [*(chosen[rank] for rank in order), *others, _shortest(spec.close, known)]
    separator = _shortest(spec.separator, known) if len(parts) > 2 else b""
    between = [one for part in parts[:-1] for one in (separator, part)][1:]
    return _join(*between, parts[-1])


def _member(member: Member, known: Known) -> bytes | None:
    return _join(member.text, _shortest(member.rest, known))


def _extra_member(spec: MemberSpec, known: Known) -> bytes | None:
    if spec.extra_key is None or spec.extra_rest is None:
        return None
    return _join(_shortest(spec.extra_key, known), _shortest(spec.extra_rest, known))


def _join(*parts: bytes | None) -> bytes | None:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return TOO_LONG if sum(map(len, found)) > MAX_BYTES else b"".join(found)


def _shortest_from_key(node: Expr, known: Known) -> bytes | None:
    """Inside a key: the shortest over the keys that are still open below this place."""
    from .members import after_extra, after_key, allowed_keys, extra_allowed, extra_state

    spec, open_keys, count, position = node.data
    here = spec.nodes[position]
    allowed = allowed_keys(spec, open_keys, count)
    best: bytes | None = None
    for rank in range(here.lo, here.hi):
        if allowed >> rank & 1:
            rest = [_shortest(frame, known) for frame in after_key(spec, open_keys, count, rank)]
            best = _better(best, _join(spec.by_rank(rank).text[here.depth :], *rest))
    if extra_allowed(spec, open_keys, count):
        rest = [_shortest(frame, known) for frame in after_extra(spec, open_keys, count)]
        best = _better(best, _join(_shortest(extra_state(spec, position), known), *rest))
    return best
