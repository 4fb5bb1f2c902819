"""Expressions: the algebra of byte languages that all front ends build on.

A node denotes a set of byte strings. Smart constructors keep one form per language as far as cheap laws go (Owens,
Reppy, Turon: "Regular-expression derivatives re-examined", 2009). A *call* of a `Rule` starts a frame: an automaton of
its own that every constraint shares. The nodes themselves are in `nodes.py`, what they do when they read a byte in
`derivatives.py`, JSON objects in `members.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Final

from .errors import ConstraintError
from .nodes import (
    K_ALT,
    K_ANCHOR,
    K_BOTH,
    K_CALL,
    K_EMPTY,
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
    LazyState,
    Rule,
    WordList,
    describe,
    intern_node,
    interning,
)

__all__ = [
    "ALL",
    "ALL_BYTES",
    "EMPTY",
    "EPSILON",
    "FRAME",
    "K_ALT",
    "K_ANCHOR",
    "K_BOTH",
    "K_CALL",
    "K_EMPTY",
    "K_EPSILON",
    "K_KEYS",
    "K_LAZY",
    "K_LIT",
    "K_NEG",
    "K_REPEAT",
    "K_SEQ",
    "K_SET",
    "K_UNIQUE",
    "K_WORDS",
    "WAYS",
    "Expr",
    "LazyState",
    "Rule",
    "WordList",
    "alt",
    "both",
    "both_unchecked",
    "byte_set",
    "call",
    "describe",
    "frame",
    "intern_node",
    "lazy",
    "lit",
    "literal_bytes",
    "minus",
    "neg",
    "optional",
    "plus",
    "repeat",
    "seq",
    "seq_parts",
    "star",
    "words",
    "words_slice",
]

ALL_BYTES: Final = (1 << 256) - 1
FRAME: Final = "(frame)"  # the name of rules that `frame` makes; no rule of a grammar is called so
WAYS: Final = "(ways)"  # of those that stand for several stacks of frames
MAX_COUNT: Final = 1 << 20  # repetitions inside each other are counted together up to so many
_FACTOR_DEPTH = 8  # how many common parts are taken out at once; the rest shows itself in later derivatives

EMPTY: Final = intern_node(K_EMPTY)
EPSILON: Final = intern_node(K_EPSILON)
ALL: Final = intern_node(K_NEG, (EMPTY,))


def byte_set(members: int | Iterable[int]) -> Expr:
    """One byte out of a set, given as byte values or as a 256-bit mask."""
    mask = members if isinstance(members, int) else _mask_of(members)
    return intern_node(K_SET, (), mask) if mask else EMPTY


def _mask_of(members: Iterable[int]) -> int:
    mask = 0
    for member in members:
        if not 0 <= member <= 255:
            raise ValueError(f"{member} is not a byte")
        mask |= 1 << member
    return mask


def lit(text: bytes) -> Expr:
    """Exactly this byte string."""
    if len(text) > 1:
        return intern_node(K_LIT, (), bytes(text))
    return intern_node(K_SET, (), 1 << text[0]) if text else EPSILON


def literal_bytes(node: Expr) -> bytes | None:
    """The bytes of a literal node (also of a one-byte set), else None."""
    if node.kind == K_LIT:
        return bytes(node.data)
    if node.kind == K_SET and node.data & (node.data - 1) == 0:
        return bytes([node.data.bit_length() - 1])
    return None


def seq(*parts: Expr) -> Expr:
    """The parts one after the other."""
    result = parts[-1] if parts else EPSILON  # as it is: a derivative in front of a long rest costs no more than itself
    for part in reversed(parts[:-1]):
        for item in reversed(seq_parts(part)):
            result = _seq2(item, result)
        if result is EMPTY:
            return EMPTY
    return result


def _seq2(first: Expr, rest: Expr) -> Expr:
    """`first` (no sequence) in front of `rest`."""
    if first is EMPTY or rest is EMPTY:
        return EMPTY
    if first is EPSILON:
        return rest
    if rest is EPSILON:
        return first
    left = literal_bytes(first)
    if left is not None:
        head, tail = (rest.args[0], rest.args[1]) if rest.kind == K_SEQ else (rest, EPSILON)
        right = literal_bytes(head)
        if right is not None:
            return _seq2(lit(left + right), tail) if tail is not EPSILON else lit(left + right)
    return intern_node(K_SEQ, (first, rest))


def seq_parts(node: Expr) -> list[Expr]:
    """The parts of a sequence in order; a node that is none is its only part. Long chains need no recursion so."""
    parts = []
    while node.kind == K_SEQ:
        parts.append(node.args[0])
        node = node.args[1]
    parts.append(node)
    return parts


def alt(*choices: Expr) -> Expr:
    """Any of the choices."""
    return _alt(choices, _FACTOR_DEPTH)


def _alt(choices: Iterable[Expr], depth: int) -> Expr:
    flat: dict[Expr, None] = {}
    mask = 0
    for choice in choices:
        for item in choice.args if choice.kind == K_ALT else (choice,):
            if item.kind == K_SET:
                mask |= item.data
            elif item is not EMPTY:
                flat[item] = None
    if mask:
        flat[intern_node(K_SET, (), mask)] = None
    if len(flat) > 1:
        flat = _join_repetitions(flat)
        if depth:
            flat = _factor(flat, depth)
    if ALL in flat and not any(item.has_call for item in flat):
        return ALL
    if EPSILON in flat and any(item is not EPSILON and item.memo_nullable for item in flat):
        del flat[EPSILON]
    if len(flat) < 2:
        return next(iter(flat), EMPTY)
    return intern_node(K_ALT, tuple(sorted(flat, key=lambda node: node.uid)))


def _join_repetitions(items: dict[Expr, None]) -> dict[Expr, None]:
    """`x{0,9} a | x{0,8} a` becomes `x{0,9} a`, as always when the counts overlap or touch.

    Without it a counted class next to another that overlaps it has a state for every pair of counts.
    """
    groups: dict[tuple[Expr, Expr], list[Expr]] = {}
    for item in items:
        head, tail = item.args if item.kind == K_SEQ else (item, EPSILON)
        if head.kind == K_REPEAT:
            groups.setdefault((head.args[0], tail), []).append(item)
    for (repeated, tail), group in groups.items():
        if len(group) > 1:
            counts = sorted(((i.args[0] if i.kind == K_SEQ else i).data for i in group), key=lambda pair: pair[0])
            joined: list[tuple[int, int | None]] = []
            for lo, hi in counts:
                last = joined[-1][1] if joined else -1
                if joined and (last is None or lo <= last + 1):
                    joined[-1] = (joined[-1][0], None if last is None or hi is None else max(last, hi))
                else:
                    joined.append((lo, hi))
            if len(joined) < len(group):
                items = {item: None for item in items if item not in group}
                items |= {seq(repeat(repeated, lo, hi), tail): None for lo, hi in joined}
    return items


def _factor(items: dict[Expr, None], depth: int) -> dict[Expr, None]:
    """Take out common first parts: `x a | x b` becomes `x (a | b)`."""
    groups: dict[Expr, list[Expr]] = {}
    for item in items:
        groups.setdefault(item.args[0] if item.kind == K_SEQ else item, []).append(item)
    if len(groups) == len(items):
        return items
    result: dict[Expr, None] = {}
    for head, group in groups.items():
        if len(group) == 1:
            result[group[0]] = None
        else:
            tails = _alt([item.args[1] if item.kind == K_SEQ else EPSILON for item in group], depth - 1)
            result[seq(head, tails)] = None
    return result


def repeat(item: Expr, lo: int, hi: int | None = None) -> Expr:
    """`item` from `lo` to `hi` times (None: without bound)."""
    if lo < 0 or (hi is not None and hi < lo):
        raise ValueError(f"a repetition from {lo} to {hi} does not exist")
    if hi == 0 or item is EPSILON:
        return EPSILON
    if item is EMPTY:
        return EPSILON if lo == 0 else EMPTY
    if lo == hi == 1:
        return item
    if item.memo_nullable:
        lo = 0
    if item.kind == K_REPEAT and item.data[0] < 2:  # `x{1,3}{2,4}` is `x{2,12}`: no count between is left out
        lo = 0 if item.data[0] == 0 else lo
        hi = None if hi is None or item.data[1] is None else hi * item.data[1]
        if hi is None or hi <= MAX_COUNT:
            return repeat(item.args[0], lo, hi)
        hi //= item.data[1]
    if item is ALL or (item.kind == K_SET and item.data == ALL_BYTES and (lo, hi) == (0, None)):
        return ALL
    return intern_node(K_REPEAT, (item,), (lo, hi))


def optional(item: Expr) -> Expr:
    return alt(EPSILON, item)


def star(item: Expr) -> Expr:
    return repeat(item, 0, None)


def plus(item: Expr) -> Expr:
    return repeat(item, 1, None)


def both_unchecked(*parts: Expr) -> Expr:
    """Intersection without the test for emptiness; for `derivatives` only."""
    flat: dict[Expr, None] = {}
    for part in parts:
        for item in part.args if part.kind == K_BOTH else (part,):
            if item.has_call:
                raise ConstraintError("an intersection needs parts without calls")
            if item is not ALL:
                flat[item] = None
    if not flat:
        return ALL
    if EMPTY in flat or any(item.kind == K_NEG and item.args[0] in flat for item in flat):
        return EMPTY
    if len(flat) == 1:
        return next(iter(flat))
    if EPSILON in flat:
        return EPSILON if all(item.memo_nullable for item in flat) else EMPTY
    if all(item.kind == K_SET for item in flat):
        mask = ALL_BYTES
        for item in flat:
            mask &= item.data
        return byte_set(mask)
    return intern_node(K_BOTH, tuple(sorted(flat, key=lambda node: node.uid)))


def both(*parts: Expr) -> Expr:
    """What belongs to every part; EMPTY when nothing does (found by search, `TooComplex` beyond its budget)."""
    from .derivatives import is_live

    node = both_unchecked(*parts)
    return node if is_live(node) else EMPTY


def neg(item: Expr) -> Expr:
    """Every byte string that does not belong to `item`."""
    if item.has_call:
        raise ConstraintError("a complement needs an expression without calls")
    return item.args[0] if item.kind == K_NEG else intern_node(K_NEG, (item,))


def minus(item: Expr, other: Expr) -> Expr:
    """What belongs to `item` and not to `other`."""
    return both(item, neg(other))


_word_lists: weakref.WeakValueDictionary[tuple[bytes, ...], WordList] = weakref.WeakValueDictionary()


def words(texts: Iterable[bytes]) -> Expr:
    """Any of finitely many byte strings."""
    items = tuple(sorted(set(texts)))
    found = _word_lists.get(items)
    if found is None:
        with interning:
            found = _word_lists.setdefault(items, WordList(items))
    return words_slice(found, 0, len(items), 0)


def words_slice(source: WordList, lo: int, hi: int, depth: int) -> Expr:
    """The words lo..hi-1 of the list, each without its first `depth` bytes."""
    if hi <= lo:
        return EMPTY
    if hi - lo == 1:
        return lit(source.items[lo][depth:])
    return intern_node(K_WORDS, (), (source, lo, hi, depth))


def lazy(state: LazyState) -> Expr:
    """The language of a state; the same state gives the same node."""
    return _node_of(state, K_LAZY)


def call(rule: Rule) -> Expr:
    """A call of a rule: the rule's automaton runs in a frame of its own, then what follows goes on."""
    return _node_of(rule, K_CALL)


def _node_of(owner: Rule | LazyState, kind: int) -> Expr:
    """The one node of a rule or state, kept with it as long as somebody uses it."""
    node = owner.node() if owner.node is not None else None
    if node is None:
        with interning:
            node = owner.node() if owner.node is not None else None
            if node is None:
                node = Expr(kind, (), owner)
                owner.node = weakref.ref(node)
    return node


def frame(body: Expr) -> Expr:
    """The same language in a frame of its own, shared by all who use it. Small expressions stay as they are."""
    if body.kind in (K_EMPTY, K_EPSILON, K_SET, K_LIT, K_CALL):
        return body
    if body.frame_rule is None:
        body.frame_rule = Rule(FRAME, body)
    return call(body.frame_rule)
