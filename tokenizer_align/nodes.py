"""The nodes of expressions: interned, immutable, and the rules they call.

Equal nodes are the same object, so identity compares and memos sit on the nodes. Only the smart constructors of
`expressions.py` make them, so that every language has one form as far as cheap laws go.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .errors import ConstraintError

K_EMPTY, K_EPSILON, K_SET, K_LIT, K_SEQ, K_ALT, K_REPEAT, K_BOTH, K_NEG, K_WORDS, K_LAZY, K_CALL, K_KEYS = range(13)
K_UNIQUE, K_ANCHOR = 13, 14  # an array or object without equal items or keys, and its closing bracket

_UNCOUNTED = ((0, None), (1, None), (0, 1))  # bounds that no clamping of counts changes

_uids = itertools.count()
interning = threading.RLock()  # interning and rule bodies: constraints may be built in several threads at once


class Expr:
    """One interned node. `kind` says which; `args` are its sub-nodes, `data` the rest of its content."""

    __slots__ = (
        "__weakref__",
        "args",
        "counts",
        "data",
        "frame_rule",
        "has_call",
        "kind",
        "memo_heads",
        "memo_lengths",
        "memo_live",
        "memo_moves",
        "memo_nullable",
        "memo_plan",
        "memo_productive",
        "memo_shortest",
        "memo_states",
        "plain",
        "uid",
        "ways_rule",
    )

    kind: int
    args: tuple[Expr, ...]
    data: Any
    uid: int
    has_call: bool  # a call or an object occurs inside: the node needs a stack
    counts: bool  # a repetition with a bound that matters occurs inside
    plain: bool  # no call, intersection, complement or lazy state inside: empty only if it is EMPTY
    memo_nullable: bool | None
    memo_heads: tuple[tuple[int, Expr], ...] | None
    memo_moves: tuple[tuple[int, tuple[Expr, ...]], ...] | None
    memo_plan: tuple[int, Any] | None
    memo_lengths: tuple[int, int | None, int, int | None] | None
    memo_live: bool | None
    memo_productive: bool | None
    memo_shortest: bytes | None
    memo_states: Any  # of a grammar: `prebuilt`
    frame_rule: Rule | None
    ways_rule: Rule | None

    def __init__(self, kind: int, args: tuple[Expr, ...], data: Any) -> None:
        self.kind, self.args, self.data = kind, args, data
        self.uid = next(_uids)
        has_call = kind >= K_CALL
        plain = not has_call and kind not in (K_BOTH, K_NEG, K_LAZY)
        counts = kind == K_REPEAT and data not in _UNCOUNTED
        for arg in args:
            has_call = has_call or arg.has_call
            plain = plain and arg.plain
            counts = counts or arg.counts
        self.has_call, self.plain, self.counts = has_call, plain, counts
        self.memo_nullable = _nullable_now(self)
        self.memo_heads = self.memo_moves = self.memo_live = self.memo_productive = None
        self.memo_shortest = self.memo_lengths = self.memo_plan = self.memo_states = None
        self.frame_rule = self.ways_rule = None

    def __repr__(self) -> str:
        return describe(self)

    def __reduce__(self) -> Any:
        raise TypeError("expressions are not picklable: pickle the Constraint they came from")


class Rule:
    """A named, possibly recursive sub-language; its body may be a thunk that is evaluated when first needed."""

    __slots__ = ("__weakref__", "_body", "_thunk", "is_checked", "name", "node")

    def __init__(self, name: str, body: Expr | None = None) -> None:
        self.name = name
        self._body = body
        self._thunk: Callable[[], Expr] | None = None
        self.node: weakref.ref[Expr] | None = None
        self.is_checked = False  # it does not refer to itself before reading anything

    def define(self, body: Expr | Callable[[], Expr]) -> Rule:
        """Give the rule its body, now or as a thunk. Returns the rule."""
        if isinstance(body, Expr):
            self._body = body
        else:
            self._thunk = body
        return self

    @property
    def is_made(self) -> bool:
        """Whether the body is there without any work."""
        return self._body is not None

    @property
    def body(self) -> Expr:
        if self._body is None:
            with interning:
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
    if kind in (K_EMPTY, K_SET, K_LIT, K_KEYS, K_UNIQUE, K_ANCHOR):
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


class _Reference(weakref.ref[Expr]):
    """A weak reference that knows under which key it stands (a WeakValueDictionary takes three times as long)."""

    __slots__ = ("key",)

    key: tuple[Any, ...]


_interned: dict[tuple[Any, ...], _Reference] = {}


def _forget(reference: weakref.ref[Expr]) -> None:
    assert isinstance(reference, _Reference)
    key = reference.key
    if _interned.get(key) is reference:
        del _interned[key]


def intern_node(kind: int, args: tuple[Expr, ...] = (), data: Any = None) -> Expr:
    """The one node with this content. Only smart constructors call it.

    Parts are named by their uids: a key that held them would, in a recursive language, hold the node itself for ever.
    """
    named = (data[0].key, *data[1:]) if kind == K_KEYS else data
    key = (kind, named, *[arg.uid for arg in args]) if args else (kind, named)
    reference = _interned.get(key)
    node = None if reference is None else reference()
    if node is None:
        with interning:
            reference = _interned.get(key)
            node = None if reference is None else reference()
            if node is None:
                node = Expr(kind, args, data)
                reference = _Reference(node, _forget)
                reference.key = key
                _interned[key] = reference
    return node


class WordList:
    """Sorted distinct byte strings; a `words` node is a slice of one list, so ten thousand words cost one sort."""

    __slots__ = ("__weakref__", "items")

    def __init__(self, items: tuple[bytes, ...]) -> None:
        self.items = items


class LazyState:
    """A state of an automaton that a front end builds as it is read: what it accepts, and a thunk for what follows.

    Unlike a call it is part of the frame it stands in, so intersections and complements may hold it. What follows is an
    expression that reads a byte before it comes to another lazy state, or disjoint pairs of a byte mask and what comes
    behind these bytes. Only finitely many states may be reachable.
    """

    __slots__ = ("__weakref__", "_body", "_heads", "_thunk", "is_nullable", "node")

    def __init__(self, is_nullable: bool, thunk: Callable[[], Expr | tuple[tuple[int, Expr], ...]]) -> None:
        self.is_nullable = is_nullable
        self.node: weakref.ref[Expr] | None = None
        self._body: Expr | None = None
        self._heads: tuple[tuple[int, Expr], ...] | None = None
        self._thunk: Callable[[], Expr | tuple[tuple[int, Expr], ...]] | None = thunk

    def _make(self) -> None:
        if self._thunk is not None:
            made = self._thunk()
            if isinstance(made, tuple):
                self._heads = made
            else:
                self._body = made
            self._thunk = None

    @property
    def heads(self) -> tuple[tuple[int, Expr], ...] | None:
        """What comes behind each byte, if the state is given so."""
        self._make()
        return self._heads

    @property
    def body(self) -> Expr:
        """What follows, and the empty text where it is accepted."""
        self._make()
        if self._body is None:
            from .expressions import EPSILON, alt, byte_set, seq

            assert self._heads is not None
            ways = [seq(byte_set(mask), after) for mask, after in self._heads]
            self._body = alt(*ways, *([EPSILON] if self.is_nullable else []))
        return self._body


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
        case 13:
            return f"<{node.data[0]} of different parts {inner[0]}>"
        case 14:
            return f"<end of {node.data}>"
        case _:
            return repr(node.data)
