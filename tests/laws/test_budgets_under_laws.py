"""Near a limit the tokens that a law leaves suffice: no walk that keeps to `mask_within` ends before its text does."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

import domino_py as domino
from tests.reference.tiny_bpe import KINDS, tiny_bpe
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

IS_SLOW = bool(os.environ.get("DOMINO_SLOW"))
SCHEMAS: dict[str, dict[str, Any]] = {
    "keys that differ": {"type": "object", "minProperties": 3},
    "items that differ": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2},
    "both": {
        "type": "object",
        "properties": {
            "n": {"type": "array", "items": {"enum": ["a", "ab", "abba"]}, "uniqueItems": True, "minItems": 2},
            "m": {"type": "object", "minProperties": 2},
        },
        "required": ["n", "m"],
    },
    "nothing differs": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


def walk(compiled: Compiled, rng: random.Random) -> Matcher:
    matcher = compiled.matcher()
    budget = matcher.min_tokens() + rng.randrange(12)
    ends = compiled.eos_token_ids
    while not matcher.is_complete() or (matcher.can_continue() and rng.random() < 0.8):
        left = budget - matcher.n_tokens
        going_on = [token for token in compiled.ids(matcher.mask_within(left)) if token not in ends]
        assert going_on or matcher.is_complete(), (matcher.text_bytes(), left)
        if not going_on:
            break
        matcher.advance(rng.choice(going_on))
    assert matcher.n_tokens <= budget
    return matcher


@pytest.mark.parametrize("law", ["canonical", "aligned"])
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_texts_are_complete_in_time(name: str, law: str) -> None:
    rng = random.Random(22)
    for kind in KINDS if IS_SLOW else ("llama3",):
        vocabulary = Vocabulary.from_tokenizer(tiny_bpe(kind, rng.choice([270, 300])), cache=None)
        for whitespace in ("compact", "flexible") if IS_SLOW else ("compact",):
            constraint = domino.json_schema(SCHEMAS[name], whitespace=whitespace)
            compiled = compile_expression(constraint.expression, vocabulary, law)
            for _ in range(60 if IS_SLOW else 4):
                assert constraint.matches(walk(compiled, rng).text_bytes())


@pytest.mark.parametrize("law", ["canonical", "aligned"])
def test_lengths_that_tokens_share_are_those_of_their_own_plans(law: str) -> None:
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe("gpt2", 300), cache=None)
    compiled = compile_expression(domino.json_schema(SCHEMAS["nothing differs"]).expression, vocabulary, law)
    compiled.engine.token_ends.min_tokens = 1
    matcher = compiled.matcher()
    assert vocabulary.encode is not None
    for token in vocabulary.encode('{"name": "ab'):
        matcher.advance(token)
    legal, fresh = compiled.ids(matcher.mask()), matcher.fork()
    for left in range(matcher.min_tokens(), matcher.min_tokens() + 4):
        shared = set(compiled.ids(matcher.mask_within(left)))
        assert shared == {token for token in legal if fresh.accepts_within(token, left)}


def test_a_text_whose_shortest_completions_are_not_canonical_is_completed() -> None:
    """Behind two blanks in a key nothing that two bytes of any kind begin was canonical; the search stopped there."""
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe("digits", 270), cache=None)
    schema = {"type": "array", "items": {"type": "object", "minProperties": 1, "maxProperties": 2}, "minItems": 2}
    expression = domino.json_schema(schema, whitespace="compact").expression
    matcher = compile_expression(expression, vocabulary, "canonical").matcher()
    assert vocabulary.encode is not None
    for token in vocabulary.encode('[{"   x'):
        if len(matcher.text_bytes()) < 5:
            matcher.advance(token)
    assert matcher.text_bytes() == b'[{"  '
    for _ in range(matcher.min_tokens()):
        ids = matcher.compiled.ids(matcher.mask_within(matcher.min_tokens()))
        matcher.advance(ids[0])
    assert matcher.is_complete()
