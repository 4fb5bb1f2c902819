"""Expressions: interned nodes over byte sets, the common language of all front ends.

A node denotes a set of byte strings. Equal nodes are the same object, so identity compares and memos sit on the nodes.
Smart constructors keep one form per language as far as cheap laws go (Owens, Reppy, Turon: "Regular-expression
derivatives re-examined", 2009). A *call* of a `Rule` starts a frame: an automaton of its own that every constraint
shares. What a node does when it reads a byte is in `derivatives.py`; JSON objects are in `members.py`.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final

from .errors import ConstraintError

ALL_BYTES: Final = (1 << 256) - 1

K_EMPTY, K_EPSILON, K_SET, K_LIT, K_SEQ, K_ALT, K_REPEAT, K_BOTH, K_NEG, K_WORDS, K_LAZY, K_CALL, K_KEYS = range(13)

_uids = itertools.count()
_FACTOR_DEPTH = 8  # how many common parts are taken out at once; the rest shows itself in later derivatives
_lock = threading.RLock()  # interning and rule bodies: constraints may be built in several threads at once


class Expr:
    """One interned node. `kind` says which; `args` are its sub-nodes, `data` the rest of its content."""

    __slots__ = (
        "__weakref__",
        "args",
        "data",
        "frame_rule",
        "has_call",
        "kind",
        "memo_heads",
        "memo_lengths",
        "memo_live",
        "memo_moves",
        "memo_nullable",
        "memo_productive",
        "memo_shortest",
        "plain",
        "uid",
    )

    kind: int
    args: tuple[Expr, ...]
    data: Any
    uid: int
    has_call: bool  # a call or an object occurs inside: the node needs a stack
    plain: bool  # no call, intersection, complement or lazy state inside: empty only if it is EMPTY
    memo_nullable: bool | None
    memo_heads: tuple[tuple[int, Expr], ...] | None
    memo_moves: tuple[tuple[int, tuple[Expr, ...]], ...] | None
    memo_lengths: tuple[int, int | None, int, int | None] | None
    memo_live: bool | None
    memo_productive: bool | None
    memo_shortest: bytes | None
    frame_rule: Rule | None

    def __init__(self, kind: int, args: tuple[Expr, ...], data: Any) -> None:
        self.kind, self.args, self.data = kind, args, data
        self.uid = next(_uids)
        self.has_call = kind >= K_CALL or any(arg.has_call for arg in args)
        self.plain = kind not in (K_BOTH, K_NEG, K_LAZY, K_CALL, K_KEYS) and all(arg.plain for arg in args)
        self.memo_nullable = _nullable_now(self)
        self.memo_heads = self.memo_moves = self.memo_live = self.memo_productive = None
        self.memo_shortest = self.memo_lengths = None
        self.frame_rule = None

    def __repr__(self) -> str:
        return describe(self)

    def __or__(self, other: Expr) -> Expr:
        return alt(self, other)

    def __add__(self, other: Expr) -> Expr:
        return seq(self, other)

    def __reduce__(self) -> Any:
        raise TypeError("expressions are not picklable: pickle the Constraint they came from")


class Rule:
    """A named, possibly recursive sub-language; its body may be a thunk that is evaluated when first needed."""

    __slots__ = ("__weakref__", "_body", "_thunk", "name", "node")

    def __init__(self, name: str, body: Expr | None = None) -> None:
        self.name = name
        self._body = body
        self._thunk: Callable[[], Expr] | None = None
        self.node: weakref.ref[Expr] | None = None

    def define(self, body: Expr | Callable[[], Expr]) -> Rule:
        """Give the rule its body, now or as a thunk. Returns the rule."""
        if isinstance(body, Expr):
            self._body = body
        else:
            self._thunk = body
        return self

    @property
    def body(self) -> Expr:
        if self._body is None:
            with _lock:
                if self._body is None:
                    if self._thunk is None:
                        raise ConstraintError(f"rule {self.name!r} is used but not defined")
                    self._body = self._thunk()
                    self._thunk = None
        return self._body

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _nullable_now(node: Expr) -> bool | None:
    """Whether the empty string belongs to the node, where that is known without looking at rules."""
    kind, args = node.kind, node.args
    if kind in (K_EMPTY, K_SET, K_LIT, K_KEYS):
        return False
    if kind == K_EPSILON:
        return True
    if kind in (K_SEQ, K_BOTH):
        values = [arg.memo_nullable for arg in args]
        return False if False in values else (None if None in values else True)
    if kind == K_ALT:
        values = [arg.memo_nullable for arg in args]
        return True if True in values else (None if None in values else False)
    if kind == K_REPEAT:
        return True if node.data[0] == 0 else args[0].memo_nullable
    if kind == K_NEG:
        return not args[0].memo_nullable
    if kind == K_WORDS:
        words, lo, _, depth = node.data
        return bool(len(words.items[lo]) == depth)
    if kind == K_LAZY:
        return bool(node.data.is_nullable)
    return None


_interned: weakref.WeakValueDictionary[tuple[Any, ...], Expr] = weakref.WeakValueDictionary()


def intern_node(kind: int, args: tuple[Expr, ...] = (), data: Any = None) -> Expr:
    """The one node with this content. Only smart constructors call it."""
    key = (kind, args, data)
    node = _interned.get(key)
    if node is None:
        with _lock:
            node = _interned.get(key)
            if node is None:
                node = Expr(kind, args, data)
                _interned[key] = node
    return node


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
    if item.kind == K_REPEAT and item.data == (0, None):
        return item
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


class WordList:
    """Sorted distinct byte strings; a `words` node is a slice of one list, so ten thousand words cost one sort."""

    __slots__ = ("__weakref__", "items")

    def __init__(self, items: tuple[bytes, ...]) -> None:
        self.items = items


_word_lists: weakref.WeakValueDictionary[tuple[bytes, ...], WordList] = weakref.WeakValueDictionary()


def words(texts: Iterable[bytes]) -> Expr:
    """Any of finitely many byte strings."""
    items = tuple(sorted(set(texts)))
    found = _word_lists.get(items)
    if found is None:
        found = WordList(items)
        _word_lists[items] = found
    return words_slice(found, 0, len(items), 0)


def words_slice(source: WordList, lo: int, hi: int, depth: int) -> Expr:
    """The words lo..hi-1 of the list, each without its first `depth` bytes."""
    if hi <= lo:
        return EMPTY
    if hi - lo == 1:
        return lit(source.items[lo][depth:])
    return intern_node(K_WORDS, (), (source, lo, hi, depth))


class LazyState:
    """A state of an automaton that a front end builds as it is read: what it accepts, and a thunk for what follows.

    Unlike a call it is part of the frame it stands in, so intersections and complements may hold it. Its body must read
    a byte before it comes to another lazy state, and only finitely many states may be reachable.
    """

    __slots__ = ("_body", "_thunk", "is_nullable")

    def __init__(self, is_nullable: bool, thunk: Callable[[], Expr]) -> None:
        self.is_nullable = is_nullable
        self._body: Expr | None = None
        self._thunk: Callable[[], Expr] | None = thunk

    @property
    def body(self) -> Expr:
        if self._body is None:
            assert self._thunk is not None
            self._body, self._thunk = self._thunk(), None
        return self._body


def lazy(state: LazyState) -> Expr:
    """The language of a state; the same state gives the same node."""
    return intern_node(K_LAZY, (), state)


def call(rule: Rule) -> Expr:
    """A call of a rule: the rule's automaton runs in a frame of its own, then what follows goes on."""
    node = rule.node() if rule.node is not None else None
    if node is None:
        node = Expr(K_CALL, (), rule)
        rule.node = weakref.ref(node)
    return node


