"""Where many tokens lead to, found together, against each token by itself; masks near a limit against one by one."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from domino_py import json_schema
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary

ALPHABET = b'ab"\\,:[]{}1 \xc3\xa4'
TOKENS = [
    *(bytes([b]) for b in range(256)),
    *(bytes(pair) for pair in product(ALPHABET, repeat=2)),
    *(bytes(word) for word in product(b'ab":,', repeat=4)),
    *(bytes(word) for word in product(b'a"\\{}1,', repeat=3)),
]
VOCABULARY = Vocabulary.from_bytes([*dict.fromkeys(TOKENS), None], (len(dict.fromkeys(TOKENS)),))
SCHEMAS = [
    {"type": "object", "required": ["a", "b"]},
    {"type": "string", "maxLength": 5},
    {"type": "object", "minProperties": 3},
    {"type": "array", "uniqueItems": True, "minItems": 3, "items": {"type": "string"}},
]


def ids_of(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()


@pytest.mark.parametrize("schema", SCHEMAS[:2])
@pytest.mark.parametrize("text", [b"", b'{"', b'{"a":"'])
def test_tokens_of_one_group_lead_to_one_place(schema: dict[str, object], text: bytes) -> None:
    engine = Engine(VOCABULARY)
    compiled = Compiled(json_schema(schema).expression, VOCABULARY, engine=engine)
    matcher = compiled.matcher()
    for byte in text if schema["type"] == "object" else text[-1:]:
        matcher.advance(byte)
    heads, tokens = matcher.configuration.heads, [i for i in ids_of(matcher.mask()) if VOCABULARY.token_bytes[i]]
    engine.token_ends.min_tokens = 0
    groups, left = engine.token_ends.ends(heads, tokens, engine.live_bytes)
    assert sorted([*left, *(token for group in groups for token in group)]) == tokens
    assert all(len({engine.run_token(heads, token) for token in group}) == 1 for group in groups)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_masks_near_a_limit_are_those_of_asking_for_every_token(schema: dict[str, object]) -> None:
    """A limit once took seconds a mask, as every token was completed by itself."""
    rng = random.Random(1)
    engine = Engine(VOCABULARY)
    engine.token_ends.min_tokens = 20
    matcher = Compiled(json_schema(schema).expression, VOCABULARY, engine=engine).matcher()
    left = matcher.min_tokens() + 4
    while not matcher.is_complete():
        allowed = ids_of(matcher.mask_within(left))
        for token in rng.sample(ids_of(matcher.mask()), 10) if len(ids_of(matcher.mask())) > 10 else []:
            if VOCABULARY.token_bytes[token]:
                assert (token in allowed) == matcher.accepts_within(token, left), VOCABULARY.token_bytes[token]
        matcher.advance(rng.choice(allowed))
        left -= 1
    assert left >= 0 and json_schema(schema).matches(matcher.text_bytes())
