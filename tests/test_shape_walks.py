"""A memo takes over from walks through the trie by shape once these took as long: no mask changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import domino_py as domino
from tests.reference.drawn_walks import assert_masks_are_what_can_be_read
from tests.test_shapes import GRAMMARS, TOKENS
from tokenizer_align import shape_walks
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256)]


@pytest.mark.parametrize("name", ["names and texts", "texts in quotes"])
def test_a_memo_takes_over_and_the_mask_stays(name: str) -> None:
    words = [b"ab", b"ab'", b"' ", b"'\n", b"a(", b"a (", b"z_0", b"_a' b"]
    vocabulary = Vocabulary.from_bytes([*BYTES, *words], ())
    engine = Engine(vocabulary, 1, wide_bytes=1, shape_min_nodes=0, cache=None)
    expr = domino.grammar(GRAMMARS[name], syntax="lark").expression
    matcher = Compiled(expr, vocabulary, engine=engine).matcher()
    for byte in b"a 'a" if name == "names and texts" else b"'a":
        matcher.advance(byte)
    heads = matcher.configuration.heads
    first, before = engine.walked(heads), engine.counters.memos
    for _ in range(2 * shape_walks.FIXED_VISITS // shape_walks.TEXT_VISITS):
        assert np.array_equal(engine.walked(heads), first)
    assert engine.counters.memos > before
    n_memos = engine.counters.memos
    assert np.array_equal(engine.walked(heads), first)
    assert engine.counters.memos == n_memos


@pytest.mark.parametrize("text", GRAMMARS.values(), ids=GRAMMARS.keys())
def test_masks_are_exact_where_memos_come_after_one_walk(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_walks, "FIXED_VISITS", 0)
    monkeypatch.setattr(shape_walks, "NODES_A_VISIT", 10**9)
    expr = domino.grammar(text, syntax="lark").expression

    @settings(max_examples=8, deadline=None, database=None)
    @given(TOKENS, st.data())
    def check(tokens: list[bytes], data: st.DataObject) -> None:
        vocabulary = Vocabulary.from_bytes([*BYTES, *tokens], ())
        compiled = Compiled(expr, vocabulary, engine=Engine(vocabulary, 1, wide_bytes=1, shape_min_nodes=0))
        assert_masks_are_what_can_be_read(compiled, expr, data, 4)

    check()


@pytest.mark.parametrize("tokens", [[b"(0", b"0(0"], [b"(a", b"0(0", b"z(b"]], ids=str)
def test_places_where_a_text_ends_do_not_share_what_memos_take_out(tokens: list[bytes]) -> None:
    """A memo answered behind one of several places of a byte, and the others lost their states."""
    vocabulary = Vocabulary.from_bytes([*BYTES, *tokens], ())
    expr = domino.grammar(GRAMMARS["texts or names"], syntax="lark").expression
    matcher = Compiled(expr, vocabulary, engine=Engine(vocabulary, 1, wide_bytes=1, shape_min_nodes=0)).matcher()
    matcher.advance(0)
    assert set(range(256, 256 + len(tokens))) <= set(matcher.compiled.ids(matcher.mask()))
