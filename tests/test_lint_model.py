"""Grammar lint: disagreements of a table model with a constraint are found, ranked, and met with the right hint."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import domino_py as domino
from domino_py.constraints.base import Constraint
from domino_py.lint_hints import hint_for, place_after
from domino_py.lint_model import Disagreement, disagreements, merged
from domino_py.report import Intervention, Report
from tests.reference.table_model import TableModel

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer", "maximum": 130}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
COMPACT = domino.json_schema(PERSON, whitespace="compact", key_order="declared")
FLEXIBLE = domino.json_schema(PERSON)
MOOD = domino.json_schema({"enum": ["Good", "Bad", 3]})


PIECES: list[bytes | None] = [None, *(bytes([i]) for i in range(1, 128)), b"{\n", b'{"', b'":', b": "]
VOCABULARY = domino.Vocabulary.from_bytes(PIECES, eos_token_ids=[0])
NUMBER = {piece: index for index, piece in enumerate(PIECES)}


def model_that_wants(*wishes: tuple[bytes, bytes]) -> Any:
    """Behind a text (bytes of the output so far) the model wants a token at 90 %; elsewhere all are alike."""
    by_text = dict(wishes)

    def table(prefix: tuple[int, ...]) -> list[float]:
        wanted = by_text.get(b"".join(PIECES[t] or b"" for t in prefix[1:]))
        low = math.log(0.1 / (len(PIECES) - 1)) if wanted is not None else -math.log(len(PIECES))
        return [math.log(0.9) if NUMBER.get(wanted) == i and wanted is not None else low for i in range(len(PIECES))]

    return TableModel(table, len(PIECES))


def lint(constraint: Constraint, *wishes: tuple[bytes, bytes], tokenization: str = "any") -> Report:
    result = domino.generate(
        model_that_wants(*wishes),
        VOCABULARY,
        [1],
        constraint,
        max_new_tokens=60,
        measure="full",
        tokenization=tokenization,
        do_sample=False,
    )
    assert isinstance(result, domino.GenerationResult)
    return result.report


def test_a_line_break_that_compact_json_forbids_is_found_with_its_place_and_hint() -> None:
    report = lint(COMPACT, (b"", b"{\n"))
    wanted = [one for one in report.disagreements if one.wanted == "{\n"]
    assert [(one.byte, one.n) for one in wanted] == [(0, 1)]
    assert wanted[0].hint.startswith('allow whitespace="flexible", or show an example of the compact form')
    assert wanted[0].cost == pytest.approx(-math.log(2 * 0.1 / (len(PIECES) - 1)), abs=1e-3)  # { and {" are legal
    assert "the model wants `{\\n` and gets `{" in str(wanted[0])
    assert 'allow whitespace="flexible"' in str(report)


def test_disagreements_come_in_order_of_cost_and_a_legal_choice_is_none() -> None:
    report = lint(FLEXIBLE, (b"", b'{"'))
    costs = [one.cost for one in report.disagreements]
    assert costs == sorted(costs, reverse=True)
    assert all(one.byte > 0 for one in report.disagreements)


@pytest.mark.parametrize(
    ("constraint", "before", "wanted", "got", "hint"),
    [
        (COMPACT, '{"name":', " ", '"', 'whitespace="flexible"'),
        (FLEXIBLE, "", " {", "{", 'whitespace="unbounded"'),
        (FLEXIBLE, '{"name": "Ada"', "   ,", ",", 'whitespace="unbounded"'),
        (domino.json(whitespace="unbounded"), "", " {", "{", ""),
        (COMPACT, '{"', "age", "name", 'key_order="any"'),
        (COMPACT, "{", '"age', '"name', 'key_order="any"'),
        (FLEXIBLE, '{"', "Name", "name", "another case"),
        (FLEXIBLE, '{"', "city", "name", "not declared"),
        (FLEXIBLE, '{"name": "Ada", "age": ', '"', "3", '"type" could allow "string"'),
        (FLEXIBLE, '{"name": "Ada", "age":', ' "', " ", '"type" could allow "string"'),
        (FLEXIBLE, '{"name": ', "3", '"', '"type" could allow "number"'),
        (FLEXIBLE, '{"name": ', "null", '"', '"type" could allow "null"'),
        (FLEXIBLE, '{"age": 3', ".", ",", 'number_spelling="any"'),
        (FLEXIBLE, '{"age": 130', "0", ",", "maximum"),
        (FLEXIBLE, '{"name": "Ada Lovel', "ace", '"', "maxLength"),
        (FLEXIBLE, '{"name": "A"', "}", ",", "required"),
        (FLEXIBLE, "", "Here", "{", "prose"),
        (FLEXIBLE, "", "```", "{", "code fence"),
        (FLEXIBLE, '{"name": "A"', "<end>", ",", "required"),
        (MOOD, '"', "good", "Good", "enum"),
        (domino.choice(["yes", "no"]), "", "Yes", "yes", "that spelling"),
        (domino.regex("yes|no"), "", "YES", "yes", "(?i)"),
        (domino.choice(["yes"]), "", " yes", "yes", "heal_prompt=True"),
        (domino.regex("a+b"), "aa", "<end>", "b", "optional"),
        (domino.regex("a+b"), "aa", "x", "b", ""),
    ],
)
def test_hints(constraint: Constraint, before: str, wanted: str, got: str, hint: str) -> None:
    found = hint_for(before, wanted, got, "constraint", constraint)
    assert hint in found and bool(hint) == bool(found)


def test_a_text_that_had_to_be_closed_is_told_to_get_more_tokens() -> None:
    assert "max_new_tokens" in hint_for('{"a": "b', "c", '"', "budget", FLEXIBLE)


@pytest.mark.parametrize(
    ("text", "in_string", "is_key"),
    [
        ("", False, False),
        ("{", False, True),
        ('{"a', True, True),
        ('{"a\\"', True, True),
        ('{"a": ', False, False),
        ('{"a": "x", ', False, True),
        ('{"a": [1, ', False, False),
        ('{"a": [{"b": 1}, {"c', True, True),
        ('[{"a": 1}, "x', True, False),
    ],
)
def test_the_place_in_a_json_text(text: str, in_string: bool, is_key: bool) -> None:
    place = place_after(text)
    assert (place.in_string, place.is_key) == (in_string, is_key)


def test_low_legal_mass_counts_where_the_choice_itself_was_legal() -> None:
    found = disagreements([], [0.9, None, 0.25, 0.0], [b"\xc3", b"\xa9", b"b"], [2], "aligned", None)
    assert [(one.byte, one.wanted, one.got, one.is_split) for one in found] == [
        (3, None, "<end>", False),
        (2, None, "b", True),
    ]
    assert found[1].cost == pytest.approx(math.log(4))
    assert "∞" in str(found[0]) and "unnatural split" in str(found[1])


def test_a_split_that_was_forced_under_any_advises_the_aligned_law() -> None:
    step = Intervention(0, "", "{\n", "{", -0.1, -5.0, 0.01)
    (found,) = disagreements([step], [0.01], [b"{"], [0], "any", domino.json(whitespace="unbounded"))
    assert found.is_split and 'tokenization="aligned"' in found.hint


def test_equal_disagreements_are_put_together_and_reports_add_up() -> None:
    one, other = Disagreement(3, "a", "b", 1.0, hint="h"), Disagreement(9, "x", "b", 1.5)
    assert merged([one, other, one]) == (Disagreement(3, "a", "b", 2.0, hint="h", n=2), other)
    total = Report.total([Report(disagreements=(one,)), Report(disagreements=(one, other))])
    assert [one.n for one in total.disagreements] == [2, 1]
    assert json.loads(json.dumps(total.to_dict()))["disagreements"][0]["hint"] == "h"
