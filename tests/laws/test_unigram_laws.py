"""Masks under "canonical" and "aligned" equal their definitions for Unigram tokenizers, by brute force."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

import domino_py as domino
from tests.laws.test_tokenization_laws import _WORDS, check_aligned, check_canonical, compile_texts, ids_of
from tests.reference.drawn_languages import draw_language
from tests.reference.drawn_walks import assert_same_masks
from tests.reference.tiny_unigram import KINDS, tiny_unigram, unigram_brute_force
from tokenizer_align import expressions as ex
from tokenizer_align.canonical.choose_law import survival_for, why_not
from tokenizer_align.canonical.unigram_endings import EMPTY, Endings
from tokenizer_align.canonical.unigram_laws import UnigramSurvival
from tokenizer_align.compiled import compile_expression
from tokenizer_align.engines import engine_for
from tokenizer_align.errors import InvalidOption
from tokenizer_align.vocabulary import Vocabulary

SLOW = bool(os.environ.get("DOMINO_SLOW"))
N_LANGUAGES = 125 if SLOW else 5
SEEDS = range(8) if SLOW else range(2)
_OWN = ["abab", "aaaa", "-----", "----", "aaa", "a b", "b\na", "12 34", '":"', '"}', "ü", "€", "000", "abba", "é"]


def opened(kind: str, seed: int) -> tuple[Any, Vocabulary]:
    tokenizer = tiny_unigram(kind, seed)
    return tokenizer, Vocabulary.from_tokenizer(tokenizer, cache=None)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_equal_brute_force(kind: str, seed: int) -> None:
    tokenizer, vocabulary = opened(kind, seed)
    assert vocabulary.encode is not None
    rng = random.Random(seed)
    for _ in range(N_LANGUAGES):
        drawn = draw_language(rng, _WORDS + _OWN * 2)
        texts = [text for text in drawn if vocabulary.decode(vocabulary.encode(text)) == text.encode()]
        if texts:
            reference = unigram_brute_force(tokenizer, vocabulary, texts)
            check_canonical(texts, reference, vocabulary)
            check_aligned(texts, reference, vocabulary, rng)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_of_a_part_is_written_anew_behind_each_token(kind: str) -> None:
    """The fast way, which looks again only where sums come near each other, and the definition; each token is legal."""
    vocabulary, rng = opened(kind, 3)[1], random.Random(5)
    endings, token_bytes = survival_for(engine_for(vocabulary)).pairs, vocabulary.token_bytes
    assert isinstance(endings, Endings)
    n_longer = 0
    for _ in range(3000):
        data = "".join(rng.choices(["a", "b", "ab", "-", "0", "1", "2", "é", "東"], k=rng.randint(1, 9))).encode()
        if rng.random() < 0.2 and data[0] >= 0x80:
            data = data[1:]
        tokens, rest = [], data
        while rest:
            tokens.append(endings.encode_part(rest)[0])
            rest = rest[len(token_bytes[tokens[-1]] or b"") :]
        assert endings.encode_part_anew(data) == tokens, data
        n_longer += len(tokens) > len(endings.encode_part(data))
    assert bool(n_longer) == (kind == "ties")


def test_texts_whose_sums_tie_are_completed_in_as_many_tokens_as_planned() -> None:
    """Regression: the second token of a plan was not legal, and those that were needed one more than was left."""
    vocabulary, rng = opened("ties", 3)[1], random.Random(6)
    for text in [
        "2ab2ababa0",
        "-ab---aab",
        '{"---------12',
        "aaaab\na",
        *("".join(rng.choices("ab0-", k=9)) for _ in range(40)),
    ]:
        for _ in range(4):
            matcher = compile_texts([text], vocabulary, "aligned").matcher()
            left = matcher.min_tokens()
            while not matcher.is_complete():
                choices = matcher.compiled.ids(matcher.mask_within(left))
                assert choices, (text, matcher.text_bytes())
                matcher.advance(rng.choice(choices))
                left -= 1


@pytest.mark.parametrize("kind", KINDS)
def test_counts_beyond_the_longest_token_have_the_masks_of_their_texts(kind: str) -> None:
    vocabulary = opened(kind, 1)[1]
    longest, rng = max(len(data) for data in vocabulary.token_bytes if data), random.Random(2)
    for _ in range(2 * N_LANGUAGES):
        item, head, tail = (
            rng.choice([b"a", b"ab", b"-", b" ", b"1"]),
            rng.choice([b"", b'"']),
            rng.choice([b"", b'"']),
        )
        hi = rng.randint(longest - 1, 2 * longest + 3)
        lo = min(rng.choice([0, hi - 1, hi, longest + 2]), hi)
        counted = ex.seq(ex.lit(head), ex.repeat(ex.lit(item), lo, hi), ex.lit(tail))
        listed = ex.words([head + item * n + tail for n in range(lo, hi + 1)])
        for law in ("canonical", "aligned"):
            one, other = (compile_expression(expr, vocabulary, law).matcher() for expr in (counted, listed))
            assert_same_masks(one, other, rng, (law, item, lo, hi, tail))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_losing_tokens_are_those_of_single_steps(kind: str) -> None:
    """The compiled walk over the trie and its twin, one token after the other in plain Python."""
    vocabulary, rng = opened(kind, 0)[1], random.Random(4)
    survival = survival_for(engine_for(vocabulary))
    assert isinstance(survival, UnigramSurvival)
    endings: Endings = survival.endings
    tokens = [i for i, data in enumerate(vocabulary.token_bytes) if data]
    for _ in range(100):
        ending = EMPTY
        for _ in range(rng.randint(0, 8)):
            ending = endings.step(ending, rng.choice(tokens)) or ending
        row = endings.bad_right(ending)
        assert {i for i in tokens if not row[i >> 5] >> (i & 31) & 1} == {
            i for i in tokens if endings.step(ending, i) is not None and not endings.never[i >> 5] >> (i & 31) & 1
        }


@pytest.mark.parametrize("context", ["name", "a ba", "abab", "-", "x€", ""])
def test_a_prompt_is_left_context(context: str) -> None:
    """Behind a prompt the mask holds what the whole text's tokens go on with, where these keep the prompt's."""
    _, vocabulary = opened("metaspace", 0)
    encode = vocabulary.encode
    assert encode is not None
    prompt, texts = encode(context), ["ab ba", "b", "--", " abba", "me", "é", "12"]
    whole = [encode(context + text) for text in texts]
    following = {ids[len(prompt)] for ids in whole if ids[: len(prompt)] == prompt}
    compiled = compile_texts(texts, vocabulary, "canonical")
    matcher = compiled.matcher(prompt)
    assert following
    assert ids_of(matcher) == following
    assert not compiled.law_notes(prompt)
    aligned = compile_texts(texts, vocabulary, "aligned")
    assert ids_of(aligned.matcher(prompt)) >= following
    assert not aligned.law_notes(prompt)


@pytest.mark.parametrize("law", ["canonical", "aligned"])
def test_texts_behind_a_prompt_are_completed_in_time(law: str) -> None:
    """Random tokens within a budget, given back and taken again: legal, and the tokenizer's own under "canonical"."""
    vocabulary, rng = opened("metaspace", 0)[1], random.Random(1)
    assert vocabulary.encode is not None
    name, age = {"type": "string", "maxLength": 6}, {"type": "integer"}
    constraint = domino.json_schema({"properties": {"name": name, "age": age}, "required": ["name"], "type": "object"})
    compiled = compile_expression(constraint.expression, vocabulary, law)
    prompt = vocabulary.encode("name: ab")
    assert not compiled.law_notes(prompt)
    for _ in range(4):
        matcher, ids = compiled.matcher(prompt), []
        while not matcher.is_complete():
            legal = compiled.ids(matcher.mask_within(32 - len(ids)))
            ids.append(rng.choice([i for i in legal if i not in compiled.eos_token_ids]))
            matcher.advance(ids[-1])
        assert len(ids) <= 32 and constraint.matches(matcher.text_bytes())
        n_back = rng.randint(1, len(ids))
        matcher.rollback(n_back)
        for token in ids[-n_back:]:
            assert matcher.accepts(token)
            matcher.advance(token)
        if law == "canonical":
            assert vocabulary.encode("name: ab" + matcher.text_bytes().decode()) == prompt + ids


def test_where_every_text_is_one_piece_only_any_can_be_had() -> None:
    import json

    from tokenizers import Tokenizer

    data = json.loads(tiny_unigram("metaspace", 0).backend_tokenizer.to_str())
    data["pre_tokenizer"]["split"] = False
    vocabulary = Vocabulary.from_tokenizer(Tokenizer.from_str(json.dumps(data)), cache=None)
    reason = why_not(vocabulary)
    assert reason is not None and "one piece" in reason
    compiled = compile_texts(["a", "b"], vocabulary, "aligned")
    assert compiled.tokenization == "any" and "one piece" in "".join(compiled.law_notes())
    with pytest.raises(InvalidOption, match="one piece"):
        compile_texts(["a", "b"], vocabulary, "canonical")
