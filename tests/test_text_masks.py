"""Masks in texts in quotes where several places of a byte are walked on, some by memos and some node by node."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

import domino_py as domino
from domino_py.constraints.base import Constraint
from tests.test_shapes import GRAMMARS
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.project import Projection
from tokenizer_align.recognizer import Stacks, start, step
from tokenizer_align.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256)]
LETTERS = "a'\"\\(n-"
TOKENS = [*BYTES, *("".join(text).encode() for n in (2, 3) for text in product(LETTERS, repeat=n))]
TOKENS += [b"\\u0041", "é'".encode(), '"é'.encode(), "'é(".encode(), b"\xc3", b"'\xc3", b"\\\\\\\\"]
VOCABULARY = Vocabulary.from_bytes(TOKENS, ())
JSON = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"enum": ["a'", '("\\']}}}
CASES: dict[str, Constraint] = {name: domino.grammar(text, syntax="lark") for name, text in GRAMMARS.items()}
CASES |= {
    "json": domino.json(),
    "json schema": domino.json_schema(JSON),
    "several kinds of text": domino.json_schema(
        {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^[^(]*$"}, {"const": 'a"(\\'}]}
    ),
}


class Read:
    """Which tokens can be read behind a text, by the recognizer; steps are looked up."""

    def __init__(self, expr: Expr) -> None:
        self.here = start(Projection(VOCABULARY.usable_bytes)(expr))
        self._steps: dict[tuple[Stacks, int], Stacks] = {}

    def after(self, data: bytes) -> Stacks:
        here = self.here
        for byte in data:
            if not here:
                break
            key = here, byte
            here = self._steps[key] if key in self._steps else self._steps.setdefault(key, step(here, byte))
        return here


@pytest.mark.parametrize("memo_min_nodes", [1, 6, 40])
@pytest.mark.parametrize("name", CASES)
def test_masks_are_what_can_be_read(name: str, memo_min_nodes: int) -> None:
    expr, choose = CASES[name].expression, random.Random(name)
    compiled = Compiled(expr, VOCABULARY, engine=Engine(VOCABULARY, memo_min_nodes, wide_bytes=1, shape_min_nodes=0))
    for _ in range(3):
        matcher, read = compiled.matcher(), Read(expr)
        for _ in range(4):
            legal = [bool(token) and bool(read.after(token)) for token in TOKENS]
            if not any(legal):
                break
            mask = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: len(TOKENS)]
            assert mask.astype(bool).tolist() == legal, matcher
            token = choose.choice([i for i, is_legal in enumerate(legal) if is_legal])
            matcher.advance(token)
            read.here = read.after(TOKENS[token])
