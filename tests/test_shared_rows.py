"""Masks that several places share are the masks of each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reference import plain_kernels as plain
from tests.reference.languages import ALPHABET, DrawnVocabulary, is_settled, objects, regular, structured, vocabularies
from tests.test_kernels import engine_for
from tokenizer_align import expressions as ex
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.shared_rows import Reads
from tokenizer_align.vocabulary import Vocabulary

texts = st.lists(st.lists(st.sampled_from(list(ALPHABET)), max_size=7).map(bytes), min_size=2, max_size=12)


@settings(max_examples=80)
@given(st.one_of(structured, objects(regular)), vocabularies(), texts)
def test_masks_of_many_places_equal_the_twins(expr: Expr, drawn: DrawnVocabulary, found: list[bytes]) -> None:
    engine = engine_for(drawn)
    projected = engine.project(expr)
    assume(is_settled(projected))
    start = engine.start(projected)
    for text in found:
        plain.build_all(engine, start, text)
        heads = engine.clamped(engine.run(start, np.frombuffer(text, np.uint8)))
        mask = np.zeros(engine.n_words, np.uint32)
        plain.walk(engine.tables, heads, mask)
        row = engine.row(heads).copy()
        for token in drawn.eos_token_ids:
            row[token >> 5] &= ~np.uint32(1 << (token & 31))
            mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        assert row.tolist() == mask.tolist()


def nested() -> Expr:
    """Nested lists of a; a closing bracket must be of its opening's kind."""
    rule = ex.Rule("nested")
    kinds = [(b"[", b"]"), (b"(", b")")]
    rule.define(
        lambda: ex.alt(
            ex.lit(b"a"),
            *(
                ex.seq(ex.lit(o), ex.call(rule), ex.star(ex.seq(ex.lit(b","), ex.call(rule))), ex.lit(c))
                for o, c in kinds
            ),
        )
    )
    return ex.call(rule)


TOKENS = [*(bytes([b]) for b in b"a[](),"), b"a]", b"]]", b"])", b"),", b"]]]]", b"a,[", None]
VOCABULARY = Vocabulary.from_bytes(TOKENS, [len(TOKENS) - 1])


def legal_after(compiled: Compiled, text: bytes) -> set[bytes | None]:
    matcher = compiled.matcher()
    for byte in text:
        matcher.advance(TOKENS.index(bytes([byte])))
    return {TOKENS[token] for token in compiled.ids(matcher.mask())}


def test_what_tokens_reach_makes_a_difference_and_what_lies_below_does_not() -> None:
    compiled = Compiled(nested(), VOCABULARY, engine=Engine(VOCABULARY))
    for text in (b"([[[[[[[[a", b"([([[[[[[[[a", b"((((([[[[[[[[a"):
        assert legal_after(compiled, text) == {b"]", b",", b"]]", b"]]]]"}
    assert compiled.counters()["walks"] == 1
    assert legal_after(compiled, b"[[[a") == {b"]", b",", b"]]"}
    assert legal_after(compiled, b"[[([a") == {b"]", b",", b"])"}
    assert legal_after(compiled, b"[[(a") == {b")", b",", b"),"}
    assert legal_after(compiled, b"[a") == {b"]", b","}
    assert legal_after(compiled, b"[a]") == {None}


def test_equal_masks_are_one_row_and_forgotten_rows_are_made_again() -> None:
    engine = Engine(VOCABULARY)
    compiled = Compiled(nested(), VOCABULARY, engine=engine)
    first, second = compiled.matcher(), compiled.matcher()
    for matcher, text in ((first, b"[[("), (second, b"(([((")):
        for byte in text:
            matcher.advance(TOKENS.index(bytes([byte])))
    assert first.mask() is second.mask()
    expected = first.mask().copy()
    for forget in (engine.rows.age, engine.rows.drop):
        forget()
        compiled.kept.drop()
        assert first.mask().tolist() == expected.tolist()


def test_only_rows_that_nobody_holds_are_written_again() -> None:
    engine = Engine(VOCABULARY)
    heads = engine.start(nested())
    kept = engine.row(heads)
    before, walked = kept.tolist(), engine.mask(heads)
    assert engine.rows.keep(heads, walked, Reads(0, True)) is kept
    inside = engine.run(heads, np.frombuffer(b"[a", np.uint8))
    expected = np.zeros(engine.n_words, np.uint32)
    plain.walk(engine.tables, inside, expected)
    other = engine.row(inside)
    assert other is walked
    assert other.tolist() == expected.tolist()
    assert kept.tolist() == before
    assert engine.mask(heads) is not other


@pytest.mark.parametrize("is_walked_before", [False, True])
def test_rows_that_age_while_an_equal_mask_is_found_are_nobodys_once(is_walked_before: bool) -> None:
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in b"abcdef"), None], [6])
    engine = Engine(vocabulary)
    first, equal, *others = (engine.start(ex.lit(text)) for text in (b"ab", b"ac", b"b", b"c", b"d", b"e", b"f"))
    row = engine.row(first)
    walked = engine.mask(equal) if is_walked_before else None
    engine._n_kept_bytes = engine.budget.kept_bytes  # so that rows age now
    assert (engine.row(equal) if walked is None else engine.rows.keep(equal, walked, Reads(0, False))) is row
    assert engine.counters.ages == 1
    for _ in range(2):
        assert [np.flatnonzero([engine.row(heads)[0] >> i & 1 for i in range(6)]).tolist() for heads in others] == [
            [1],
            [2],
            [3],
            [4],
            [5],
        ]
