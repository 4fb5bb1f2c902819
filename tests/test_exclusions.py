"""Frames less finitely many words: which are told from the whole frame, and that their masks are exact."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.languages import DrawnVocabulary, vocabularies
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.exclusions import Exclusion, exclusion_of
from tokenizer_align.expressions import both, byte_set, lit, neg, seq, star, words
from tokenizer_align.recognizer import closure, run
from tokenizer_align.vocabulary import Vocabulary

KEY = seq(star(byte_set(b"ab")), lit(b"c"))


def test_a_frame_less_words_that_end_it_is_told_from_the_whole_frame() -> None:
    assert exclusion_of(both(KEY, neg(words([b"abc", b"bc"])))) == Exclusion(KEY, (b"abc", b"bc"))
    assert exclusion_of(both(KEY, neg(lit(b"abc")))) == Exclusion(KEY, (b"abc",))


def test_words_that_do_more_than_end_the_frame_are_left_to_a_walk() -> None:
    assert exclusion_of(both(star(byte_set(b"ab")), neg(words([b"ab", b"b"])))) is None  # the frame may go on
    assert exclusion_of(both(seq(lit(b"a"), KEY), neg(words([b"ac", b"aac"])))) is None  # no loop over the words' bytes
    assert exclusion_of(KEY) is None


@settings(max_examples=100)
@given(
    st.lists(st.text("ab", max_size=3).map(lambda text: text.encode() + b"c"), min_size=1, max_size=4),
    vocabularies(),
    st.data(),
)
def test_masks_less_words_are_exact(excluded: list[bytes], drawn: DrawnVocabulary, data: st.DataObject) -> None:
    expr = seq(both(KEY, neg(words(excluded))), star(byte_set(b"a")), lit(b"b"))
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
