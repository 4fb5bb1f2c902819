from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import pickle
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict, TypeVar

import annotated_types as at
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_py.constraints.types import of_type
from tokenizer_align.errors import ConstraintError

T = TypeVar("T")
Name = NewType("Name", str)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Pair(enum.Enum):
    XY = (1, 2)
    YX = (2, 1)


@dataclasses.dataclass
class Node:
    value: int
    label: str = ""
    next: Optional[Node] = None  # noqa: UP045
    cache: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass
class Scaled:
    raw: dataclasses.InitVar[int]
    unit: dataclasses.InitVar[str] = "m"
    value: int = dataclasses.field(default=0, init=False)

    def __post_init__(self, raw: int, unit: str) -> None:
        self.value = raw * (1000 if unit == "km" else 1)


@dataclasses.dataclass
class Box(Generic[T]):
    item: T


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Address(pydantic.BaseModel):
    street: str
    zip: Annotated[str, pydantic.Field(pattern=r"^\d{5}$")]


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=10)
    homes: list[Address]
    born: datetime.date | None = None
    salary: decimal.Decimal = pydantic.Field(default=decimal.Decimal(0), decimal_places=2, ge=0)
    colour: Colour = Colour.RED
    tags: set[str] = set()
    boss: Optional[Person] = None  # noqa: UP045


class Even(pydantic.BaseModel):
    n: int

    @pydantic.field_validator("n")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]


def weather(city: str, days: Annotated[int, at.Interval(ge=1, le=5)] = 1, unit: Literal["C", "F"] = "C") -> str:
    return ""


PERSON = '{"name": "Ada", "homes": [{"street": "s", "zip": "12345"}], "born": "1815-12-10", "salary": 12.50}'

