"""Canonical judgement is re-encoding: whole texts, damaged token sequences, prefixes, added tokens, contexts."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.canonical_texts import DAMAGES, canonical_texts
from tests.real.tokenizers import REAL_NAMES, llama_cpp_vocabularies, real_tokenizer, real_vocabulary
from tokenizer_align.canonical.encoding import canonical_ids, noncanonical_positions
from tokenizer_align.canonical.judge import CanonicalJudge, judge_of
from tokenizer_align.canonical.spelled_tokens import SpelledTokens
from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.gguf import load_gguf_tokenizer
from tokenizer_align.vocabulary import Vocabulary

SLOW = bool(os.environ.get("DOMINO_SLOW"))
NAMES = (*REAL_NAMES, "mon", "llama3")
N_TEXTS = 3000 if SLOW else 90
GGUF_NAMES = ("llama-spm", "llama-bpe", "phi-3", "gpt-2", "command-r", "gemma-4", "qwen2", "qwen35", "falcon", "mpt")


def encode(vocabulary: Vocabulary, text: str) -> list[int]:
    assert vocabulary.encode is not None
    return vocabulary.encode(text)


def canonical_sequences(vocabulary: Vocabulary, n_texts: int, seed: int = 0) -> list[list[int]]:
    """The ids of texts that the tokenizer gives back (bytes it has no token for, and lost characters, taken out)."""
    found = []
    for text in canonical_texts(n_texts, seed):
        data = vocabulary.decode(encode(vocabulary, text))
        found.append(encode(vocabulary, data.decode("utf-8", "ignore")))
    return [ids for ids in found if ids and encode(vocabulary, vocabulary.decode(ids).decode()) == ids]


@pytest.mark.parametrize("name", NAMES)
def test_judgement_is_re_encoding_on_texts_and_their_damaged_tokens(name: str) -> None:
    vocabulary = real_vocabulary(name)
    judge = judge_of(vocabulary)
    draw = random.Random(name)
    n_damaged = 0
    for ids in canonical_sequences(vocabulary, N_TEXTS):
        assert judge.is_canonical(ids), vocabulary.decode(ids)
        for damage in DAMAGES:
            other = damage(ids, vocabulary, draw)
            assert judge.is_canonical(other) == (other == ids), (vocabulary.decode(ids), damage.__name__, other)
            n_damaged += other != ids
    assert n_damaged > N_TEXTS


@pytest.mark.parametrize("name", ["smollm2", "gemma3", "qwen3.6", "mistral", "mon"])
def test_a_sequence_without_a_state_has_no_canonical_continuation(name: str) -> None:
    vocabulary = real_vocabulary(name)
    judge, draw = judge_of(vocabulary), random.Random(name)
    ends = [text[:8] for text in canonical_texts(60, seed=1)]
    n_dead = 0
    for ids in canonical_sequences(vocabulary, 60, seed=2):
        other = draw.choice(DAMAGES)(ids, vocabulary, draw)
        state: Any = judge.start()
        dead: list[int] = []
        for token in other:
            dead.append(token)
            state = judge.push(state, token)
            if state is None:
                break
        if state is not None:
            continue
        n_dead += 1
        for end in [*draw.sample(ends, 4), "".join(chr(draw.randrange(32, 127)) for _ in range(4))]:
            text = vocabulary.decode(dead) + end.encode()
            try:
                whole = encode(vocabulary, text.decode())
            except UnicodeDecodeError:
                continue
            assert whole[: len(dead)] != dead or vocabulary.decode(whole) != text
    assert n_dead > 10


def test_an_added_token_is_never_spelled() -> None:
    vocabulary = real_vocabulary("deepseek")
    judge = judge_of(vocabulary)
    spelled = encode(vocabulary, "a<think>b")
    assert vocabulary.decode(spelled) == b"a<think>b"
    assert not judge.is_canonical(spelled)
    assert judge.is_canonical(real_tokenizer("deepseek").encode("a<think>b", add_special_tokens=False))
    assert judge.is_canonical(encode(vocabulary, "a<thinks>b"))


def test_tiktoken_spells_its_special_tokens() -> None:
    vocabulary = real_vocabulary("qwen")
    assert judge_of(vocabulary).is_canonical(encode(vocabulary, "a<|im_end|>b"))


def test_a_blank_is_settled_by_what_follows() -> None:
    vocabulary = real_vocabulary("smollm2")
    judge = judge_of(vocabulary)
    blank, word = encode(vocabulary, " ")[0], encode(vocabulary, "word")[0]
    assert judge.is_canonical([blank])
    assert judge.push(judge.start([blank]), word) is None
    assert judge.push(judge.start([blank]), encode(vocabulary, "1")[0]) is not None


def test_a_context_counts_and_special_ids_end_a_text() -> None:
    vocabulary = real_vocabulary("smollm2")
    judge = judge_of(vocabulary)
    context, word = encode(vocabulary, "Answer: "), encode(vocabulary, "true")
    assert not judge.is_canonical(word, context) and judge.is_canonical(word)
    assert judge.is_canonical(word, [*context, vocabulary.eos_token_ids[0]])
    assert judge.is_canonical([*context, vocabulary.eos_token_ids[0], *word])


def test_a_context_that_is_not_canonical_itself_is_no_obstacle() -> None:
    vocabulary = real_vocabulary("smollm2")
    judge = judge_of(vocabulary)
    context = [*encode(vocabulary, "fir"), *encode(vocabulary, "st")]
    assert encode(vocabulary, "first") != context
    assert judge.is_canonical(encode(vocabulary, " next"), context)


def test_ids_that_no_text_gives_are_never_canonical() -> None:
    vocabulary = real_vocabulary("qwen")  # its model has more rows than the tokenizer has ids
    judge = judge_of(vocabulary)
    word = encode(vocabulary, "word")
    assert vocabulary.token_bytes[vocabulary.n_rows - 1] is None
    for stray in (-1, vocabulary.n_rows - 1, vocabulary.n_rows):
        assert not judge.is_canonical([*word, stray]) and not judge.is_canonical([stray, *word])
        assert judge.is_canonical(word, [stray])


def test_only_the_end_of_a_long_context_is_read() -> None:
    vocabulary = real_vocabulary("smollm2")
    judge = judge_of(vocabulary)
    context = encode(vocabulary, "The quick brown fox. " * 2000)
    assert not judge.is_canonical(encode(vocabulary, "word"), context)
    assert judge.is_canonical(encode(vocabulary, " 1"), context[:-1])


def test_byte_pieces_are_judged_by_the_whole_character() -> None:
    vocabulary = real_vocabulary("mistral")
    judge = judge_of(vocabulary)
    assert judge.is_canonical(encode(vocabulary, "a🥲b"))
    by_byte = {data[0]: i for i in vocabulary.rules.byte_ids.tolist() if (data := vocabulary.token_bytes[i])}  # type: ignore[union-attr]
    assert not judge.is_canonical([by_byte[byte] for byte in "中".encode()])
    assert not judge.may_end(judge.start([by_byte[0xF0]]))


def test_what_a_normalizer_takes_away_is_never_canonical() -> None:
    vocabulary = real_vocabulary("mon")
    judge = judge_of(vocabulary)
    assert vocabulary.rules is not None
    joiner = [int(vocabulary.rules.byte_ids[byte]) for byte in "\u200d".encode()]
    word = encode(vocabulary, "a")
    assert judge.is_canonical(word) and not judge.is_canonical([*word, *joiner])


def test_an_unknown_tokenizer_has_no_judge() -> None:
    with pytest.raises(VocabularyError, match="not known"):
        judge_of(Vocabulary.from_bytes([b"a", None], [1]))


@given(st.lists(st.text("ab<", min_size=1, max_size=4), max_size=5), st.text("ab<", max_size=12), st.integers(0, 12))
def test_spelled_tokens_are_found_wherever_they_end(contents: list[str], text: str, cut: int) -> None:
    finder = SpelledTokens(content.encode() for content in contents)
    state = finder.read(0, text[:cut].encode())
    if state is not None:
        state = finder.read(state, text[cut:].encode())
    assert (state is None) == any(content in text for content in contents)


@pytest.mark.parametrize("name", GGUF_NAMES)
def test_reference_ids_of_other_programs_are_canonical(name: str) -> None:
    path = llama_cpp_vocabularies() / f"ggml-vocab-{name}.gguf"
    tokenizer = load_gguf_tokenizer(path)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.rules is not None
    judge = CanonicalJudge(vocabulary.rules, vocabulary)
    with open(f"{path}.inp", encoding="utf-8", newline="") as file:
        texts = file.read().split("\n__ggml_vocab_test__\n")
    with open(f"{path}.out", encoding="utf-8") as file:
        expected = [[int(i) for i in line.split()] for line in file.read().split("\n")]
    draw = random.Random(name)
    for text, ids in zip(texts, expected, strict=False):
        decoded = vocabulary.decode(ids)
        if not ids or decoded.lstrip(b" ") != text.encode().lstrip(b" "):
            continue  # characters that the tokenizer composes, or added tokens without bytes
        assert judge.is_canonical(ids), text
        for damage in DAMAGES:
            other = damage(ids, vocabulary, draw)
            assert judge.is_canonical(other) == (other == ids), (text, damage.__name__)


# --- the tokenizer's own ids behind a context ---------------------------------------------------------------------


def test_ids_behind_a_context_are_those_of_the_whole_text() -> None:
    vocabulary = real_vocabulary("smollm2")
    for text in canonical_texts(60):
        ids = encode(vocabulary, text)
        for cut in range(0, len(ids), 5):
            tail = vocabulary.decode(ids[cut:])
            if encode(vocabulary, vocabulary.decode(ids).decode()) == ids:
                assert canonical_ids(vocabulary, tail, ids[:cut]) == tuple(ids[cut:])


def test_ids_at_a_seam_that_the_tokenizer_would_join() -> None:
    vocabulary = real_vocabulary("smollm2")
    context = encode(vocabulary, "Answer: ")
    got = canonical_ids(vocabulary, b"true story.", context)
    assert got is not None
    assert [vocabulary.token_bytes[i] for i in got] == [b"true", b" story", b"."]
    assert canonical_ids(vocabulary, b"\xc3", context) is None


def test_noncanonical_tokens_are_placed() -> None:
    vocabulary = real_vocabulary("smollm2")
    whole = encode(vocabulary, "the first word")
    split = [*whole[:1], *(vocabulary.ids_by_bytes[part][0] for part in (b" fir", b"st")), *whole[2:]]
    assert noncanonical_positions(vocabulary, whole) == ()
    assert noncanonical_positions(vocabulary, split) == (1, 2)
    assert noncanonical_positions(Vocabulary.from_bytes([b"a", None], [1]), [0]) is None
