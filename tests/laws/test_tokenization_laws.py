"""Masks under "canonical" and "aligned" equal their definitions, by brute force over small languages."""

from __future__ import annotations

import os
import random

import pytest

from tests.reference.canonical_brute_force import END, CanonicalBruteForce
from tests.reference.drawn_languages import draw_language
from tests.reference.drawn_walks import assert_same_masks
from tests.reference.tiny_bpe import END as SPECIAL
from tests.reference.tiny_bpe import KINDS, brute_force, tiny_bpe
from tokenizer_align import expressions as ex
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.engines import engine_for
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


def test_texts_go_on_behind_split_whole_tokens() -> None:
    """What only a whole pre-token writes may come in pieces, as long as it may become something else: what follows is
    then tokenized as behind the token itself."""
    tokenizer = tiny_bpe("whole", 360)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=None)
    survival = survival_for(engine_for(vocabulary))
    rng = random.Random(1)
    n_split = 0
    for token in survival.paths.pre_tokens.whole_ids.tolist():
        word = (vocabulary.token_bytes[token] or b"").decode(errors="ignore")
        texts = [word + rest for rest in ("", " ", "s", "1", "}", " ab", "\n")]
        reference = brute_force(tokenizer, texts)
        for _ in range(6):
            matcher = compile_texts(texts, vocabulary, "aligned").matcher()
            legal: set[int] = set()
            while matcher.n_tokens == 0 or legal - set(vocabulary.eos_token_ids):
                legal = expected(reference.aligned(matcher.text_bytes()), vocabulary)
                assert ids_of(matcher) == legal, (texts, matcher.text_bytes())
                if legal - set(vocabulary.eos_token_ids):
                    matcher.advance(rng.choice(sorted(legal - set(vocabulary.eos_token_ids))))
                    n_split += matcher.text_bytes() == word.encode() and matcher.n_tokens > 1
    assert n_split > 10


_SPECIAL_PARTS = ["<", "<e", "en", "nd>", ">", "a", " <", "<<end", "b>", SPECIAL, SPECIAL, f"<{SPECIAL}", f"{SPECIAL}a"]


@pytest.mark.parametrize("kind", ["gpt2", "whole"])
def test_texts_that_spell_a_special_token_are_kept_out(kind: str) -> None:
    tokenizer = tiny_bpe(kind, 300)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=None)
    rng = random.Random(7)
    n_left_out = 0
    for _ in range(2 * N_LANGUAGES):
        drawn = ["".join(rng.choices(_SPECIAL_PARTS, k=rng.randint(1, 4))) for _ in range(rng.randint(2, 8))]
        texts = [text for text in drawn if SPECIAL not in text]
        assert all((vocabulary.eos_token_ids[0] in tokenizer.encode(text)) == (SPECIAL in text) for text in drawn)
        n_left_out += len(drawn) - len(texts)
        if texts:
            reference = brute_force(tokenizer, texts)
            check_canonical(drawn, reference, vocabulary)
            check_aligned(drawn, reference, vocabulary, rng)
    assert n_left_out > N_LANGUAGES


def test_where_every_text_spells_a_special_token_the_law_is_given_up() -> None:
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe("gpt2", 300), cache=None)
    for law in ("canonical", "aligned"):
        matcher = compile_texts([f"a{SPECIAL}"], vocabulary, law).matcher()
        assert ids_of(matcher)
        assert matcher.given_up_at == 0


@pytest.mark.parametrize("law", ["canonical", "aligned"])
def test_where_the_law_is_given_up_no_order_of_questions_matters(law: str) -> None:
    """Tokens were refused as long as nobody had asked for the mask, and where another place's mask was kept."""
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe("gpt2", 300), cache=None)
    (token,) = vocabulary.ids_by_bytes[b"a"]
    compiled = compile_texts([f"a{SPECIAL}"], vocabulary, law)
    before = compiled.matcher()
    assert before.accepts(token) and ids_of(before) == {token}
    compiled.age()
    assert ids_of(before) == {token}
    behind = compiled.matcher([vocabulary.ids_by_bytes[b"b"][0]])
    behind.advance(token)
    assert behind.given_up_at == 0


def test_a_text_that_would_complete_a_token_of_the_prompt_is_taken_by_itself() -> None:
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe("whole", 360), cache=None)
    n_alone = 0
    for token in survival_for(engine_for(vocabulary)).paths.pre_tokens.whole_ids.tolist():
        data = vocabulary.token_bytes[token] or b""
        if len(data) < 2 or not data.isalpha():
            continue
        context = [vocabulary.ids_by_bytes[bytes([byte])][0] for byte in data[:-1]]
        compiled = compile_texts([data[-1:].decode()], vocabulary, "aligned")
        matcher = compiled.matcher(context)
        assert ids_of(matcher) and matcher.given_up_at is None
        n_alone += bool(compiled.law_notes(context))
    assert n_alone


_ITEMS = [b"a", b" ", b"ab", b"\n", "é".encode(), b"1"]


@pytest.mark.parametrize("kind", ["gpt2", "llama3"])
def test_counts_beyond_the_longest_token_have_the_masks_of_their_texts(kind: str) -> None:
    """A bound may come within reach of what a token needs behind it, though not of the token itself."""
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe(kind, 360), cache=None)
    longest = max(len(data) for data in vocabulary.token_bytes if data)
    rng = random.Random(2)
    for _ in range(N_LANGUAGES):
        item, head, tail = (
            rng.choice(_ITEMS),
            rng.choice([b"", b'"', b"x"]),
            rng.choice([b"", b'"', b"ab", b"1", b" a"]),
        )
        hi = rng.randint(longest - 1, 2 * longest + 3)
        lo = rng.choice([0, hi - 1, hi, longest + 2])
        lo = min(lo, hi)
        counted = ex.seq(ex.lit(head), ex.repeat(ex.lit(item), lo, hi), ex.lit(tail))
        listed = ex.words([head + item * n + tail for n in range(lo, hi + 1)])
        for law in ("canonical", "aligned"):
            one, other = (compile_expression(expr, vocabulary, law).matcher() for expr in (counted, listed))
            assert_same_masks(one, other, rng, (law, item, lo, hi, tail))
