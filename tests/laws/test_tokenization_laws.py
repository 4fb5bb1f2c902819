"""Masks under "canonical" and "aligned" equal their definitions, by brute force over small languages."""

from __future__ import annotations

import os
import random

import pytest

from tests.reference.canonical_brute_force import END, CanonicalBruteForce
from tests.reference.drawn_languages import draw_language
from tests.reference.tiny_bpe import KINDS, brute_force, tiny_bpe
from tokenizer_align import expressions as ex
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

N_LANGUAGES = 1000 if os.environ.get("DOMINO_SLOW") else 25
_WORDS = [
    "ab",
    "ba",
    "abba",
    "name",
    "true",
    " ab",
    "it's",
    "Zürich",
    "東京",
    "😀",
    "12",
    "1234",
    '{"',
    '":"',
    '"}',
    "  ",
]


def ids_of(matcher: Matcher) -> set[int]:
    return set(matcher.compiled.ids(matcher.mask()))


def expected(legal: set[int], vocabulary: Vocabulary) -> set[int]:
    ends = set(vocabulary.eos_token_ids) if END in legal else set()
    return {token for token in legal if token != END} | ends


def compile_texts(texts: list[str], vocabulary: Vocabulary, law: str) -> Compiled:
    return compile_expression(ex.words([text.encode() for text in texts]), vocabulary, law)


def check_canonical(
    texts: list[str], reference: CanonicalBruteForce, vocabulary: Vocabulary, thorough: bool = True
) -> None:
    """At every prefix of a canonical tokenization the mask is what the canonical tokenizations go on with."""
    compiled = compile_texts(texts, vocabulary, "canonical")
    for prefix, legal in reference.canonical.items():
        matcher = compiled.matcher()
        for token in prefix:
            matcher.advance(token)
        assert ids_of(matcher) == expected(legal, vocabulary), (texts, vocabulary.decode(prefix))
        if thorough:
            check_interface(matcher, expected(legal, vocabulary))


def check_aligned(
    texts: list[str],
    reference: CanonicalBruteForce,
    vocabulary: Vocabulary,
    rng: random.Random,
    thorough: bool = True,
) -> None:
    """Along random kept tokens the mask is the tokens from which on some legal text is canonical."""
    matcher = compile_texts(texts, vocabulary, "aligned").matcher()
    while True:
        legal = expected(reference.aligned(matcher.text_bytes()), vocabulary)
        assert ids_of(matcher) == legal, (texts, matcher.text_bytes())
        if thorough:
            check_interface(matcher, legal)
        choices = sorted(legal - set(vocabulary.eos_token_ids))
        if not choices:
            break
        matcher.advance(rng.choice(choices))


def check_interface(matcher: Matcher, legal: set[int]) -> None:
    """The other answers agree with the mask, and tokens that complete the text are legal one after the other."""
    compiled = matcher.compiled
    fresh = matcher.fork()
    assert {i for i in range(compiled.n_rows) if fresh.accepts(i)} == legal
    ends = compiled.eos_token_ids
    assert matcher.is_complete() == bool(legal & ends)
    assert matcher.can_continue() == bool(legal - ends)
    n, text = matcher.min_tokens(), matcher.shortest_completion()
    before = matcher.text_bytes()
    for left in range(n, 0, -1):
        within = fresh.mask_within(left)
        choices = [i for i in range(compiled.n_rows) if within[i >> 5] >> (i & 31) & 1 and i not in ends]
        assert choices, "the text cannot be completed in time"
        assert all(fresh.accepts(i) for i in choices)
        fresh.advance(choices[0])
        if fresh.is_complete():
            break
    assert fresh.is_complete()
    assert before + text in compiled_texts(compiled, before, text)
    fresh.rollback(fresh.n_tokens - matcher.n_tokens)
    assert ids_of(fresh) == legal


def compiled_texts(compiled: Compiled, before: bytes, text: bytes) -> set[bytes]:
    """{the text} if the constraint holds it."""
    matcher = compile_expression(compiled.expr, compiled.vocabulary).matcher()
    for byte in before + text:
        matcher.advance(compiled.vocabulary.ids_by_bytes[bytes([byte])][0])
    return {before + text} if matcher.is_complete() else set()


@pytest.mark.parametrize("n_tokens", [270, 300, 360])
@pytest.mark.parametrize("kind", KINDS)
def test_masks_equal_brute_force(kind: str, n_tokens: int) -> None:
    tokenizer = tiny_bpe(kind, n_tokens)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=None)
    rng = random.Random(n_tokens)
    for _ in range(N_LANGUAGES):
        texts = draw_language(rng, _WORDS)
        reference = brute_force(tokenizer, texts)
        check_canonical(texts, reference, vocabulary)
        check_aligned(texts, reference, vocabulary, rng)
