"""Every kernel against its plain-Python twin, on drawn vocabularies and constraints."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reference import plain_kernels as plain
from tests.reference.languages import ALPHABET, DrawnVocabulary, is_settled, objects, regular, structured, vocabularies
from tokenizer_align import automaton
from tokenizer_align import kernels as k
from tokenizer_align.byte_masks import words_of
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.frame_walks import walk_frame
from tokenizer_align.residuals import children_of, merged
from tokenizer_align.trie_arrays import add_trie
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
    assume(is_settled(projected))
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


@settings(max_examples=100)
@given(st.one_of(structured, regular), vocabularies(), st.integers(0, 4), st.data())
def test_walk_head_equals_its_twin(expr: Expr, drawn: DrawnVocabulary, n_bytes: int, data: st.DataObject) -> None:
    engine = engine_for(drawn, 10**6)
    projected = engine.project(expr)
    assume(is_settled(projected))
    heads, tables = engine.start(projected), engine.tables
    for _ in range(n_bytes):
        live = engine.live_bytes(heads)
        byte = data.draw(st.sampled_from([byte for byte in ALPHABET if live >> byte & 1] or [0]))
        heads = engine.run(heads, np.array([byte], np.uint8)) or heads
    plain.build_all(engine, heads, b"")
    code = data.draw(st.sampled_from([code for code, _ in heads if 0 < code < k.LIT_BASE] or [k.BELOW_STATE]))
    while True:
        held, walker = engine.walkers.take_one(tables, 1)
        with held:
            mask = np.zeros(engine.n_words, np.uint32)
            result, n_exits = k.walk_head(walker.ctx, code, mask)
            wanted, exits = walker.wanted(), sorted(walker.exits[:n_exits].tolist())
        engine.walkers.give(walker)
        if result == k.OK:
            break
        engine.make(wanted)
    twin = np.zeros(engine.n_words, np.uint32)
    assert exits == plain.walk_head(tables, code, twin)
    assert mask.tolist() == twin.tolist()


@settings(max_examples=60)
@given(regular, vocabularies())
def test_walk_frame_equals_its_twin(expr: Expr, drawn: DrawnVocabulary) -> None:
    engine = engine_for(drawn, 10_000)
    projected = engine.project(expr)
    assume(is_settled(projected))
    ((state, _), *_) = engine.start(projected) or ((0, 0),)
    assume(0 < state < k.LIT_BASE)
    plain.build_all(engine, engine.start(projected), b"")
    assume(engine.tables.state_kind.array[state] == k.ROW)
    mask, twin_mask = np.zeros(engine.n_words, np.uint32), np.zeros(engine.n_words, np.uint32)
    edges, pushes = np.zeros(1000, np.int32), np.zeros((1000, 2), np.int32)
    for later in (np.zeros(4, np.uint64), words_of(1 << ALPHABET[0])):
        items, n = np.array([[0, state]]), np.array([1, 0, 0])
        assert k.walk_frame(engine.tables.ctx, 0, later, mask, edges, pushes, items, n) == k.OK
        n_items, n_edges, n_pushes = n.tolist()
        assert n_items == 0
        twin_edges, twin_pushed = plain.walk_frame(engine.tables, 0, state, mask_of(later), twin_mask)
        assert sorted(edges[:n_edges].tolist()) == sorted(twin_edges)
        assert sorted(pushes[:n_pushes, 0].tolist()) == sorted(twin_pushed)
        assert mask.tolist() == twin_mask.tolist()
    loop = np.zeros(4, np.uint64)
    k.loop_bytes(engine.tables.ctx, state, loop)
    assert mask_of(loop) == plain.loop_bytes(engine.tables, state)


@settings(max_examples=40)
@given(regular, vocabularies())
def test_a_walk_that_stops_for_states_goes_on_where_it_stopped(expr: Expr, drawn: DrawnVocabulary) -> None:
    engine = engine_for(drawn, 10_000)
    projected = engine.project(expr)
    assume(is_settled(projected))
    ((state, _), *_) = engine.start(projected) or ((0, 0),)
    assume(0 < state < k.LIT_BASE and engine.tables.state_kind.array[state] <= k.ROW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(automaton, "EAGER_STATES", 1)  # every state is waited for
        walked = walk_frame(engine, 0, state, np.zeros(4, np.uint64))
    assert walked is not None
    plain.build_all(engine, engine.start(projected), b"")
    twin_mask = np.zeros(engine.n_words, np.uint32)
    twin_edges, _ = plain.walk_frame(engine.tables, 0, state, 0, twin_mask)
    assert sorted(walked.edges.tolist()) == sorted(twin_edges)
    assert walked.base.tolist() == twin_mask.tolist()


def mask_of(words: npt.NDArray[np.uint64]) -> int:
    return int.from_bytes(words.tobytes(), "little")


@settings(max_examples=60)
@given(vocabularies(), st.data())
def test_merged_subtrees_hold_the_texts_below_the_edges(drawn: DrawnVocabulary, data: st.DataObject) -> None:
    engine = engine_for(drawn)
    tables, n = engine.tables, engine.vocabulary.trie.n_nodes
    assume(n > 1)
    edges = np.array(data.draw(st.lists(st.integers(1, n - 1), unique=True)), np.int32)
    trie = merged(engine, edges)
    if trie is None:
        assert len(edges) == 0
        return
    root = add_trie(tables, trie)
    found = plain.texts_below(tables, plain.children(tables, root))
    assert sorted(found) == sorted(plain.texts_below(tables, edges.tolist()))
    assert len({text for text, _ in found}) <= trie.n_nodes - 1
    for node in range(root, root + trie.n_nodes):
        below = tables.trie_byte.array[plain.children(tables, node)].tolist()
        assert below == sorted(set(below))


@settings(max_examples=60)
@given(vocabularies(), st.data())
def test_children_sizes_and_nodes_of_words_equal_their_twins(drawn: DrawnVocabulary, data: st.DataObject) -> None:
    engine = engine_for(drawn)
    tables, n = engine.tables, engine.vocabulary.trie.n_nodes
    nodes = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    later = 1 << data.draw(st.sampled_from(list(ALPHABET)))
    twin = [
        c for node in nodes for c in plain.children(tables, node) if not later >> int(tables.trie_byte.array[c]) & 1
    ]
    edges = children_of(engine, np.array(nodes, np.int32), words_of(later))
    assert edges.tolist() == twin
    sizes = np.zeros(256, np.int64)
    n_tokens = k.subtree_sizes(tables.ctx, edges, sizes)
    assert n_tokens == len(plain.texts_below(tables, twin))
    assert sizes.sum() == sum(int(tables.trie_end.array[node]) - node for node in twin)
    sets = st.lists(st.sampled_from(list(ALPHABET)), min_size=1, max_size=3).map(
        lambda b: sum({1 << byte for byte in b})
    )
    word = tuple(data.draw(st.lists(sets, min_size=1, max_size=3)))
    found = np.zeros(1000, np.int32)
    depth = data.draw(st.integers(0, 2))
    rows = np.array([[words_of(mask) for mask in (*[0] * depth, *word)]])
    n_found = k.find_nodes(tables.ctx, 0, rows, np.array([depth + len(word)]), np.array([0]), depth, found)
    assert sorted(found[:n_found].tolist()) == plain.find_nodes(tables, 0, word)


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
