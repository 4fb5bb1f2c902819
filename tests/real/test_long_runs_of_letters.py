"""Long classes of letters without a boundary of pre-tokens: the search behind the laws ends at once (it once hung)."""

from __future__ import annotations

import pytest

import domino_py as domino
from tests.real.tokenizers import real_vocabulary
from tokenizer_align.compiled import compile_expression


@pytest.mark.parametrize("law", ["aligned", "canonical"])
@pytest.mark.parametrize("pattern", ["[a-z]{20}", "[a-z]{30,40}"])
def test_a_long_run_of_letters_has_masks_and_canonical_texts(pattern: str, law: str) -> None:
    vocabulary = real_vocabulary("smollm2")
    compiled = compile_expression(domino.regex(pattern).expression, vocabulary, law)
    matcher = compiled.matcher()
    while not matcher.is_complete():
        token = compiled.ids(matcher.mask())[-1]
        matcher.advance(token)
    assert len(matcher.text_bytes()) >= 20
    if law == "canonical" and not matcher.given_up_at:
        text = matcher.text_bytes().decode()
        assert vocabulary.encode is not None
        assert tuple(vocabulary.encode(text)) == tuple(matcher._tokens)
