"""The trie by shape: it holds every token once, by classes and stretches, and masks of walks through it are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_py as domino
from tests.reference.drawn_walks import assert_masks_are_what_can_be_read
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.kernels import SHAPE_LIMIT
from tokenizer_align.shapes import shapes_of
from tokenizer_align.trie import Trie, build_trie
from tokenizer_align.vocabulary import Vocabulary

LETTERS = "abzAZ09_('é中\n -"
TOKENS = st.lists(
    st.one_of(st.text(LETTERS, min_size=1, max_size=7).map(str.encode), st.binary(min_size=1, max_size=4)), max_size=60
)


def kind(byte: int) -> str:
    """The class of a byte, said apart from the code."""
    text = chr(byte)
    for name, members in (
        ("a", "abcdefghijklmnopqrstuvwxyz"),
        ("A", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("0", "0123456789"),
    ):
        if text in members:
            return name
    for name, first, last in (("continues", 0x80, 0xBF), ("two", 0xC2, 0xDF), ("four", 0xF1, 0xF3)):
        if first <= byte <= last:
            return name
    return "three" if 0xE1 <= byte <= 0xEF and byte != 0xED else f"{byte:02x}"


def shape_of(token: bytes) -> tuple[str, ...]:
    found: list[str] = []
    for byte in token:
        name = kind(byte)
        if not (name in ("a", "A", "0") and found and found[-1] == name):
            found.append(name)
    return tuple(found)


def paths(trie: Trie) -> list[tuple[int, ...]]:
    """The bytes that lead to each node."""
    found: list[tuple[int, ...]] = [()]
    for node in range(1, trie.n_nodes):
        found.append((*found[node - 1][: trie.depth[node] - 1], int(trie.byte[node])))
    return found


@given(TOKENS)
def test_tokens_of_one_node_have_one_shape(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    shapes = shapes_of(trie)
    assert sorted(shapes.trie.token_ids.tolist()) == list(range(len(tokens)))
    by_shape: dict[tuple[str, ...], set[int]] = {}
    for token, data in enumerate(tokens):
        by_shape.setdefault(shape_of(data), set()).add(token)
    held = [set(shapes.trie.ids_at(node).tolist()) for node in range(shapes.trie.n_nodes)]
    assert sorted(map(sorted, by_shape.values())) == sorted(sorted(ids) for ids in held if ids)


@given(TOKENS)
def test_members_are_where_stretches_begin(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    shapes, spelled = shapes_of(trie), paths(trie)
    for node in range(1, shapes.trie.n_nodes):
        members = shapes.members[shapes.member_start[node] : shapes.member_start[node + 1]].tolist()
        assert members == sorted(members, key=lambda member: (spelled[member][-1], member))
        assert len({shape_of(bytes(spelled[member])) for member in members}) == 1
        leads = {spelled[member][-1] for member in members}
        words = shapes.leads[node].view(np.uint8)
        assert set(np.flatnonzero(np.unpackbits(words, bitorder="little")).tolist()) == leads
        assert shapes.trie.byte[node] == min(leads)
        ends = {trie.end[member] for member in members}
        assert len(ends) == len(members)


GRAMMARS = {
    "names and texts": 'start: NAME ("(" start ")" | " " TEXT)?\nNAME: /[a-z_][a-z0-9_]*/\nTEXT: /\'[^\'\\n]*\'/',
    "names less keywords": 'start: NAME (" " NAME)*\nNAME: /(?!(?:ab|za|b)\\b)[a-z]+/',
    "keywords or names": 'start: ("a" | "zab" | NAME) ("(" start ")")*\nNAME: /[A-Za-z]+/',
    "numbers": 'start: NUMBER ("-" NUMBER)*\nNUMBER: /(0|[1-9][0-9]*)(_[0-9]{1,3})?/',
    "words of any script": 'start: WORD (" " WORD)*\nWORD: /\\p{L}+/',
    "some letters": 'start: (A | B)+\nA: /[b-z]+\\(/\nB: /[a-yA-Y]{1,4}0/',
    "nested": 'start: "(" start* ")" | /[a-z]+/ | /[0-9]/ "-" start',
    "texts in quotes": 'start: ("\'" TEXT "\'" | "(" L "\\n")+\nTEXT: /([^\'\\\\\x00-\x1f]|\\\\.)*/\nL: /[^\\n(-]*/',
    "texts that end": 'start: CELL ("-" CELL)* "\\n" start?\nCELL: /[^\\n-]+/',
    "texts or names": 'start: (/[^(\']*/ "(" | /[a-z]+/ "\'")+',
    "bytes of a character": 'start: /[à-ÿ]+/ start? | /[一-鿿]/ "(" start? ")"',
}  # fmt: skip


@pytest.mark.parametrize("text", GRAMMARS.values(), ids=GRAMMARS.keys())
@pytest.mark.parametrize("limit", [2, 1_000])
def test_masks_are_exact(text: str, limit: int) -> None:
    expr = domino.grammar(text, syntax="lark").expression

    @settings(max_examples=15, deadline=None, database=None)
    @given(TOKENS, st.data())
    def check(tokens: list[bytes], data: st.DataObject) -> None:
        vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *tokens], ())
        engine = Engine(vocabulary, 1, wide_bytes=1, shape_min_nodes=0)
        engine.tables.ctx[SHAPE_LIMIT] = limit
        compiled = Compiled(expr, vocabulary, engine=engine)
        assert_masks_are_what_can_be_read(compiled, expr, data, 4)

    check()
