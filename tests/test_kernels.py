"""Every kernel against its plain-Python twin, on drawn vocabularies and constraints."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reference import plain_kernels as plain
from tests.reference.languages import ALPHABET, DrawnVocabulary, objects, regular, structured, vocabularies
from tokenizer_align import kernels as k
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.productive import is_productive
from tokenizer_align.vocabulary import Vocabulary

anything = st.one_of(regular, structured, objects(regular))
texts = st.lists(st.sampled_from(list(ALPHABET)), max_size=5).map(bytes)


def engine_for(drawn: DrawnVocabulary, memo_min_nodes: int = 1) -> Engine:
    return Engine(Vocabulary.from_bytes(drawn.token_bytes, drawn.eos_token_ids), memo_min_nodes, wide_bytes=1)


@settings(max_examples=60)
@given(anything, vocabularies(), st.sampled_from([1, 3, 300]), texts)
def test_walk_run_live_and_forced_equal_their_twins(
    expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, text: bytes
) -> None:
    engine = engine_for(drawn, memo_min_nodes)
    projected = engine.project(expr)
    assume(is_productive(projected))
    heads = engine.start(projected)
    plain.build_all(engine, heads, text)
    tables = engine.tables
    after = engine.run(heads, np.frombuffer(text, np.uint8))
    assert set(after) == set(plain.run_bytes(tables, heads, text))
    mask = np.zeros(engine.n_words, np.uint32)
    plain.walk(tables, after, mask)
    assert engine.mask(after).tolist() == mask.tolist()
    assert engine.live_bytes(after) == plain.live_bytes(tables, after)
    forced, ahead, _ = engine.forced_run(after, 8)
    twin, twin_ahead = plain.forced_run(tables, after, 8)
    assert forced == twin
    assert set(ahead) == set(twin_ahead)


@settings(max_examples=60)
@given(regular, vocabularies())
def test_walk_frame_equals_its_twin(expr: Expr, drawn: DrawnVocabulary) -> None:
    engine = engine_for(drawn, 10_000)
    projected = engine.project(expr)
    assume(is_productive(projected))
    ((state, _), *_) = engine.start(projected) or ((0, 0),)
    assume(0 < state < k.LIT_BASE)
    plain.build_all(engine, engine.start(projected), b"")
    mask, twin_mask = np.zeros(engine.n_words, np.uint32), np.zeros(engine.n_words, np.uint32)
    exits = np.zeros(1000, np.int64)
    n_exits = k.walk_frame(engine.tables.ctx, 0, state, mask, exits)
    twin = plain.walk_frame(engine.tables, 0, state, twin_mask)
    if twin is None:
        assert n_exits == -1
    else:
        assert sorted(exits[:n_exits].tolist()) == sorted(twin)
        assert mask.tolist() == twin_mask.tolist()


@given(vocabularies())
def test_what_is_known_of_subtrees_equals_its_twins(drawn: DrawnVocabulary) -> None:
    trie = Vocabulary.from_bytes(drawn.token_bytes, drawn.eos_token_ids).trie
    ends, n = trie.end.tolist(), trie.n_nodes
    masks, heights, children = np.zeros((n, 4), np.uint64), np.zeros(n, np.int32), np.zeros(n, np.int32)
    k.subtree_masks(trie.end, trie.byte, masks)
    k.subtree_heights(trie.end, heights)
    k.count_children(trie.end, children)
    assert [int.from_bytes(row.tobytes(), "little") for row in masks] == plain.subtree_masks(ends, trie.byte.tolist())
    assert heights.tolist() == plain.subtree_heights(ends)
    assert children.tolist() == plain.count_children(ends)


@given(vocabularies(), texts)
def test_fewest_tokens_equals_its_twin(drawn: DrawnVocabulary, text: bytes) -> None:
    engine = engine_for(drawn)
    best, first = np.zeros(len(text) + 1, np.int32), np.zeros(len(text) + 1, np.int32)
    k.fewest_tokens(engine.tables.ctx, np.frombuffer(text, np.uint8), best, first)
    tokens = list(engine.vocabulary.token_bytes)
    assert best.tolist() == plain.fewest_tokens(tokens, text)
    found = engine.fewest_tokens(text)
    if best[0] < 0:
        assert found is None
    else:
        assert found is not None
        assert len(found) == best[0]
        assert engine.vocabulary.decode(found) == text


@given(st.lists(st.integers(0, 99), max_size=40))
def test_allowed_ids_lists_the_bits_in_order(ids: list[int]) -> None:
    mask, out = np.zeros(4, np.uint32), np.zeros(128, np.int32)
    for token in ids:
        mask[token >> 5] |= np.uint32(1 << (token & 31))
    assert out[: k.allowed_ids(mask, out)].tolist() == sorted(set(ids))
