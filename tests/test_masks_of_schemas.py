"""Masks along texts of schemas are those of the plain-Python twin, whatever is kept, dropped or reloaded."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import domino_py as domino
from tests.reference import plain_kernels as plain
from tests.tiny import tiny_tokenizer
from tokenizer_align import memo_store
from tokenizer_align.cache import ArrayCache
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.fill import fill
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

PIECES = [
    *('{"', '":', '",', '"},', '"]', "[{", "[[", "]]", "}}", '"name', '"id":', '"tags', "true", "false", "null", "12"),
    *(".5", "-1", "e1", r"\"", r"\n", r"\u00", "00", "ab", "b1", '"a"', '","a', "é", "😀"),
]
TOKENS = [
    *(bytes([byte]) for byte in range(256)),
    *(piece.encode() for piece in PIECES),
    b'": ',
    b'", "',
    b", ",
    b"a b",
]
VOCABULARY = Vocabulary.from_bytes([*TOKENS, None], [len(TOKENS)])

NESTED = {
    "$defs": {"node": {"type": "object", "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}},
    "$ref": "#/$defs/node",
}
SCHEMAS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "id": {"type": "integer", "minimum": 3},
                "b1": {"enum": ["ab", 12]},
            },
            "required": ["name", "id"],
            "additionalProperties": False,
        },
        '{"name": "é b1\\n", "id": 12, "b1": "ab"}',
    ),
    (
        {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
        '{"tags": ["a b", ""], "z": [{}]}',
    ),
    (NESTED, '{"id": 1, "next": {"next": {"id": -12}}}'),
    (
        {"type": "array", "items": {"type": "string", "maxLength": 40, "pattern": "^[a-z]{2,30}-[0-9]+$"}},
        '["ab-12", "abab-0"]',
    ),
    (
        {"anyOf": [{"type": "number"}, {"type": "string", "format": "date"}, {"type": "array", "items": {}}]},
        '[{"a": [null, 1.5e1]}]',
    ),
    (
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "maxProperties": 3},
        '{"ab": 12, "id": [true]}',
    ),
]


def tokens_of(text: bytes, draw: random.Random) -> list[int]:
    """The text in tokens, sometimes long ones."""
    ids: list[int] = []
    while text:
        fitting = [i for i, token in enumerate(TOKENS) if text.startswith(token)]
        ids.append(draw.choice(fitting))
        text = text[len(TOKENS[ids[-1]]) :]
    return ids


def along(compiled: Compiled, ids: list[int]) -> list[npt.NDArray[np.uint32]]:
    matcher, masks = compiled.matcher(), []
    for token in [*ids, None]:
        masks.append(matcher.mask().copy())
        if token is not None:
            matcher.advance(token)
    return masks


def twins(compiled: Compiled, ids: list[int]) -> list[npt.NDArray[np.uint32]]:
    """The same by the plain-Python twin, which has no memos and no short cuts."""
    matcher, masks = compiled.matcher(), []
    for token in [*ids, None]:
        here = matcher.configuration
        plain.build_all(compiled.engine, here.heads, b"")
        mask = np.zeros(compiled.n_words, np.uint32)
        plain.walk(compiled.engine.tables, here.heads, mask)
        for end in compiled.eos_token_ids if here.complete else ():
            mask[end >> 5] |= np.uint32(1 << (end & 31))
        masks.append(mask)
        if token is not None:
            matcher.advance(token)
    return masks


@pytest.mark.parametrize("which", range(len(SCHEMAS)))
def test_masks_are_those_of_the_twin_cold_warm_dropped_and_reloaded(
    which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memo_store, "MIN_TRIE_NODES", 0)
    monkeypatch.setattr(memo_store, "MIN_WALK_S", 0.0)
    monkeypatch.setattr(memo_store, "MIN_KEPT_NODES", 0)
    schema, text = SCHEMAS[which]
    expression = domino.json_schema(schema).expression
    cache = ArrayCache("memos", 1, tmp_path)
    ids = tokens_of(text.encode(), random.Random(which))
    expected = twins(Compiled(expression, VOCABULARY, engine=Engine(VOCABULARY, cache=None)), ids)
    for _ in ("worked out", "from disk"):
        engine = Engine(VOCABULARY, memo_min_nodes=2, wide_bytes=4, cache=cache)
        compiled = Compiled(expression, VOCABULARY, engine=engine)
        assert np.array_equal(along(compiled, ids), expected)
        assert np.array_equal(along(compiled, ids), expected)
        compiled.kept.drop()
        assert np.array_equal(along(compiled, ids), expected)
        assert engine.drop_states()
        assert np.array_equal(along(compiled, ids), expected)
        rows = [read(compiled, ids[:n]) for n in range(len(ids) + 1)]
        out = np.zeros((len(rows), compiled.n_words), np.uint32)
        for _ in range(3):  # the second time masks are kept
            out[:] = 1
            fill(rows, out, 2)
            assert np.array_equal(out, expected)


def read(compiled: Compiled, ids: list[int]) -> Matcher:
    matcher = compiled.matcher()
    for token in ids:
        matcher.advance(token)
    return matcher


def test_threads_fill_rows_of_laws_and_of_different_items_as_one_thread_does() -> None:
    vocabulary = Vocabulary.from_tokenizer(tiny_tokenizer())
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "b": {"type": "integer"},
        },
        "required": ["a"],
    }
    constraint = domino.json_schema(schema, whitespace="compact")
    compiled = [domino.compile(constraint, vocabulary, tokenization=law) for law in ("any", "aligned", "canonical")]

    def rows(seed: int) -> list[Matcher]:
        found = []
        for i in range(12):
            draw, matcher = random.Random(100 * seed + i), compiled[i % 3].matcher()
            for _ in range(draw.randrange(8)):
                legal = set(matcher.compiled.ids(matcher.mask())) - set(vocabulary.eos_token_ids)
                if not legal:
                    break
                matcher.advance(draw.choice(sorted(legal)))
            found.append(matcher)
        return found

    expected = [np.stack([matcher.mask() for matcher in rows(seed)]) for seed in range(4)]
    wrong: list[str] = []

    def work(seed: int) -> None:
        try:
            for _ in range(3):
                found = rows(seed)
                out = np.ones_like(expected[seed])
                fill(found, out, 2)
                if not np.array_equal(out, expected[seed]):
                    wrong.append(f"rows of {seed}")
        except BaseException as error:
            wrong.append(repr(error))

    for _ in range(2):
        for each in compiled:
            each.engine.drop_states()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
