"""Languages over code points: what a pattern means before anyone says how a character is written in bytes.

Nodes are interned and immutable; the constructors keep small forms. Besides the regular operators there are
look-arounds (every anchor is one), and groups, references and conditionals, which `regex_groups` takes out. A node
without any of them is *plain* and is lowered to a byte expression with an encoder: UTF-8 for bare text, JSON spelling
inside JSON strings.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from tokenizer_align import expressions as ex
from tokenizer_align.expressions import Expr

from .char_classes import ANYTHING, Ranges, one, union

Encoder = Callable[[Ranges], Expr]

CHARS, SEQ, ALT, REPEAT, LOOK, GROUP, REF, COND = range(8)


class Node:
    """One interned node. `data`: ranges; (lo, hi); (ahead, negative, position); group number and position."""

    __slots__ = ("__weakref__", "args", "behinds", "data", "has_groups", "kind", "max_width", "min_width", "plain")

    kind: int
    args: tuple[Node, ...]
    data: Any
    plain: bool  # regular operators only
    has_groups: bool  # a group, reference or conditional inside
    behinds: tuple[Node, ...]  # bodies of the look-behinds inside, inner ones first
    min_width: int  # in code points; a look-around has none
    max_width: int | None  # None: no bound, or not known (references)

    def __init__(self, kind: int, args: tuple[Node, ...], data: Any) -> None:
        self.kind, self.args, self.data = kind, args, data
        self.plain = kind < LOOK and all(arg.plain for arg in args)
        self.has_groups = kind > LOOK or any(arg.has_groups for arg in args)
        inner = dict.fromkeys(body for arg in args for body in arg.behinds)
        if kind == LOOK and not data[0]:
            inner[args[0]] = None
        self.behinds = tuple(inner)
        self.min_width, self.max_width = _widths(self)

    def __repr__(self) -> str:
        return f"{('chars', 'seq', 'alt', 'repeat', 'look', 'group', 'ref', 'cond')[self.kind]}{self.args or self.data}"


def _widths(node: Node) -> tuple[int, int | None]:
    args, kind = node.args, node.kind
    if kind == CHARS:
        return 1, 1
    if kind == LOOK:
        return 0, 0
    if kind == REF:
        return 0, None
    if not args:
        return 0, 0
    if kind == REPEAT:
        lo, hi = node.data
        top = args[0].max_width
        return args[0].min_width * lo, None if hi is None or top is None else top * hi
    tops = [arg.max_width for arg in args]
    known = [top for top in tops if top is not None]
    if kind in (SEQ, GROUP):
        return sum(arg.min_width for arg in args), sum(known) if len(known) == len(tops) else None
    return min(arg.min_width for arg in args), max(known) if len(known) == len(tops) else None


_interned: weakref.WeakValueDictionary[tuple[Any, ...], Node] = weakref.WeakValueDictionary()


def _intern(kind: int, args: tuple[Node, ...] = (), data: Any = None) -> Node:
    key = (kind, args, data)
    node = _interned.get(key)
    if node is None:
        node = _interned[key] = Node(kind, args, data)
    return node


def chars(ranges: Ranges) -> Node:
    """One character out of the ranges."""
    return _intern(CHARS, (), ranges)


@lru_cache(maxsize=4096)
def character(code_point: int) -> Node:
    """Exactly this character; nothing for a surrogate, which no UTF-8 text holds."""
    return chars(one(code_point))


EMPTY: Final = chars(())
EPSILON: Final = _intern(SEQ)


def seq(*parts: Node) -> Node:
    """The parts one after the other; neighbours that repeat the same thing become one repetition."""
    flat: list[Node] = []
    for part in parts:
        for item in part.args if part.kind == SEQ else (part,):
            if item is EMPTY:
                return EMPTY
            if flat and (joined := _join_repeats(flat[-1], item)) is not None:
                flat[-1] = joined
            else:
                flat.append(item)
    return flat[0] if len(flat) == 1 else _intern(SEQ, tuple(flat))


def chain(*parts: Node) -> Node:
    """As `seq`, but neighbours stay apart: for unrolling, where `x x*` must not become `x+` again."""
    flat = tuple(item for part in parts for item in (part.args if part.kind == SEQ else (part,)))
    return EMPTY if EMPTY in flat else flat[0] if len(flat) == 1 else _intern(SEQ, flat)


def _join_repeats(a: Node, b: Node) -> Node | None:
    if (a.kind != REPEAT and b.kind != REPEAT) or not (a.plain and b.plain):
        return None
    item_a, (lo_a, hi_a) = (a.args[0], a.data) if a.kind == REPEAT else (a, (1, 1))
    item_b, (lo_b, hi_b) = (b.args[0], b.data) if b.kind == REPEAT else (b, (1, 1))
    if item_a is not item_b:
        return None
    return repeat(item_a, lo_a + lo_b, None if hi_a is None or hi_b is None else hi_a + hi_b)


def alt(*choices: Node) -> Node:
    """Any of the choices; their order and number do not matter to a language."""
    flat: dict[Node, None] = {}
    classes: list[Ranges] = []
    for choice in choices:
        for item in choice.args if choice.kind == ALT else (choice,):
            if item.kind == CHARS:
                classes.append(item.data)
            else:
                flat[item] = None
    if classes and (joined := chars(union(classes))) is not EMPTY:
        flat[joined] = None
    if len(flat) < 2:
        return next(iter(flat), EMPTY)
    return _intern(ALT, tuple(flat))


def repeat(item: Node, lo: int, hi: int | None) -> Node:
    """`item` from `lo` to `hi` times (None: without bound)."""
    if hi == 0 or item is EPSILON:
        return EPSILON
    if item is EMPTY:
        return EPSILON if lo == 0 else EMPTY
    if lo == hi == 1:
        return item
    if item.plain:
        if item.min_width == 0:
            lo = 0
        if item.kind == REPEAT:
            low, high = item.data
            # The counts lo..hi of low..high make one interval when each count's interval touches the next one's.
            if lo == hi or (low <= 1 if lo == 0 else high is None or low * (lo + 1) <= high * lo + 1):
                top = None if hi is None or high is None else high * hi
                return _intern(REPEAT, item.args, (low * lo, top))
        if item.kind == SEQ and len(item.args) == 2 and lo < 2 and hi is not None:
            runs = _separated_runs(*item.args, hi)
            if runs is not None:
                return alt(EPSILON, runs) if lo == 0 else runs
    return _intern(REPEAT, (item,), (lo, hi))


def _separated_runs(first: Node, second: Node, hi: int) -> Node | None:
    """`(a+b?){1,n}` as `a+(ba+){0,n-1}b?`, and `(b?a+){1,n}` likewise; None for another form.

    Runs without a separator between them are one run, and so each text is counted in one way only.
    """
    for run, between in ((first, second), (second, first)):
        if run.kind == REPEAT and run.data[1] is None and between.kind == REPEAT and between.data == (0, 1):
            tail = _intern(REPEAT, (seq(between.args[0], run),), (0, hi - 1))
            return seq(run, tail, between) if run is first else seq(between, run, tail)
    return None


def look(body: Node, *, ahead: bool, negative: bool, position: int = 0) -> Node:
    """A look-around: the text that follows (or precedes) starts (or ends) with `body`, or does not."""
    if body is EPSILON:
        return EMPTY if negative else EPSILON
    if body is EMPTY:
        return EPSILON if negative else EMPTY
    return _intern(LOOK, (body,), (ahead, negative, position))


def group(body: Node, number: int) -> Node:
    return _intern(GROUP, (body,), number)


def reference(number: int, case: str | None, position: int) -> Node:
    """What group `number` matched; `case`: the rule under which case is ignored."""
    return _intern(REF, (), (number, case, position))


def conditional(number: int, yes: Node, no: Node, position: int) -> Node:
    return _intern(COND, (yes, no), (number, position))


ANY: Final = chars(ANYTHING)
ALL: Final = repeat(ANY, 0, None)


def literal(code_points: tuple[int, ...]) -> Node:
    return seq(*(character(c) for c in code_points))


def contains_kind(node: Node, kind: int) -> Iterator[Node]:
    """All nodes of a kind inside, outermost first."""
    if node.kind == kind:
        yield node
    for arg in node.args:
        yield from contains_kind(arg, kind)


def words_of(node: Node, limit: int) -> list[tuple[int, ...]] | None:
    """All texts of a plain node as code points; None where there are more than `limit`."""
    if node.kind == CHARS:
        if sum(hi - lo + 1 for lo, hi in node.data) > limit:
            return None
        return [(c,) for lo, hi in node.data for c in range(lo, hi + 1)]
    parts = [words_of(arg, limit) for arg in node.args]
    if node.kind == ALT:
        found = dict.fromkeys(word for words in parts if words is not None for word in words)
        return None if None in parts or len(found) > limit else list(found)
    if node.kind == REPEAT:
        lo, hi = node.data
        if hi is None or hi > limit:
            return None
        parts = parts * hi
    else:
        lo = len(parts)
    result: dict[tuple[int, ...], None] = {(): None} if lo == 0 else {}
    current: dict[tuple[int, ...], None] = {(): None}
    for count, words in enumerate(parts, 1):
        if words is None or len(current) * len(words) > 100 * limit:
            return None
        current = dict.fromkeys(before + word for before in current for word in words)
        if count >= lo:
            result |= current
        if len(current) > limit or len(result) > limit:
            return None
    return list(result)


def lower(node: Node, encode: Encoder, memo: dict[Node, Expr]) -> Expr:
    """The byte expression of a plain node."""
    found = memo.get(node)
    if found is None:
        if node.kind == CHARS:
            found = encode(node.data) if node.data else ex.EMPTY
        elif node.kind == ALT:
            found = _lower_choices(node, encode, memo)
        else:
            parts = [lower(arg, encode, memo) for arg in node.args]
            found = _lower_sequence(parts) if node.kind == SEQ else ex.repeat(parts[0], *node.data)
        memo[node] = found
    return found


def _lower_sequence(parts: list[Expr]) -> Expr:
    """Runs of literal bytes are joined first: part by part, `ex.seq` would make every tail of a long word."""
    joined: list[Expr] = []
    run = b""
    for part in parts:
        text = ex.literal_bytes(part)
        if text is not None:
            run += text
        else:
            joined += [ex.lit(run), part]
            run = b""
    return ex.seq(*joined, ex.lit(run))


def _lower_choices(node: Node, encode: Encoder, memo: dict[Node, Expr]) -> Expr:
    """Literal choices become one word list, which is a trie from the start."""
    words: list[bytes] = []
    others: list[Expr] = []
    for arg in node.args:
        expr = lower(arg, encode, memo)
        text = ex.literal_bytes(expr)
        if text is None or len(text) < 2:
            others.append(expr)
        else:
            words.append(text)
    return ex.alt(ex.words(words), *others) if words else ex.alt(*others)
