"""Templates: what is legal, what values come back, and what is said about mistakes."""

from __future__ import annotations

import pickle
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

import domino_py as domino
from domino_py.constraints.base import Constraint

WORD = domino.regex("[a-z]+")
LINE = domino.regex(r"[^\n]+")


def test_fixed_text_is_forced_and_holes_hold_what_they_may() -> None:
    c = domino.template("Name: {name}\nAge: {age}\n", name=LINE, age=int)
    assert c.matches("Name: Ada Lovelace\nAge: 36\n")
    assert not any(c.matches(text) for text in ("", "Name: Ada\nAge: 36", "Name: Ada\nAge: x\n", "name: Ada\nAge: 3\n"))
    assert c.parse("Name: Ada Lovelace\nAge: 36\n") == {"name": "Ada Lovelace", "age": 36}


def test_braces_are_written_twice() -> None:
    c = domino.template('{{"a": {a}, "b": {{}}}}', a=int)
    assert c.parse('{"a": 5, "b": {}}') == {"a": 5}
    assert domino.template("{{{a}}}", a=int).parse("{7}") == {"a": 7}
    assert domino.template("{{a}}").parse("{a}") == {}


def test_values_have_the_types_of_their_holes() -> None:
    class Point(BaseModel):
        x: int

    c = domino.template(
        "{a}|{b}|{c}|{d}|{e}|{f}",
        a=bool,
        b=Literal["x", "y"],
        c=Point,
        d={"type": "array", "items": {"type": "integer"}},
        e=domino.choice(["1", "2"]),
        f=domino.grammars.arithmetic,
    )
    values = c.parse('true|"y"|{"x": 3}|[1, 2]|2|1+1')
    assert values == {"a": True, "b": "y", "c": Point(x=3), "d": [1, 2], "e": "2", "f": "1+1"}
    assert list(values) == ["a", "b", "c", "d", "e", "f"]


def test_templates_in_templates_give_dicts_in_dicts() -> None:
    place = domino.template("{city} ({zip})", city=WORD, zip=domino.regex("[0-9]{4}"))
    c = domino.template("from {a} to {b}", a=place, b=place)
    assert c.parse("from bern (3000) to chur (7000)") == {
        "a": {"city": "bern", "zip": "3000"},
        "b": {"city": "chur", "zip": "7000"},
    }


def test_repeated_templates_give_lists() -> None:
    item = domino.template("- {what}: {n}\n", what=WORD, n=int)
    c = domino.template("Items:\n{items}Total: {total}", items=domino.repeat(item, 0, 3), total=int)
    assert c.parse("Items:\n- nut: 3\n- bolt: 4\nTotal: 7") == {
        "items": [{"what": "nut", "n": 3}, {"what": "bolt", "n": 4}],
        "total": 7,
    }
    assert c.parse("Items:\nTotal: 0") == {"items": [], "total": 0}
    assert not c.matches("Items:\n" + "- a: 1\n" * 4 + "Total: 4")


def test_separated_items_and_ranges_of_counts() -> None:
    c = domino.repeat(WORD, 2, 3, separator=", ")
    assert [c.matches(", ".join("abcd"[:n])) for n in range(5)] == [False, False, True, True, False]
    assert c.parse("red, green, blue") == ["red", "green", "blue"]
    optional = domino.repeat(WORD, 0, separator=domino.regex(", ?"))
    assert optional.parse("") == [] and optional.parse("a,b, c") == ["a", "b", "c"]
    assert not optional.matches("a,") and not optional.matches(",a")
    assert domino.repeat(WORD, 0, 0, separator=",").matches("")
    assert domino.repeat(int, 1, 2, separator=" ").parse("1 2") == [1, 2]


def test_select_says_which_alternative_and_its_value() -> None:
    c = domino.select("yes", "no", domino.template("in {n} days", n=int), other=WORD)
    assert c.parse("yes") == domino.Selected("yes", "yes")
    assert c.parse("in 5 days") == domino.Selected(2, {"n": 5})
    assert c.parse("perhaps") == domino.Selected("other", "perhaps")
    named = domino.select({"one thing": "1", "more": int})
    assert named.parse("1") == ("one thing", "1") and named.parse("2") == ("more", 2)
    assert domino.template("{a}!", a=c).parse("no!") == {"a": ("no", "no")}


def test_combined_constraints_have_the_values_of_their_parts() -> None:
    greeting = domino.template("Hello {name}. ", name=WORD)
    assert (greeting + domino.of_type(int)).parse("Hello ada. 5") == ({"name": "ada"}, 5)
    assert (greeting | domino.of_type(int)).parse("7") == 7
    assert (greeting | domino.of_type(int)).parse("Hello ada. ") == {"name": "ada"}
    assert domino.repeat(greeting, 1, 2).parse("Hello a. Hello b. ") == [{"name": "a"}, {"name": "b"}]