def frame(body: Expr) -> Expr:
    """The same language in a frame of its own, shared by all who use it. Small expressions stay as they are."""
    if body.kind in (K_EMPTY, K_EPSILON, K_SET, K_LIT, K_CALL):
        return body
    if body.frame_rule is None:
        body.frame_rule = Rule("frame", body)
    return call(body.frame_rule)


def describe(node: Expr, depth: int = 4) -> str:
    """A short text of a node for people; deep parts are cut."""
    if depth == 0:
        return "…"
    inner = [describe(arg, depth - 1) for arg in node.args]
    match node.kind:
        case 0:
            return "∅"
        case 1:
            return "ε"
        case 2:
            members = [i for i in range(256) if node.data >> i & 1]
            return f"[{bytes(members[:8])!r}{'…' if len(members) > 8 else ''}]"
        case 3:
            return repr(node.data)
        case 4:
            return " ".join(inner)
        case 5:
            return "(" + " | ".join(inner) + ")"
        case 6:
            return f"({inner[0]}){{{node.data[0]},{'' if node.data[1] is None else node.data[1]}}}"
        case 7:
            return "(" + " & ".join(inner) + ")"
        case 8:
            return f"¬({inner[0]})"
        case 9:
            return f"<{node.data[2] - node.data[1]} words>"
        case 10:
            return f"<state {node.uid}>"
        case _:
            return repr(node.data)
