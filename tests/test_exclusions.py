"""Frames less finitely many words: which are told from the whole frame, and that their masks are exact."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.languages import DrawnVocabulary, vocabularies
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.exclusions import exclusion_of
from tokenizer_align.expressions import EPSILON, Expr, alt, both, byte_set, frame, lit, neg, repeat, seq, star, words
from tokenizer_align.recognizer import closure, run
from tokenizer_align.vocabulary import Vocabulary

KEY = seq(star(byte_set(b"ab")), lit(b"c"))


def test_a_frame_less_words_that_end_it_is_told_from_the_whole_frame() -> None:
    assert told(both(KEY, neg(words([b"abc", b"bc"])))) == (KEY, {b"abc", b"bc"}, True)
    assert told(both(KEY, neg(lit(b"abc")))) == (KEY, {b"abc"}, True)
    assert told(both(seq(lit(b"a"), KEY), neg(words([b"ac", b"aac"])))) == (seq(lit(b"a"), KEY), {b"ac", b"aac"}, True)


def told(expr: Expr) -> tuple[Expr, set[bytes], bool] | None:
    """The exclusion, its words written out."""
    found = exclusion_of(expr)
    if found is None:
        return None
    texts = (bytes(mask.bit_length() - 1 for mask in word) for word in found.words)
    return found.whole, set(texts), found.ends_frame


def test_words_behind_which_the_frame_may_go_on_are_told_too() -> None:
    name = seq(byte_set(b"ab"), star(byte_set(b"abc")))
    assert told(both(name, neg(words([b"ab", b"b"])))) == (name, {b"ab", b"b"}, False)
    some_case = alt(seq(byte_set(b"aA"), byte_set(b"bB")), lit(b"b"))
    found = exclusion_of(both(star(byte_set(b"abAB")), neg(some_case)))
    assert found is not None
    assert set(found.words) == {(1 << 65 | 1 << 97, 1 << 66 | 1 << 98), (1 << 98,)}


def test_other_intersections_are_left_to_a_walk() -> None:
    assert exclusion_of(KEY) is None
    assert exclusion_of(both(repeat(byte_set(b"ab"), 1, 3), neg(words([b"ab", b"b"])))) is None  # finitely many texts
    assert exclusion_of(both(star(byte_set(b"abc")), neg(seq(lit(b"a"), star(lit(b"b")))))) is None  # many words
    mixed = alt(KEY, star(byte_set(b"ab")))
    assert exclusion_of(both(mixed, neg(words([b"ab", b"bc"])))) is None  # one word ends the frame, one does not


NAMES = (seq(byte_set(b"ab"), star(byte_set(b"abc"))), star(byte_set(b"ab")), seq(star(byte_set(b"ab")), lit(b"c")))


@settings(max_examples=200)
@given(
    st.sampled_from(NAMES),
    st.lists(st.text("abc", min_size=1, max_size=3).map(str.encode), min_size=1, max_size=4),
    st.sampled_from([lit(b"b"), seq(lit(b"c"), star(byte_set(b"ab"))), EPSILON]),
    vocabularies(),
    st.data(),
)
def test_masks_less_words_are_exact(
    whole: Expr, excluded: list[bytes], after: Expr, drawn: DrawnVocabulary, data: st.DataObject
) -> None:
    expr = seq(both(whole, neg(words(excluded))), star(byte_set(b"a")), after)
    expr = seq(frame(both(whole, neg(words(excluded)))), expr) if data.draw(st.booleans()) else expr
    vocabulary = Vocabulary.from_bytes([*(bytes([b]) for b in b"abc"), *drawn.token_bytes], ())
    matcher = Compiled(expr, vocabulary, engine=Engine(vocabulary, 1, wide_bytes=1)).matcher()
    for _ in range(6):
        text = matcher.text_bytes()
        legal = [bool(token) and bool(closure(run(expr, text + token))) for token in vocabulary.token_bytes]
        if not any(legal):
            break
        mask = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: vocabulary.n_rows]
        assert mask.astype(bool).tolist() == legal, text
        matcher.advance(data.draw(st.sampled_from([i for i, is_legal in enumerate(legal) if is_legal])))
