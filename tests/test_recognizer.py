"""The slow recognizer: known answers, and agreement with what expressions mean by definition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import denotation
from tests.reference.languages import ALPHABET, duties, objects, regular, structured
from tokenizer_align import expressions as ex
from tokenizer_align import recognizer
from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import Expr
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.shortest import shortest


def brackets() -> Expr:
    rule = ex.Rule("brackets")
    rule.define(ex.alt(ex.EPSILON, ex.seq(ex.lit(b"["), ex.call(rule), ex.lit(b"]"), ex.call(rule))))
    return ex.call(rule)


@pytest.mark.parametrize(
    ("text", "legal"), [(b"", True), (b"[]", True), (b"[[]][]", True), (b"[", False), (b"][", False), (b"[]]", False)]
)
def test_matches_nested_brackets(text: bytes, legal: bool) -> None:
    assert recognizer.matches(brackets(), text) is legal


def test_run_gives_nothing_after_an_illegal_byte() -> None:
    assert recognizer.run(ex.lit(b"abc"), b"ab")
    assert not recognizer.run(ex.lit(b"abc"), b"ax")
    assert not recognizer.run(ex.lit(b"abc"), b"axc")


def test_ambiguous_ways_are_all_kept() -> None:
    word = ex.frame(ex.alt(ex.lit(b"a"), ex.lit(b"ab")))
    expr = ex.seq(word, ex.frame(ex.alt(ex.lit(b"bc"), ex.lit(b"c"))))
    assert [t for t in (b"abc", b"ac", b"abbc", b"abb") if recognizer.matches(expr, t)] == [b"abc", b"ac", b"abbc"]


def test_left_recursion_is_refused() -> None:
    rule = ex.Rule("left")
    rule.define(ex.alt(ex.lit(b"a"), ex.seq(ex.call(rule), ex.lit(b"b"))))
    with pytest.raises(ConstraintError, match="left recursion"):
        recognizer.matches(ex.call(rule), b"ab")


def test_an_undefined_rule_is_refused() -> None:
    with pytest.raises(ConstraintError, match="not defined"):
        recognizer.matches(ex.call(ex.Rule("nothing")), b"a")


def test_a_rule_without_texts_leads_nowhere() -> None:
    dead = ex.Rule("dead")
    dead.define(ex.seq(ex.lit(b"a"), ex.call(dead)))
    expr = ex.alt(ex.lit(b"b"), ex.seq(ex.lit(b"c"), ex.call(dead)))
    assert recognizer.matches(expr, b"b")
    assert not recognizer.run(expr, b"c")


def test_tangled_rules_without_texts_are_decided_quickly() -> None:
    """Regression: deciding whether rules hold a text went through all orders of the rules."""
    rules = [ex.Rule(f"r{i}") for i in range(40)]
    for rule in rules:
        rule.define(ex.alt(*(ex.seq(ex.lit(b"a"), ex.call(other)) for other in rules)))
    assert not recognizer.run(ex.call(rules[0]), b"a")


def test_a_long_chain_of_rules_is_decided() -> None:
    """Regression: more rules inside each other than Python calls functions."""
    rules = [ex.Rule(f"r{i}") for i in range(3000)]
    for rule, following in itertools.pairwise(rules):
        rule.define(ex.seq(ex.lit(b"a"), ex.call(following)))
    rules[-1].define(ex.lit(b"b"))
    assert recognizer.run(ex.call(rules[0]), b"aaa")


def test_an_undeclared_key_that_its_pattern_forbids_is_not_begun() -> None:
    """Regression: once `name` was written, `"n` was open as the beginning of an undeclared key."""
    spec = MemberSpec(
        (Member(b'"name"', ex.lit(b":1")),),
        ex.lit(b","),
        ex.lit(b"}"),
        extra_key=ex.seq(ex.lit(b'"x'), ex.star(ex.byte_set(b"abc")), ex.lit(b'"')),
        extra_rest=ex.lit(b":2"),
    )
    expr = ex.frame(ex.seq(ex.lit(b"{"), start_members(spec)))
    assert recognizer.matches(expr, b'{"name":1,"xa":2}')
    assert not recognizer.run(expr, b'{"name":1,"n')


texts = st.lists(st.sampled_from(list(ALPHABET)), max_size=7).map(bytes)


@st.composite
def near_texts(draw: st.DrawFn, expr: Expr) -> bytes:
    """Texts of the expression, found by a walk, and texts next to them."""
    stacks, text = recognizer.start(expr), b""
    for _ in range(draw(st.integers(0, 8))):
        open_bytes = [b for b in ALPHABET if recognizer.step(stacks, b)]
        if not open_bytes:
            break
        byte = draw(st.sampled_from(open_bytes))
        stacks, text = recognizer.step(stacks, byte), text + bytes([byte])
    if draw(st.booleans()):
        return text + (draw(texts) if draw(st.booleans()) else b"")
    return text + (shortest(expr) or b"")


@settings(max_examples=120)
@given(st.one_of(regular, structured, objects(regular), duties(regular)), st.data())
def test_matches_what_the_expression_means(expr: Expr, data: st.DataObject) -> None:
    text = data.draw(st.one_of(near_texts(expr), texts))
    assert recognizer.matches(expr, text) == denotation.matches(expr, text)


def all_endings(stacks: recognizer.Stacks) -> Iterator[bytes]:
    """For every stack the shortest text that empties it."""
    if stacks.has_bottom:
        yield b""
    for top, below in stacks.tops:
        part = shortest(top)
        assert part is not None
        yield from (part + ending for ending in all_endings(below))


@settings(max_examples=120)
@given(st.one_of(structured, objects(regular), duties(regular)), st.data())
def test_what_was_read_can_be_completed(expr: Expr, data: st.DataObject) -> None:
    """Every prefix that the recognizer takes is the beginning of a text that the definition knows."""
    stacks, text = recognizer.start(expr), b""
    if shortest(expr) is None:
        return
    for _ in range(data.draw(st.integers(1, 6))):
        open_bytes = [b for b in ALPHABET if recognizer.step(stacks, b)]
        if not open_bytes:
            break
        byte = data.draw(st.sampled_from(open_bytes))
        stacks, text = recognizer.step(stacks, byte), text + bytes([byte])
    endings = list(all_endings(stacks))
    assert bool(endings) == bool(stacks)
    assert all(denotation.matches(expr, text + ending) for ending in endings)