def test_holes_take_from_left_to_right_what_they_can() -> None:
    free = domino.regex("(?s).*")
    assert domino.template("{a}{b}", a=free, b=free).parse("xy") == {"a": "xy", "b": ""}
    assert domino.template("{a}, {b}", a=free, b=free).parse("x, y, z") == {"a": "x, y", "b": "z"}
    assert domino.template("{a}{b}", a=domino.regex("a?"), b=domino.regex("ab?")).parse("ab") == {"a": "", "b": "ab"}
    assert domino.template("{a}{b}", a=domino.regex("ab|a"), b=domino.regex("c|bcd")).parse("abcd")["a"] == "a"


def test_a_text_that_is_not_legal_has_no_value() -> None:
    with pytest.raises(domino.ConstraintError, match="no text of this template"):
        domino.template("a{b}", b=WORD).parse("b")


def test_checks_of_a_type_name_the_hole() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def check(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    with pytest.raises(domino.ConstraintError, match=r"(?s)the hole \{e\}: .*odd"):
        domino.template("{e}", e=Even).parse('{"n": 3}')


def test_templates_are_values() -> None:
    def make(tp: Any = int) -> Constraint:
        item = domino.template("{a}", a=domino.select("x", n=tp))
        return domino.template("A{a}B{b}", a=domino.repeat(item, 1, 2, separator=";"), b=WORD)

    copy = pickle.loads(pickle.dumps(make()))
    assert copy == make() and hash(copy) == hash(make()) and make() != make(bool)
    text = "Ax;3Bz"
    assert copy.parse(text) == make().parse(text) == {"a": [{"a": ("x", "x")}, {"a": ("n", 3)}], "b": "z"}


@pytest.mark.parametrize(
    ("text", "holes", "messages"),
    [
        ("{}", {}, ["the hole {} has no name, at line 1, column 1"]),
        ("a\n{0}", {}, ["the hole {0} has no name, at line 2, column 1"]),
        ("{a:>3}", {"a": int}, ["':>3' is a way to format values"]),
        ("{a!r}", {"a": int}, ["'!r' is a way to format values"]),
        ("{a.b}", {"a": int}, ["{a.b} asks for a part of a value"]),
        ("{ a }", {"a": int}, ["' a ' is not the name of a hole"]),
        ("{a", {"a": int}, ["a { opens a hole that does not end, at line 1, column 1"]),
        ("a}", {}, ["a } closes nothing, at line 1, column 2"]),
        ("{a} {b}", {}, ["what the hole {a} may hold", "what the hole {b} may hold, at line 1, column 5"]),
        ("{colour}", {"color": int}, ["Did you mean 'color'?", "the template has no hole {color}"]),
        ("x", {"a": int}, ["the template has no hole {a} at a=. Write {a} where it belongs."]),
        ("{a}{a}", {"a": int}, ["the hole {a} stands twice, first at line 1, column 1, at line 1, column 4"]),
        ("{a}", {"a": "x"}, ["is a bare string", "choice(['x'])"]),
        ("{a}", {"a": None}, ["a=None: a hole needs a constraint"]),
        ("{a}", {"a": {"type": "strin"}}, ["/type"]),
        ("a\ud800", {}, ["half of a surrogate pair"]),
    ],
)
def test_mistakes_are_said_with_their_place(text: str, holes: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(domino.TemplateError) as caught:
        domino.template(text, **holes)
    for message in messages:
        assert message in str(caught.value)


def test_all_mistakes_are_said_at_once_in_their_order() -> None:
    with pytest.raises(domino.TemplateError) as caught:
        domino.template("{b} {} {a}\n} {c!s}", b=int, z=int, c=int)
    places = [problem.pointer for problem in caught.value.problems]
    assert places == ["line 1, column 5", "line 1, column 8", "line 2, column 1", "line 2, column 3", "z="]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: domino.select(), domino.EmptyLanguage),
        (lambda: domino.select(["a", "b"]), domino.InvalidOption),
        (lambda: domino.select("a", "a"), domino.InvalidOption),
        (lambda: domino.select("a", a=int), domino.InvalidOption),
        (lambda: domino.select("a", None), domino.InvalidOption),
        (lambda: domino.select("a", {"type": "integer"}), domino.InvalidOption),
        (lambda: domino.select(a={"type": "strin"}), domino.InvalidOption),
        (lambda: domino.repeat(WORD, 1, 2, separator=5), domino.InvalidOption),
        (lambda: domino.template(5), domino.InvalidOption),
    ],
)
def test_what_cannot_be_combined_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def severities(constraint: Constraint) -> list[tuple[str, str]]:
    return [(problem.severity, problem.message.split("\n")[0]) for problem in domino.check(constraint)]


def test_check_says_nothing_of_clear_templates() -> None:
    item = domino.template("- {what}: {n}\n", what=WORD, n=int)
    assert domino.check(domino.template("{a} {b}\n{c}\n{d}", a=int, b=WORD, c=LINE, d=domino.repeat(item, 0, 3))) == []
    assert domino.check(domino.template("{{{a}}}{b}{c}", a=list[int], b={"type": "object"}, c=WORD)) == []


