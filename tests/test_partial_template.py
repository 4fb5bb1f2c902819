"""Values of a template while it is written: by name, typed, complete, and never taken back."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import domino_py as domino
from domino_py.partial_template import PartialTemplate
from tests.tiny import tiny_model, tiny_tokenizer


class _Refusing(pydantic.BaseModel):
    n: Literal[1, 2]

    @pydantic.field_validator("n")
    @classmethod
    def none_will_do(cls, value: int) -> int:
        raise ValueError("none will do")


NAME = domino.regex("[A-Z][a-z]+(?: [A-Z][a-z]+)*")
CARD = domino.template(
    "{name}, {age} {at}\n{rest}",
    name=NAME,
    age=int,
    at=domino.template("<{x};{y}>", x=domino.choice(["1", "12"]), y=bool),
    rest=domino.regex("[a-z]*"),
)


def along(form: domino.Constraint, text: str) -> list[Any]:
    """The values behind each character."""
    reader, found = PartialTemplate(form), []
    for character in text:
        reader.feed(character)
        found.append(reader.value())
    return found


def test_holes_come_once_they_are_complete() -> None:
    text = "Ada Bo, 36 <12;true>\nab"
    values = along(CARD, text)
    assert values[text.index(",") - 1] == {}
    assert values[text.index(",")] == {"name": "Ada Bo"}
    assert values[text.index("6")] == {"name": "Ada Bo"}  # it may be 367
    assert values[text.index("<")] == {"name": "Ada Bo", "age": 36, "at": {}}
    assert values[text.index(";")] == {"name": "Ada Bo", "age": 36, "at": {"x": "12"}}
    assert values[text.index("\n")] == {"name": "Ada Bo", "age": 36, "at": {"x": "12", "y": True}}
    assert values[-1] == values[text.index("\n")]  # more may follow


def test_a_hole_whose_end_is_not_clear_waits() -> None:
    line = domino.regex("[a-z, ]+")
    assert along(domino.template("{a}, {b}.", a=line, b=line), "x, y, z")[-1] == {}
    assert along(domino.template("{a}, {b}.", a=line, b=line), "x, y, z.")[-1] == {}
    assert along(domino.template("{a};{b}", a=line, b=line), "x, y;z")[-1] == {"a": "x, y"}


@given(st.lists(st.sampled_from(["ab", "a", "ba", "b", "", "a,b"]), min_size=3, max_size=3), st.data())
def test_what_is_shown_stays(words: list[str], data: st.DataObject) -> None:
    patterns = ["[ab]*", "a?b?", "[ab,]*", "(?:ab|a)*"]
    holes = {name: domino.regex(data.draw(st.sampled_from(patterns))) for name in ("x", "y", "z")}
    form = domino.template(data.draw(st.sampled_from(["{x}{y}{z}", "{x},{y}{z}", "{x},{y},{z};"])), **holes)
    text = form.source[0].format(x=words[0], y=words[1], z=words[2])
    if not form.matches(text):
        return
    final = form.parse(text)
    for value in along(form, text):
        assert {name: final[name] for name in value} == value


def holds(later: Any, earlier: Any) -> bool:
    """Whether all that was shown is still there."""
    if isinstance(earlier, dict) and isinstance(later, dict):
        return all(name in later and holds(later[name], earlier[name]) for name in earlier)
    return bool(later == earlier)


def test_a_template_in_a_hole_stays_while_its_end_is_not_clear() -> None:
    inner = domino.template("{x};{y}", x=domino.regex("[a-z]+"), y=domino.regex("[a-z!]+"))
    form = domino.template("{t}!{u}", t=inner, u=domino.regex(".*"))
    assert along(form, "ab;cd!e")[2:] == [{"t": {"x": "ab"}}] * 5
    assert along(domino.template("{t}", t=inner), "ab;cd")[2:] == [{"t": {"x": "ab"}}] * 3
    assert along(domino.template("{t}\n", t=inner), "ab;cd\n")[-1] == {"t": {"x": "ab", "y": "cd"}}


@given(st.lists(st.sampled_from(["ab", "a", "b", "", "a,b", "a;b"]), min_size=4, max_size=4), st.data())
def test_what_is_shown_of_templates_in_templates_stays(words: list[str], data: st.DataObject) -> None:
    patterns = st.sampled_from(["[ab]*", "a?b?", "[ab,;]*", "(?:ab|a)*"])
    holes = {name: domino.regex(data.draw(patterns)) for name in ("w", "x", "y", "z")}
    inmost = domino.template(data.draw(st.sampled_from(["{x};{y}", "{x}{y}", "{x},{y};"])), x=holes["x"], y=holes["y"])
    middle = domino.template(data.draw(st.sampled_from(["{w}{inmost}", "{w},{inmost};"])), w=holes["w"], inmost=inmost)
    outer = data.draw(st.sampled_from(["{middle}{z}", "{middle};{z}"]))
    form = domino.template(outer, middle=middle, z=holes["z"])
    written = dict(zip("wxyz", words, strict=True))
    inner_text = inmost.source[0].format(x=written["x"], y=written["y"])
    text = outer.format(middle=middle.source[0].format(w=written["w"], inmost=inner_text), z=written["z"])
    if not form.matches(text):
        return
    shown = [*along(form, text), form.parse(text)]
    assert all(holds(later, earlier) for earlier, later in itertools.pairwise(shown))


def test_a_value_that_a_type_refuses_is_not_shown_and_stops_no_stream() -> None:
    form = domino.template("{a};{b}", a=domino.choice(["x", "y"]), b=_Refusing)
    parts = domino.stream(tiny_model(), tiny_tokenizer(), "x", form, max_new_tokens=60)
    assert [part.partial for part in parts][-1] == {"a": parts.result.text[0]}
    with pytest.raises(ValueError):
        _ = parts.result.value


@pytest.mark.parametrize("speculate", [True, False])
def test_a_stream_shows_the_values_of_a_template(speculate: bool) -> None:
    form = domino.template("{a}-{b};", a=domino.regex("[0-9]{1,3}"), b=bool)
    parts = domino.stream(tiny_model(), tiny_tokenizer(), "x", form, speculate=speculate)
    seen = [part.partial for part in parts]
    assert seen[-1] == parts.result.value and set(seen[-1]) == {"a", "b"}
    assert all({name: seen[-1][name] for name in value} == value for value in seen)
    if not speculate:
        assert {"a": seen[-1]["a"]} in seen
