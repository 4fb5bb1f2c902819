"""Hypothesis strategies: small vocabularies and the constraints to try them on.

The alphabet is small, so that drawn vocabularies and drawn languages have something to do with each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tokenizer_align import expressions as ex
from tokenizer_align.errors import TooComplex
from tokenizer_align.expressions import Expr
from tokenizer_align.members import KeyClass, Member, MemberSpec, Variant, may_be_empty, start_members
from tokenizer_align.productive import is_productive

ALPHABET = b'abc",:[]{}'
ODD_BYTES = b"\xc3\xa9\xff\x00"


@dataclass(frozen=True)
class DrawnVocabulary:
    """Token bytes with duplicates and holes, and several end ids."""

    token_bytes: tuple[bytes | None, ...]
    eos_token_ids: tuple[int, ...]


@st.composite
def vocabularies(draw: st.DrawFn, is_atomic: bool | None = None) -> DrawnVocabulary:
    """Small vocabularies: bytes missing, duplicates, holes, invalid UTF-8; atomic, not atomic, or either."""
    letters = bytes(draw(st.sets(st.sampled_from(list(ALPHABET + ODD_BYTES)), min_size=2, max_size=12)))
    if draw(st.booleans()):
        letters = ALPHABET
    piece = st.lists(st.sampled_from(list(letters)), min_size=2, max_size=5).map(bytes)
    tokens: list[bytes | None] = list(draw(st.lists(piece, max_size=14)))
    if draw(st.booleans()) if is_atomic is None else is_atomic:
        tokens += [bytes([b]) for b in sorted(set(b"".join(t for t in tokens if t)) | set(letters))]
    else:
        tokens += [bytes([b]) for b in draw(st.lists(st.sampled_from(list(letters)), max_size=8))]
    tokens += draw(st.lists(st.sampled_from([t for t in tokens if t] or [b"a"]), max_size=3))  # duplicates
    tokens += [None] * draw(st.integers(0, 2)) + [b""] * draw(st.integers(0, 1))
    n_eos = draw(st.integers(0, 3))
    tokens += [None, b"</s>", None][:n_eos]
    order = draw(st.permutations(range(len(tokens))))
    eos = tuple(sorted(order.index(i) for i in range(len(tokens) - n_eos, len(tokens))))
    shuffled: list[bytes | None] = [None] * len(tokens)
    for i, place in enumerate(order):
        shuffled[i] = tokens[place]
    return DrawnVocabulary(tuple(shuffled), eos)


_byte = st.sampled_from(list(ALPHABET + ODD_BYTES))
_text = st.lists(st.sampled_from(list(b'abc",')), min_size=1, max_size=4).map(bytes)
_any_text = st.lists(st.sampled_from(list(b'abc",')), max_size=4).map(bytes)
_sets = st.one_of(
    st.sets(_byte, min_size=1, max_size=5).map(ex.byte_set),
    st.just(ex.byte_set(ALPHABET)),
    st.just(ex.byte_set(ex.ALL_BYTES & ~(1 << 0x22))),
)
_leaves = st.one_of(
    _text.map(ex.lit),
    _sets,
    st.lists(_any_text, max_size=5).map(ex.words),
    _text.map(ex.lit).map(ex.optional),
)


def _counts(draw: st.DrawFn) -> tuple[int, int | None]:
    lo = draw(st.integers(0, 3))
    return lo, draw(st.one_of(st.none(), st.integers(max(lo, 1), lo + 4)))


@st.composite
def _large_count(draw: st.DrawFn) -> Expr:
    """A count beyond the longest token, of items of several bytes; what follows may begin like an item."""
    items = st.lists(st.lists(st.sampled_from(list(b"abc")), min_size=1, max_size=3).map(bytes), min_size=1, max_size=4)
    lo = draw(st.integers(0, 12))
    count = ex.repeat(
        draw(st.one_of(items.map(ex.words), _sets)), lo, draw(st.one_of(st.none(), st.integers(lo + 6, 20)))
    )
    return ex.seq(draw(st.one_of(st.just(ex.EPSILON), _leaves)), count, draw(st.one_of(st.just(ex.EPSILON), _leaves)))


@st.composite
def _regular(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
    kind = draw(st.sampled_from(["seq", "alt", "repeat", "both", "neg", "minus"]))
    if kind == "seq":
        return ex.seq(*draw(st.lists(inner, min_size=1, max_size=3)))
    if kind == "alt":
        return ex.alt(*draw(st.lists(inner, min_size=1, max_size=3)))
    if kind == "repeat":
        return ex.repeat(draw(inner), *_counts(draw))
    if kind == "both":
        return ex.both(draw(inner), draw(inner))
    if kind == "neg":
        return ex.neg(draw(inner))
    return ex.minus(draw(inner), draw(inner))


regular = st.recursive(
    st.one_of(_leaves, _leaves, _leaves, _large_count()), lambda inner: _regular(inner), max_leaves=8
)
"""Expressions without calls."""


@st.composite
def _recursive_rule(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
    """A rule that calls itself behind at least one byte: lists, brackets, and odd ones."""
    rule = ex.Rule("drawn")
    shape = draw(st.sampled_from(["list", "brackets", "right", "tree", "dead"]))
    me = ex.call(rule)
    if shape == "list":
        separator = ex.lit(draw(st.sampled_from([b",", b", "])))
        items = ex.seq(me, ex.star(ex.seq(separator, me)))
        rule.define(ex.alt(draw(inner), ex.seq(ex.lit(b"["), ex.optional(items), ex.lit(b"]"))))
    elif shape == "brackets":
        rule.define(lambda: ex.alt(ex.EPSILON, ex.seq(ex.lit(b"["), me, ex.lit(b"]"), me)))
    elif shape == "right":
        rule.define(ex.alt(ex.seq(ex.lit(b"a"), me), draw(inner)))
    elif shape == "tree":
        rule.define(ex.alt(ex.lit(b"c"), ex.seq(ex.lit(b"b"), me, draw(inner), me)))
    else:
        rule.define(ex.seq(ex.lit(b"a"), me))
    return ex.frame(me) if draw(st.booleans()) else me


_KEY_BODIES = [
    ex.star(ex.byte_set(b"abc")),
    ex.plus(ex.byte_set(b"bc")),
    ex.words([b"b", b"cc", b"cab"]),
    ex.star(ex.byte_set(ex.ALL_BYTES & ~(1 << 0x22))),
]


def _undeclared(body: Expr, members: tuple[Member, ...]) -> Expr:
    return ex.minus(ex.seq(ex.lit(b'"'), body, ex.lit(b'"')), ex.words([m.text for m in members]))


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
    """Objects with required, optional and undeclared keys, in any order or the declared one, with bounds on counts."""
    names = draw(st.lists(st.sampled_from([b"a", b"b", b"ab", b"abc", b"", b"ca"]), unique=True, max_size=4))
    colon = ex.lit(b":")
    members = tuple(Member(b'"' + name + b'"', ex.seq(colon, draw(inner)), draw(st.booleans())) for name in names)
    extra_key = extra_rest = None
    if draw(st.booleans()):
        extra_key, extra_rest = _undeclared(draw(st.sampled_from(_KEY_BODIES)), members), ex.seq(colon, draw(inner))
        if extra_key is ex.EMPTY:
            extra_key = extra_rest = None
    lo = draw(st.integers(0, 3))
    spec = MemberSpec(
        members,
        ex.lit(b","),
        ex.lit(b"}"),
        extra_key,
        extra_rest,
        lo,
        draw(st.one_of(st.none(), st.integers(lo, lo + 2))),
        draw(st.booleans()),
    )
    inside = start_members(spec) if spec.hi != 0 else ex.EMPTY
    if may_be_empty(spec):
        inside = ex.alt(inside, spec.close)
    return ex.frame(ex.seq(ex.lit(b"{"), inside))


@st.composite
def duties(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
    """Objects whose keys have variants, several kinds of undeclared keys, and duties that some member must fulfil."""
    names = draw(st.lists(st.sampled_from([b"a", b"b", b"ab", b""]), unique=True, max_size=3))
    colon = ex.lit(b":")
    n_duties = draw(st.integers(0, 2))
    marks = st.integers(0, (1 << n_duties) - 1)
    rests = inner.map(lambda value: ex.seq(colon, value))
    variants = st.lists(st.builds(Variant, rests, marks), max_size=2).map(tuple)
    members = tuple(Member(b'"' + name + b'"', draw(rests), draw(st.booleans()), draw(variants)) for name in names)
    classes = tuple(
        KeyClass(_undeclared(draw(st.sampled_from(_KEY_BODIES)), members), draw(rests), draw(marks), draw(marks))
        for _ in range(draw(st.integers(0, 2)))
    )
    lo = draw(st.integers(0, 2))
    spec = MemberSpec(
        members,
        ex.lit(b","),
        ex.lit(b"}"),
        lo=lo,
        hi=draw(st.one_of(st.none(), st.integers(lo, lo + 2))),
        ordered=draw(st.booleans()),
        classes=tuple(kind for kind in classes if kind.key is not ex.EMPTY),
        n_duties=n_duties,
    )
    inside = start_members(spec) if spec.hi != 0 else ex.EMPTY
    return ex.frame(ex.seq(ex.lit(b"{"), ex.alt(inside, spec.close) if may_be_empty(spec) else inside))


@st.composite
def _with_calls(draw: st.DrawFn, inner: st.SearchStrategy[Expr]) -> Expr:
    kind = draw(st.sampled_from(["seq", "alt", "repeat", "frame", "rule", "object", "ambiguous"]))
    if kind == "seq":
        return ex.seq(*draw(st.lists(inner, min_size=1, max_size=3)))
    if kind == "alt":
        return ex.alt(*draw(st.lists(inner, min_size=1, max_size=3)))
    if kind == "repeat":
        return ex.repeat(draw(inner), *_counts(draw))
    if kind == "frame":
        return ex.frame(draw(inner))
    if kind == "rule":
        return draw(_recursive_rule(inner))
    if kind == "object":
        return draw(objects(inner))
    word = ex.frame(ex.alt(ex.lit(b"a"), ex.lit(b"ab"), ex.lit(b"b")))
    return ex.seq(ex.star(word), ex.frame(draw(inner)), draw(inner))


_inner = st.one_of(_leaves, regular)
structured = st.recursive(_with_calls(_inner), lambda inner: _with_calls(st.one_of(inner, _inner)), max_leaves=3)
"""Expressions with frames, rules and objects."""


def is_settled(expr: Expr) -> bool:
    """Whether the expression holds a text, where that can be found out within the budgets; else False."""
    try:
        return is_productive(expr)
    except TooComplex:
        return False