def test_check_warns_of_texts_that_can_be_read_in_two_ways() -> None:
    (side_by_side,) = severities(domino.template("{a}{b}", a=WORD, b=WORD))
    assert side_by_side[0] == "warning" and side_by_side[1].startswith("{a} and {b} stand side by side")
    (apart,) = severities(domino.template("{a}, {b}", a=LINE, b=LINE))
    assert apart[0] == "warning" and apart[1].startswith("{a}, and what follows it, can be read in two ways: in ")
    assert [one[0] for one in severities(domino.template("{a}{b}", a=int, b=int))] == ["warning"]


def test_check_finds_problems_inside_the_holes() -> None:
    inner = domino.template("<{x}>", x={"type": "object", "properties": {"a": {"type": "string", "minlength": 3}}})
    problems = domino.check(domino.template("{t}", t=domino.repeat(domino.select(t=inner), 1, 2)))
    assert [problem.pointer for problem in problems] == ["{t}<t>{x}/properties/a/minlength"]


def test_check_notes_quotes_and_alternatives_that_are_never_chosen() -> None:
    assert severities(domino.template("{a}", a=str)) == [("note", "{a} is written as JSON, in quotes")]
    assert severities(domino.template("{a}", a=int)) == severities(domino.template("{a}", a=str | None)) == []
    (hidden,) = severities(domino.select(WORD, "no"))
    assert hidden == ("warning", "'no' is read as the alternative 0, which stands before it")


def test_a_hole_that_nothing_can_fill_is_an_error() -> None:
    empty = domino.template("{a}", a=domino.regex("(?!.*)x"))
    assert [problem.severity for problem in domino.check(empty)] == ["error"]


# --- properties ------------------------------------------------------------------------------------------------------

FIXED = st.text("<>|{}é\n", min_size=1, max_size=3)


@st.composite
def filled(draw: st.DrawFn, depth: int = 0) -> tuple[Constraint, str, Any]:
    """(constraint, one of its texts, the value) of a hole; no text of a leaf holds a character of the fixed texts."""
    kinds = ["word", "int", "choice"] + (["template", "repeat", "select"] if depth < 3 else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "word":
        text = draw(st.text("ab", min_size=1, max_size=4))
        return domino.regex("[ab]+"), text, text
    if kind == "int":
        value = draw(st.integers(-99, 99))
        return domino.of_type(int), str(value), value
    if kind == "choice":
        text = draw(st.sampled_from(["x", "xy", ""]))
        return domino.choice(["x", "xy", ""]), text, text
    if kind == "template":
        return draw(filled_templates(depth + 1))
    if kind == "select":
        constraint, text, value = draw(filled(depth + 1))
        return domino.select("§", this=constraint), text, domino.Selected("this", value)
    separator = ",;/"[depth]
    constraint, text, value = draw(filled(depth + 1))
    n = draw(st.integers(1, 3))
    return domino.repeat(constraint, 1, 3, separator=separator), separator.join([text] * n), [value] * n


@st.composite
def filled_templates(draw: st.DrawFn, depth: int = 0) -> tuple[Constraint, str, Any]:
    parts, text, values, holes = [], "", {}, {}
    for at in range(draw(st.integers(0, 3))):
        fixed = draw(FIXED)
        constraint, piece, value = draw(filled(depth))
        parts.append(fixed.replace("{", "{{").replace("}", "}}") + f"{{h{at}}}")
        text += fixed + piece
        values[f"h{at}"], holes[f"h{at}"] = value, constraint
    fixed = draw(FIXED)
    parts.append(fixed.replace("{", "{{").replace("}", "}}"))
    return domino.template("".join(parts), **holes), text + fixed, values


@settings(max_examples=150)
@given(filled_templates())
def test_what_is_written_into_a_template_is_read_back(drawn: tuple[Constraint, str, Any]) -> None:
    constraint, text, values = drawn
    assert constraint.matches(text)
    assert constraint.parse(text) == values


@settings(max_examples=40)
@given(filled_templates(), st.data())
def test_every_beginning_of_a_text_may_go_on_as_the_text_does(
    drawn: tuple[Constraint, str, Any], data: st.DataObject
) -> None:
    constraint, text, _ = drawn
    cut = data.draw(st.integers(0, len(text)))
    seen, rest = domino.inspect(constraint, text[:cut]), text[cut:]
    assert seen.is_legal and seen.is_complete >= (rest == "")
    assert rest.startswith(seen.forced)
    assert not rest or rest.encode()[0] in seen.next_bytes
    assert constraint.matches(text[:cut] + seen.completion)


PATTERNS = ["[ab]*", "a?", "(?:ab|b)+", "b{0,2}", ".", "a|ab|b"]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(PATTERNS), st.text("ab", max_size=1)), max_size=4), st.text("ab", max_size=7))
def test_values_put_back_into_the_template_are_the_text(parts: list[tuple[str, str]], text: str) -> None:
    """Also where it can be read in several ways; and what `check` finds no two readings of has none."""
    holes = {f"h{at}": domino.regex(pattern) for at, (pattern, _) in enumerate(parts)}
    form = "".join(f"{{h{at}}}{fixed}" for at, (_, fixed) in enumerate(parts))
    constraint = domino.template(form, **holes)
    if constraint.matches(text):
        values = constraint.parse(text)
        assert form.format(**values) == text
        assert all(holes[name].matches(value) for name, value in values.items())
