"""Objects with keys in any order: which members may come, and when the object may end."""

from __future__ import annotations

import itertools

import pytest

from tokenizer_align import expressions as ex
from tokenizer_align.expressions import Expr
from tokenizer_align.member_steps import may_go_on, steps
from tokenizer_align.members import KeyClass, Member, MemberSpec, Variant, may_be_empty, start_members
from tokenizer_align.productive import is_productive
from tokenizer_align.recognizer import matches, run

VALUE = ex.seq(ex.lit(b":"), ex.plus(ex.byte_set(b"01")))
COMMA, BRACE = ex.lit(b","), ex.lit(b"}")


def member(name: str, required: bool = False, rest: Expr = VALUE) -> Member:
    return Member(f'"{name}"'.encode(), rest, required)


def whole(spec: MemberSpec) -> Expr:
    inside = start_members(spec) if spec.hi != 0 else ex.EMPTY
    return ex.frame(ex.seq(ex.lit(b"{"), ex.alt(inside, spec.close) if may_be_empty(spec) else inside))


def write(*names: str) -> bytes:
    return b"{" + b",".join(f'"{name}":1'.encode() for name in names) + b"}"


def all_orders(names: str, extra: str = "") -> list[tuple[str, ...]]:
    return [p for n in range(len(names + extra) + 1) for p in itertools.permutations(names + extra, n)]


def test_keys_come_in_any_order_each_at_most_once() -> None:
    expr = whole(MemberSpec((member("a", True), member("b"), member("c", True)), COMMA, BRACE))
    legal = {names for names in all_orders("abc") if matches(expr, write(*names))}
    assert legal == {names for names in all_orders("abc") if {"a", "c"} <= set(names)}
    assert not matches(expr, write("a", "c", "a"))


def test_keys_come_in_declared_order() -> None:
    expr = whole(MemberSpec((member("b", True), member("a"), member("c")), COMMA, BRACE, ordered=True))
    legal = [names for names in all_orders("abc") if matches(expr, write(*names))]
    assert legal == [("b",), ("b", "a"), ("b", "c"), ("b", "a", "c")]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("lo", "hi"), [(0, None), (2, None), (0, 2), (2, 2), (3, 4), (0, 0)])
def test_numbers_of_members_are_bounded(lo: int, hi: int | None, ordered: bool) -> None:
    expr = whole(MemberSpec((member("a"), member("b"), member("c")), COMMA, BRACE, lo=lo, hi=hi, ordered=ordered))
    for names in all_orders("abc"):
        in_order = not ordered or list(names) == sorted(names)
        legal = in_order and lo <= len(names) and (hi is None or len(names) <= hi)
        assert matches(expr, write(*names)) == legal, names


def test_a_bound_leaves_room_for_required_keys() -> None:
    spec = MemberSpec((member("a"), member("b"), member("c", True)), COMMA, BRACE, hi=2)
    assert run(whole(spec), b'{"a":1,"c')
    assert not run(whole(spec), b'{"a":1,"b')


def test_undeclared_keys_stand_anywhere_and_may_repeat() -> None:
    key = ex.minus(ex.seq(ex.lit(b'"'), ex.plus(ex.byte_set(b"abx")), ex.lit(b'"')), ex.words([b'"a"', b'"ab"']))
    spec = MemberSpec((member("a", True), member("ab")), COMMA, BRACE, key, ex.seq(ex.lit(b":"), ex.lit(b"7")))
    expr = whole(spec)
    assert matches(expr, b'{"abx":7,"a":1,"x":7,"ab":0,"x":7}')
    assert not matches(expr, b'{"a":7}')
    assert not matches(expr, b'{"a":1,"x":1}')
    assert not matches(expr, b'{"abx":7}')


def test_undeclared_keys_come_last_in_declared_order() -> None:
    key = ex.seq(ex.lit(b'"'), ex.plus(ex.byte_set(b"xy")), ex.lit(b'"'))
    spec = MemberSpec((member("a"), member("b", True)), COMMA, BRACE, key, VALUE, ordered=True, lo=3)
    expr = whole(spec)
    assert matches(expr, write("a", "b", "x"))
    assert matches(expr, write("b", "x", "y"))
    assert not matches(expr, write("b", "x", "a"))
    assert not matches(expr, write("a", "x", "b"))


@pytest.mark.parametrize(
    ("spec", "productive"),
    [
        (MemberSpec((member("a", True, ex.EMPTY),), COMMA, BRACE), False),
        (MemberSpec((member("a", False, ex.EMPTY), member("b")), COMMA, BRACE), True),
        (MemberSpec((member("a", False, ex.EMPTY), member("b")), COMMA, BRACE, lo=2), False),
        (MemberSpec((member("a"), member("b")), ex.EMPTY, BRACE), True),
        (MemberSpec((member("a", True), member("b", True)), ex.EMPTY, BRACE), False),
        (MemberSpec((member("a"),), COMMA, ex.EMPTY), False),
        (MemberSpec((), COMMA, BRACE, ex.lit(b'"x"'), VALUE, lo=4), True),
        (MemberSpec((), COMMA, BRACE, ex.lit(b'"x"'), ex.EMPTY), False),
        (MemberSpec((member("a", True),), COMMA, BRACE, lo=2, hi=2), False),
    ],
)
def test_whether_members_can_be_completed(spec: MemberSpec, productive: bool) -> None:
    """Regression: parts without texts were looked at one by one, not together with counts."""
    assert is_productive(start_members(spec)) is productive


def test_members_that_hold_no_text_are_not_begun() -> None:
    spec = MemberSpec((member("ab", False, ex.EMPTY), member("ac")), COMMA, BRACE)
    assert run(whole(spec), b'{"a')
    assert not run(whole(spec), b'{"ab')


