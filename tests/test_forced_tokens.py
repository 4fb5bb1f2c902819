"""Which constraints may force a text to spell a special token: the others are searched only to the next boundary."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import domino_py as domino
from tests.reference.tiny_bpe import tiny_bpe
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.canonical.forced_tokens import may_force
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary

CONTENTS = [b"<pad>", b"[multimodal]", b"<|im_end|>", b"aab"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 24},
        "kind": {"enum": ["multiple", "modal"]},
        "tags": {"type": "array", "items": {"type": ["string", "null", "boolean"]}},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    "constraint",
    [
        domino.choice(["<pad>", "x<pad>"]),
        domino.regex(r"\[multimodal\]"),
        domino.regex(r"\[multi(modal\]|modal\]x)"),
        domino.regex(r"<\|(im|om)_end\|>"),
        domino.regex("a{2,4}b"),
        domino.regex("[ab]{5}"),
        domino.regex("a(a|aa)b"),
        domino.choice(["<pa", "<"]) + domino.regex("d>|pad>"),
        domino.json_schema({"const": "<pad>"}),
    ],
)
def test_a_constraint_that_may_leave_only_a_special_token_is_found(constraint: domino.Constraint) -> None:
    assert may_force(constraint.expression, CONTENTS)


@pytest.mark.parametrize(
    "constraint",
    [
        domino.json_schema(SCHEMA),
        domino.json(),
        domino.choice(["multi", "modal", "[x]"]),
        domino.regex("[a-z]{2,9}"),
        domino.regex(r"(?s).*"),
        domino.json_schema({"properties": {"mail": {"format": "email"}, "word": {"pattern": "^[A-Za-z_]+$"}}}),
    ],
)
def test_letters_of_a_special_token_in_other_places_force_nothing(constraint: domino.Constraint) -> None:
    assert not may_force(constraint.expression, CONTENTS[:3])


def test_the_tables_of_an_engine_go_with_it() -> None:
    engine = Engine(Vocabulary.from_tokenizer(tiny_bpe("gpt2", 300), cache=None), cache=None)
    for may_force_tokens in (False, True):
        survival_for(engine, may_force_tokens)
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
