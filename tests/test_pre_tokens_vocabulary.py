"""Pre-tokens of whole tokenizers: added tokens, whole tokens, virtual boundaries, signatures, the cache."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from tests.pre_token_texts import hard_texts
from tests.real.tokenizers import real_tokenizer, real_vocabulary
from tests.reference.slow_pre_tokens import count_runs, slow_signature
from tokenizer_align.cache import ArrayCache
from tokenizer_align.canonical.pre_tokens import PreTokens
from tokenizer_align.canonical.read_rules import rules_of_pieces, rules_of_ranks
from tokenizer_align.canonical.signature_paths import SignaturePaths
from tokenizer_align.canonical.signatures import signatures

BYTES = [bytes([i]) for i in range(256)]
WORDS = r" ?[a-z]+|\s+|[^a-z\s]"


def pieces(pre_tokens: PreTokens, text: str) -> list[str]:
    data = text.encode()
    cuts = pre_tokens.boundaries(data)
    assert cuts is not None
    return [data[start:stop].decode() for start, stop in zip(cuts, [*cuts[1:], len(data)], strict=True)]


def ranked(*tokens: bytes) -> tuple[PreTokens, list[bytes]]:
    """The automaton of a byte-level vocabulary given by ranks, and its tokens by id."""
    ranks = {token: i for i, token in enumerate([*BYTES, *tokens])}
    return PreTokens.for_rules(rules_of_ranks(ranks, WORDS, {}), list(ranks), cache=None), list(ranks)


# --- whole tokens -------------------------------------------------------------------------------------------------


def test_tokens_that_merging_does_not_give_are_whole_ones() -> None:
    found, tokens = ranked(b"bc", b"ab", b"cd", b"abcd", b"xy")
    assert [tokens[i] for i in found.whole_ids] == [b"abcd"]


@pytest.mark.parametrize("text", [b"abcd", b"abcde", b"xabcd", b"abc", b" abcd", b"abcd abcd", b"abcd-abcd  x"])
def test_a_whole_token_has_a_path_of_its_own_and_every_text_one_run(text: bytes) -> None:
    found, _ = ranked(b"bc", b"ab", b"cd", b"abcd", b"xy")
    plain = PreTokens.of_steps([("split", WORDS, "Isolated", False)], "tiktoken")
    assert count_runs(found, text) == 1
    assert found.boundaries(text) == plain.boundaries(text)


def test_a_pre_token_that_is_a_whole_token_ends_in_a_whole_state() -> None:
    found, tokens = ranked(b"bc", b"ab", b"cd", b"abcd", b"xy")
    for token in (tokens[i] for i in found.whole_ids):
        heads = {found.start}
        for byte in token:
            heads = {after for p in heads for _, after in found.step(p, byte)}
        assert [bool(found.whole[p]) for p in heads if found.ends[p]] == [True]
        assert all(bit == 1 for p in heads if found.whole[p] for byte in range(256) for bit, _ in found.step(p, byte))


# --- added tokens -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n\nb", ["a", "\n\n", "\n", "b"]),
        ("x <b>y", ["x", " ", "<b>", "y"]),
        ("<<b", ["<<", "b"]),
        ("søt", ["s", "ø", "t"]),
    ],
)
def test_an_added_token_is_matched_whole_and_first(text: str, expected: list[str]) -> None:
    found = PreTokens.of_steps([("byte_level", False, True)], added=["\n", "\n\n", "<b>", "ø"])
    assert pieces(found, text) == expected
    assert count_runs(found, text.encode()) == 1


def test_no_token_ends_within_an_added_one() -> None:
    found = PreTokens.of_steps([("byte_level", False, True)], added=["<b>", "ø"])
    heads = {found.start}
    for byte in b"<b":
        heads = {after for p in heads for _, after in found.step(p, byte)}
    inside = [p for p in heads if found.inside[p]]
    assert inside and all(found.step(p, ord(">")) for p in inside)
    others = {q for p in heads if not found.inside[p] for _, q in found.step(p, ord(">"))}
    assert not any(found.whole[q] for q in others)


# --- virtual boundaries -------------------------------------------------------------------------------------------


def spm(*words: str) -> tuple[PreTokens, list[bytes]]:
    letters = ["▁", *"abcdé1,"]
    by_piece = {piece: 256 + i for i, piece in enumerate([*letters, *words])}
    scores = [0.0] * 256 + [-float(i) for i in range(len(by_piece))]
    tokens = [*BYTES, *(piece.replace("▁", " ").encode() for piece in by_piece)]
    rules = rules_of_pieces(by_piece, scores, np.arange(256, dtype=np.int32), {})
    return PreTokens.for_rules(rules, tokens, cache=None), tokens


def test_a_gap_that_no_merge_closes_is_a_boundary() -> None:
    found, _ = spm("▁a", "ab", "▁ab", ",1")
    assert pieces(found, " ab a,1é中") == [" ab", " a", ",1", "é", "中"]
    assert pieces(found, "\u2581ab") == ["\u2581ab"]  # written with the same pieces as a blank


def test_each_text_has_one_run_through_virtual_boundaries() -> None:
    found, _ = spm("▁a", "ab", "bc", ",1")
    assert {count_runs(found, text.encode()) for text in hard_texts(50)} == {1}


@pytest.mark.parametrize("name", ["mistral", "gemma3"])
def test_no_token_of_a_sentencepiece_model_spans_a_boundary(name: str) -> None:
    if name == "gemma3" and not os.environ.get("DOMINO_SLOW"):
        pytest.skip("reads a vocabulary of 262,144 tokens; set DOMINO_SLOW=1")
    vocabulary = real_vocabulary(name)
    assert vocabulary.rules is not None and vocabulary.encode is not None
    found = PreTokens.for_rules(vocabulary.rules, vocabulary.token_bytes)
    n_boundaries = n_tokens = 0
    for text in hard_texts(150):
        ids = vocabulary.encode(text)
        lengths = [len(vocabulary.token_bytes[i] or b"") for i in ids]
        data = vocabulary.decode(ids)
        if data != text.encode():  # a literal "▁" comes back as a blank
            continue
        cuts = found.boundaries(data)
        assert cuts is not None and count_runs(found, data) == 1
        assert set(cuts) <= {0, *np.cumsum(lengths).tolist()}
        n_boundaries, n_tokens = n_boundaries + len(cuts), n_tokens + len(ids)
    assert n_boundaries > 0.5 * n_tokens


# --- signatures ---------------------------------------------------------------------------------------------------


def test_signatures_are_those_of_walking_each_token() -> None:
    tokens = (
        b"bc",
        b"ab",
        b"abc",
        b"abcd",
        b" a",
        b"  ",
        b"\xc3\xa9",
        b"\xa9",
        b"\xe4\xb8",
        b"a b",
        b"\xff\xff",
        b"-\n",
    )
    found, all_tokens = ranked(*tokens)
    made = signatures(found, [*all_tokens, None], cache=None)
    assert made.of_token[-1] == -1
    paths = SignaturePaths(made, found, np.zeros(len(all_tokens) + 1, np.bool_))
    for i, token in enumerate(all_tokens):
        assert ways_of(paths, found, i) == sorted(slow_signature(found, token, i in found.whole_ids))
    assert not ways_of(paths, found, len(all_tokens))
    ends = paths.joined(np.uint64(1) << np.arange(found.n_states, dtype=np.uint64) % np.uint64(64))
    for i, token in enumerate(all_tokens):
        assert ends[i] == sum(
            1 << q for q in {q % 64 for _, _, q in slow_signature(found, token, i in found.whole_ids)}
        )


def ways_of(paths: SignaturePaths, found: PreTokens, token: int) -> list[tuple[int, int, int]]:
    """(p, bit, q) for each way to read a token, in the order of the paths."""
    ids = np.array([token], np.int32)
    return [(p, bit, q) for p in range(found.n_states) for _, bit, q in paths.ends(p, ids).tolist()]


def test_tokens_that_are_never_written_have_no_ways() -> None:
    found, all_tokens = ranked(b"ab", b" a")
    never = np.array([token == b"ab" for token in all_tokens])
    paths = SignaturePaths(signatures(found, all_tokens, cache=None), found, never)
    assert not ways_of(paths, found, all_tokens.index(b"ab")) and ways_of(paths, found, all_tokens.index(b" a"))


def test_signatures_of_a_real_vocabulary_are_few_and_right(tmp_path: Any) -> None:
    vocabulary = real_vocabulary("smollm2")
    assert vocabulary.rules is not None
    found = PreTokens.for_rules(vocabulary.rules, vocabulary.token_bytes)
    cache = ArrayCache("signatures", 1, tmp_path)
    made = signatures(found, vocabulary.token_bytes, cache)
    assert made.n < 600
    again = signatures(found, vocabulary.token_bytes, cache)
    assert cache.counters.hits == 1 and np.array_equal(again.rows, made.rows)
    paths = SignaturePaths(again, found, np.zeros(vocabulary.n_rows, np.bool_))
    for i in range(0, vocabulary.n_rows, 1500):
        token = vocabulary.token_bytes[i]
        if token:
            assert ways_of(paths, found, i) == sorted(slow_signature(found, token, is_whole=False))


# --- cache --------------------------------------------------------------------------------------------------------


def test_an_automaton_comes_back_from_the_cache(tmp_path: Any) -> None:
    cache = ArrayCache("pre-tokens", 1, tmp_path)
    rules = rules_of_ranks({token: i for i, token in enumerate(BYTES)}, r"\s+|\S+", {})
    made = PreTokens.for_rules(rules, BYTES, cache=cache)
    again = PreTokens.for_rules(rules, BYTES, cache=cache)
    assert cache.counters.hits == 1
    assert np.array_equal(made.first, again.first) and np.array_equal(made.arcs, again.arcs)
    assert again.boundaries(b"a b") == made.boundaries(b"a b") == [0, 1, 2]


@pytest.mark.parametrize("name", ["qwen3.6", "tekken"])
def test_real_ranks_cut_where_tiktoken_does(name: str) -> None:
    encoding = real_tokenizer(name)
    vocabulary = real_vocabulary(name)
    assert vocabulary.rules is not None
    found = PreTokens.for_rules(vocabulary.rules, vocabulary.token_bytes)
    whole = [vocabulary.token_bytes[i] or b"" for i in found.whole_ids]
    texts = [
        *hard_texts(150),
        *(token.decode() for token in whole[:40]),
        *(token.decode() + "s x" for token in whole[:40]),
    ]
    for text in texts:
        data = text.encode()
        cuts = found.boundaries(data)
        assert cuts is not None and count_runs(found, data) == 1
        spans = zip(cuts, [*cuts[1:], len(data)], strict=True)
        ids = [i for start, stop in spans for i in encoding._core_bpe.encode_single_piece(data[start:stop])]
        assert ids == encoding.encode_ordinary(text), text