def test_an_object_inside_its_own_value() -> None:
    rule = ex.Rule("tree")
    spec = MemberSpec((member("a", True), Member(b'"sub"', ex.seq(ex.lit(b":"), ex.call(rule)))), COMMA, BRACE)
    rule.define(lambda: ex.seq(ex.lit(b"{"), start_members(spec)))
    assert matches(ex.call(rule), b'{"a":1,"sub":{"sub":{"a":1},"a":0}}')
    assert not matches(ex.call(rule), b'{"a":1,"sub":{}}')


def test_an_object_that_needs_itself_is_empty() -> None:
    rule = ex.Rule("endless")
    spec = MemberSpec((Member(b'"sub"', ex.seq(ex.lit(b":"), ex.call(rule)), True),), COMMA, BRACE)
    rule.define(lambda: ex.seq(ex.lit(b"{"), start_members(spec)))
    assert not is_productive(ex.call(rule))


def test_a_key_is_declared_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        MemberSpec((member("a"), member("a")), COMMA, BRACE)


def test_equal_specifications_are_equal() -> None:
    specs = [MemberSpec((member("a"), member("b")), COMMA, BRACE) for _ in range(2)]
    assert specs[0] == specs[1]
    assert start_members(specs[0]) is start_members(specs[1])
    assert specs[0] != MemberSpec((member("b"), member("a")), COMMA, BRACE)


def test_very_long_keys_are_no_problem() -> None:
    """Regression: the trie of the keys was built by recursion."""
    name = "k" * 5000
    assert matches(whole(MemberSpec((member(name, True),), COMMA, BRACE)), write(name))


# Duties, variants and kinds of undeclared keys

ONE, TWO = ex.lit(b":1"), ex.lit(b":2")
X_KEYS = ex.seq(ex.lit(b'"x'), ex.star(ex.byte_set(b"abc")), ex.lit(b'"'))
Y_KEYS = ex.seq(ex.lit(b'"y'), ex.star(ex.byte_set(b"abc")), ex.lit(b'"'))


def test_a_duty_is_fulfilled_by_some_member() -> None:
    """A value 2 under "a" or "b" fulfils the only duty."""
    members = tuple(Member(name, ONE, others=(Variant(TWO, 1),)) for name in (b'"a"', b'"b"'))
    expr = whole(MemberSpec(members, COMMA, BRACE, n_duties=1))
    for text, legal in [("{}", 0), ('{"a":1}', 0), ('{"a":2}', 1), ('{"a":1,"b":2}', 1), ('{"b":2,"a":1}', 1)]:
        assert matches(expr, text.encode()) == bool(legal), text
    assert not run(expr, b'{"a":1,"b":1'), "what cannot be finished is not begun"


def test_duties_leave_room_under_a_bound() -> None:
    members = (Member(b'"a"', ONE), Member(b'"b"', ONE, others=(Variant(TWO, 1),)), Member(b'"c"', ONE, True))
    expr = whole(MemberSpec(members, COMMA, BRACE, n_duties=1, hi=2))
    assert matches(expr, b'{"c":1,"b":2}') and not run(expr, b'{"a')


def test_kinds_of_undeclared_keys_have_their_own_values() -> None:
    spec = MemberSpec((member("x"),), COMMA, BRACE, classes=(KeyClass(X_KEYS, ONE), KeyClass(Y_KEYS, TWO)))
    expr = whole(spec)
    assert matches(expr, b'{"xa":1,"y":2,"x":01,"xa":1}')
    assert not matches(expr, b'{"xa":2}') and not matches(expr, b'{"y":1}')


def test_an_undeclared_key_may_not_be_undone() -> None:
    """The same key again, with its last value counting, must not take back what fulfilled a duty."""
    classes = (KeyClass(X_KEYS, ONE, 0, 1), KeyClass(X_KEYS, TWO, 1, 1), KeyClass(Y_KEYS, ONE))
    expr = whole(MemberSpec((), COMMA, BRACE, classes=classes, n_duties=1))
    assert matches(expr, b'{"xa":1,"xb":2,"y":1,"xa":2}')
    assert not matches(expr, b'{"xa":2,"xa":1}') and not matches(expr, b'{"y":1}')


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("lo", "hi"), [(0, None), (2, 3), (0, 1), (4, None), (0, 0)])
@pytest.mark.parametrize("others", [(), (Variant(VALUE, 1),), (Variant(VALUE, 1), Variant(VALUE, 2))])
def test_whether_a_member_may_come_is_known_without_all_ways(
    others: tuple[Variant, ...], lo: int, hi: int | None, ordered: bool
) -> None:
    def make() -> MemberSpec:
        first = Member(b'"a"', VALUE, True, others)
        return MemberSpec((first, member("b")), COMMA, BRACE, lo=lo, hi=hi, ordered=ordered, n_duties=2)

    with_all, alone = make(), make()
    for bits, count in itertools.product(range(1 << 4), range(4)):
        assert may_go_on(alone, bits, count) == bool(steps(with_all, bits, count)), (bits, count)


def test_an_object_with_duties_inside_its_own_value() -> None:
    rule = ex.Rule("tree")
    sub = ex.seq(ex.lit(b":"), ex.call(rule))
    spec = MemberSpec((Member(b'"a"', sub, others=(Variant(TWO, 1),)),), COMMA, BRACE, n_duties=1)
    rule.define(lambda: ex.seq(ex.lit(b"{"), start_members(spec)))
    assert matches(ex.call(rule), b'{"a":2}') and not matches(ex.call(rule), b'{"a":{"a":2}}')