CASES: list[tuple[Any, str, Any, list[str]]] = [
    (int, "5", 5, ["5.0", '"5"', "true"]),
    (float, "5", 5.0, ['"a"']),
    (bool, "true", True, ["1"]),
    (str, '"\\u00e9"', "é", ["1"]),
    (None, "null", None, ["0"]),
    (Any, "[1.5]", [1.5], [""]),
    (Literal["a", 1, None], "1", 1, ["2", '"1"']),
    (Colour, '"blue"', Colour.BLUE, ['"BLUE"']),
    (Level, "2", Level.HIGH, ["3"]),
    (Pair, '"XY"', Pair.XY, ["[1,2]"]),
    (Node, '{"value": 1, "next": {"value": 2}}', Node(1, next=Node(2)), ['{"label":"a"}', '{"value":1,"cache":1}']),
    (Box[int], '{"item":1}', Box(1), ['{"item":"x"}']),
    (Movie, '{"title":"M"}', {"title": "M"}, ['{"year":1931}', '{"title":"M","x":1}']),
    (Point, '{"x":1.5}', Point(1.5), ["[1,2]"]),
    (list[int], "[1,2]", [1, 2], ['["a"]']),
    (Sequence[int], "[1]", [1], ["1"]),
    (list, "[1.5]", [1.5], ["{}"]),
    (tuple[int, str], '[1,"a"]', (1, "a"), ["[1]", '["a",1]', '[1,"a",2]']),
    (tuple[int, ...], "[1,2,3]", (1, 2, 3), ['["a"]']),
    (set[Colour], '["red","blue"]', {Colour.RED, Colour.BLUE}, ['["red","red"]']),
    (frozenset[int], "[1,1]", frozenset({1}), ["[1.5]"]),
    (dict[str, int], '{"a":1}', {"a": 1}, ['{"a":"b"}']),
    (Mapping[int, str], '{"-7":"a"}', {-7: "a"}, ['{"a":"a"}', '{"07":"a"}']),
    (dict[Colour, int], '{"red":1}', {Colour.RED: 1}, ['{"green":1}']),
    (collections.OrderedDict[str, int], '{"a":1}', collections.OrderedDict(a=1), ["[]"]),
    (int | None, "null", None, ['"x"']),
    (float | int, "3", 3, ["null"]),
    (Node | Movie, '{"title":"M"}', {"title": "M"}, ["{}"]),
    (datetime.date | str, '"2024-02-30"', "2024-02-30", ["1"]),
    (Name, '"x"', "x", ["1"]),
    (Annotated[int, at.Gt(3)], "4", 4, ["3"]),
    (Annotated[float, at.Interval(ge=0, lt=1)], "0.5", 0.5, ["1", "-0.1"]),
    (Annotated[str, at.Len(2, 3)], '"ab"', "ab", ['"a"', '"abcd"']),
    (Annotated[list[int], at.MinLen(1)], "[1]", [1], ["[]"]),
    (Annotated[str, pydantic.StringConstraints(pattern="^[A-Z]+$")], '"AB"', "AB", ['"ab"']),
    (datetime.date, '"2024-02-29"', datetime.date(2024, 2, 29), ['"2023-02-29"', '"0000-01-01"']),
    (datetime.datetime, '"2024-01-02T03:04:05"', datetime.datetime(2024, 1, 2, 3, 4, 5), ['"2024-01-02"']),
    (datetime.time, '"10:11:12.5"', datetime.time(10, 11, 12, 500_000), ['"24:00:00"']),
    (datetime.timedelta, '"-P1DT2H"', -datetime.timedelta(days=1, hours=2), ['"P"', '"2h"']),
    (uuid.UUID, '"12345678-1234-5678-1234-567812345678"', uuid.UUID("12345678123456781234567812345678"), ['"1"']),
    (decimal.Decimal, "0.10", decimal.Decimal("0.10"), ['"1"']),
    (Pet, '{"kind":"dog","name":"Rex"}', Dog(kind="dog", name="Rex"), ['{"kind":"cat","name":"Rex"}']),
    (list[Even], '[{"n":2}]', [Even(n=2)], ['[{"n":"2"}]', '[{"n":2,"m":1}]']),
    (weather, '{"city":"Oslo","days":3}', {"city": "Oslo", "days": 3}, ['{"city":"Oslo","days":6}', "{}"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tp", "text", "value", "reject"),
    CASES,
    ids=lambda one: "" if isinstance(one, set) else getattr(one, "__name__", str(one))[:40],
)
def test_type_has_these_texts_and_reads_them(tp: Any, text: str, value: Any, reject: list[str]) -> None:
    constraint = of_type(tp)
    assert constraint.matches(text)
    assert [other for other in reject if constraint.matches(other)] == []
    read = constraint.parse(text)
    assert read == value and type(read) is type(value)


def test_pydantic_model_is_closed_and_read_by_pydantic() -> None:
    constraint = of_type(Person)
    assert constraint.matches(PERSON)
    assert not constraint.matches(PERSON[:-1] + ', "x": 1}') and not constraint.matches(
        PERSON.replace("12.50", "12.505")
    )
    assert not constraint.matches(PERSON.replace("12345", "1234")) and not constraint.matches(
        PERSON.replace("Ada", "A" * 11)
    )
    person = constraint.parse(PERSON)
    assert isinstance(person, Person) and person.salary == decimal.Decimal("12.50") and person.born is not None


def test_pydantic_urls_and_uuids_keep_their_scheme_and_version() -> None:
    url, identity = of_type(pydantic.HttpUrl), of_type(pydantic.UUID4)
    assert url.matches('"https://example.org/a"') and not url.matches('"mailto:a@example.org"')
    text = '"12345678-1234-4678-9234-567812345678"'
    assert identity.matches(text) and not identity.matches(text.replace("-4", "-1"))
    assert str(url.parse('"https://example.org/a"')) == "https://example.org/a" and identity.parse(text).version == 4


def test_models_that_allow_extra_keys_stay_open() -> None:
    class Loose(pydantic.BaseModel, extra="allow"):
        a: int

    assert of_type(Loose).matches('{"a":1,"b":2}')


def test_validators_beyond_a_schema_speak_up_when_parsed() -> None:
    constraint = of_type(Even)
    assert constraint.matches('{"n":3}')
    with pytest.raises(ConstraintError, match="odd"):
        constraint.parse('{"n":3}')


def test_text_that_does_not_fit_is_an_error() -> None:
    for tp, text in ((int, '"x"'), (Node, "{}"), (list[int], "[1"), (Literal["a"], '"b"'), (Person, "{}")):
        with pytest.raises(ConstraintError):
            of_type(tp).parse(text)


def test_constraint_survives_pickling_with_its_type() -> None:
    constraint = pickle.loads(pickle.dumps(of_type(Person)))
    assert constraint == of_type(Person) and isinstance(constraint.parse(PERSON), Person)


def test_types_without_a_json_form_are_refused() -> None:
    def starred(*values: int) -> None: ...

    for tp in (complex, list[complex], range, type[int], print, 3):
        with pytest.raises(ConstraintError):
            of_type(tp)
    for tp in (starred, dict[float, int], Annotated[datetime.date, at.Gt(datetime.date(2020, 1, 1))], object(), "int"):
        with pytest.raises(ConstraintError):
            of_type(tp)


def test_all_parts_without_a_json_form_are_told_at_once() -> None:
    made = dataclasses.make_dataclass("Made", [("x", complex), ("y", list[complex]), ("z", int)])
    with pytest.raises(ConstraintError) as caught:
        of_type(made)
    assert "2 problems of Made" in str(caught.value)
    assert " at x " in str(caught.value) and " at y[] " in str(caught.value)


def test_errors_of_reading_name_the_place_in_the_value() -> None:
    person = dataclasses.make_dataclass("Person", [("name", str), ("age", int)])
    group = dataclasses.make_dataclass("Group", [("people", list[person]), ("pair", tuple[int, str])])  # type: ignore[valid-type]
    with pytest.raises(ConstraintError, match=r"people\[1\]\.age: a string where a number is needed"):
        of_type(group).parse('{"people": [{"name": "a", "age": 1}, {"name": "b", "age": "2"}], "pair": [1, "a"]}')
    with pytest.raises(ConstraintError, match=r"pair\[1\]: a number where a string is needed"):
        of_type(group).parse('{"people": [], "pair": [1, 2]}')


def test_sets_that_must_hold_several_items_hold_different_ones() -> None:
    constraint = of_type(Annotated[set[int], at.MinLen(2)])
    assert constraint.matches("[1, 2]") and not constraint.matches("[1, 1]") and not constraint.matches("[1]")


@given(
    st.builds(Node, st.integers(-(10**18), 10**18), st.text(max_size=5), st.none() | st.builds(Node, st.integers(0, 9)))
)
def test_dumped_objects_read_back(node: Node) -> None:
    import json

    fields = dataclasses.asdict(node)
    text = json.dumps(_without_cache(fields), ensure_ascii=False)
    constraint = of_type(Node)
    assert constraint.matches(text) and constraint.parse(text) == node


def _without_cache(fields: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in fields.items() if key != "cache"}
    return {**kept, "next": _without_cache(kept["next"])} if kept["next"] else kept


def test_init_only_fields_of_dataclasses_are_asked_for() -> None:
    """Regression: they were left out, and no text could be read."""
    constraint = of_type(Scaled)
    assert constraint.parse('{"raw": 3, "unit": "km"}').value == 3000
    assert constraint.matches('{"raw": 3}')
    assert not constraint.matches('{"unit": "km"}')
    assert not constraint.matches('{"raw": 3, "value": 5}')


def test_the_empty_tuple_is_not_any_tuple() -> None:
    empty = of_type(tuple[()])
    assert (empty.matches("[]"), empty.matches("[1]"), empty.parse("[]")) == (True, False, ())
    assert of_type(tuple).matches("[1]")
