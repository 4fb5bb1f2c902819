"""What a model is told about a type or schema."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, TypedDict

import pytest
from pydantic import BaseModel, Field

import domino_py as domino
from domino_py.describe import describe
from domino_py.extraction_prompt import ExtractionPrompt


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    city: str = Field(description="the  city\n alone")
    zip_code: str | None = Field(None, alias="zip")


@dataclass
class Person:
    name: str
    age: int
    home: Address
    nicknames: list[str] = field(default_factory=list, metadata={"description": "as friends say"})


class Movie(TypedDict, total=False):
    title: str
    year: int


class Node(BaseModel):
    value: int
    children: list[Node] = []


def call(city: str, day: datetime.date) -> None:
    """A function that a model may call."""


Metres = NewType("Metres", float)


@pytest.mark.parametrize(
    ("source", "skeleton"),
    [
        (int, "whole number"),
        (Metres, "number"),
        (Colour, '"red" or "blue"'),
        (Literal["a", 1, None], '"a" or 1 or null'),
        (str | None, "… or null"),
        (list[bool], "[true or false, …]"),
        (dict[str, float], "{…: number, …}"),
        (tuple[int, str], "[whole number, …]"),
        (tuple[int, ...], "[whole number, …]"),
        (set[int], "[whole number, …]"),
        (Annotated[int, Field(gt=0)], "whole number"),
        (datetime.date, '"YYYY-MM-DD"'),
        (Any, "value"),
        (Address, '{"city": …, "zip": … or null}'),
        (
            Person,
            '{"name": …, "age": whole number, "home": {"city": …, "zip": … or null}, "nicknames": […, …]}',
        ),
        (Movie, '{"title": …, "year": whole number}'),
        (Node, '{"value": whole number, "children": [{…}, …]}'),
        (call, '{"city": …, "day": "YYYY-MM-DD"}'),
    ],
)
def test_types_become_skeletons(source: Any, skeleton: str) -> None:
    assert describe(source, None).skeleton == skeleton


def test_descriptions_of_fields_are_kept_with_their_path() -> None:
    assert describe(Person, None).notes == (("home.city", "the city alone"), ("nicknames", "as friends say"))


def test_schemas_give_the_same_skeleton_as_the_types_they_come_from() -> None:
    for model in (Address, Node):
        assert describe(model.model_json_schema(), None).skeleton == describe(model, None).skeleton


def test_schema_references_are_followed_and_others_left_open() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x~1y"}, "b": {"$ref": "https://example.org/s"}, "c": {"const": 1}},
        "$defs": {"x/y": {"type": ["string", "null"]}},
    }
    assert describe(schema, None).skeleton == '{"a": … or null, "b": value, "c": 1}'


def test_long_enumerations_are_cut() -> None:
    assert describe({"enum": list(range(100))}, None).skeleton.endswith("11 or …")


def test_templates_are_shown_with_their_holes_filled_by_words() -> None:
    item = domino.template("- {what}: {n}", what=domino.regex("[a-z]+"), n=int)
    form = domino.template(
        "{{{a}}} {b}\n{c}\n{d}",
        a=Address,
        b=domino.choice(["x", "y"]),
        c=domino.repeat(item, 1, 3, separator="\n"),
        d=domino.select("yes", later=domino.template("in {n}", n=int)),
    )
    skeleton = '{{"city": …, "zip": … or null}} x or y\n- …: whole number\n…\nyes or in whole number'
    assert describe(form, form).skeleton == skeleton
    assert describe(form, form).notes == (("city", "the city alone"),)


def test_only_json_is_asked_for_as_json() -> None:
    form = domino.template("Name: {name}", name=domino.regex(".+"))
    assert ExtractionPrompt(None, form, form).question == "Extract the information from the text in this form:\nName: …"
    assert "as JSON of this form" in ExtractionPrompt(None, int, domino.of_type(int)).question
