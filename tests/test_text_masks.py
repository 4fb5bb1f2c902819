"""Masks in texts in quotes where several places of a byte are walked on, some by memos and some node by node."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

import domino_py as domino
from tests.test_shapes import GRAMMARS
from tokenizer_align import expressions as ex
from tokenizer_align import utf8
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.project import Projection
from tokenizer_align.recognizer import Stacks, start, step
from tokenizer_align.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256)]
LETTERS = "a'\"\\(n-"
TOKENS = [*BYTES, *("".join(text).encode() for n in (2, 3) for text in product(LETTERS, repeat=n))]
TOKENS += [
    b"\\u0041",
    "é'".encode(),
    '"é'.encode(),
    "'é(".encode(),
    b"\xc3",
    b"'\xc3",
    b"\\\\\\\\",
    b"a\xe0\x80",
    b"\xed\xa0\x80'",
    b"\xf4\x90\x80",
]
TOKENS += [b"(\xe0a", b"\xe0\xa0\xc3'"]
VOCABULARY = Vocabulary.from_bytes(TOKENS, ())


def byte_ranges(*ranges: tuple[int, int]) -> Expr:
    """One byte out of each inclusive range, in turn."""
    return ex.seq(*(ex.byte_set(range(lo, hi + 1)) for lo, hi in ranges))


REST = (0x80, 0xBF)
NO_CHARACTERS = {  # beside all characters
    "long forms": ex.alt(byte_ranges((0xE0, 0xE0), REST, REST), byte_ranges((0xF0, 0xF0), REST, REST, REST)),
    "surrogates": byte_ranges((0xED, 0xED), REST, REST),
    "beyond the last character": byte_ranges((0xF4, 0xF4), (0x90, 0x9F), REST, REST),
    "a letter inside": byte_ranges((0xE0, 0xE0), (0x61, 0x61)),
    "another first byte": byte_ranges((0xE0, 0xE0), (0xA0, 0xBF), (0xC3, 0xC3)),
}
JSON = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"enum": ["a'", '("\\']}}}
CASES = {name: domino.grammar(text, syntax="lark").expression for name, text in GRAMMARS.items()}
CASES |= {
    "json": domino.json().expression,
    "json schema": domino.json_schema(JSON).expression,
    "several kinds of text": domino.json_schema(
        {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^[^(]*$"}, {"const": 'a"(\\'}]}
    ).expression,
}
CASES |= {
    name: ex.seq(
        ex.lit(b"'"), ex.frame(ex.star(ex.alt(utf8.code_points([(0, 38), (40, 0x10FFFF)]), node))), ex.lit(b"'")
    )
    for name, node in NO_CHARACTERS.items()
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
    expr, choose = CASES[name], random.Random(name)
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
