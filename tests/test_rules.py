"""Tokenization rules: read alike from every form of a tokenizer, kept on disk and in pickles."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.real.tokenizers import real_tokenizer
from tokenizer_align.cache import ArrayCache
from tokenizer_align.canonical.read_rules import rules_of_pieces, rules_of_ranks
from tokenizer_align.vocabulary import Vocabulary

RANKS = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4, b"abc": 5, b"cc": 6, b"ccc": 7}


def test_ranks_give_the_merge_that_completes_each_token() -> None:
    rules = rules_of_ranks(RANKS, ".+", {})
    assert rules.merges.tolist() == [[0, 1, 3], [1, 2, 4], [3, 2, 5], [2, 2, 6], [6, 2, 7]]
    assert rules.initial.tolist() == [[97, 0], [98, 1], [99, 2]]
    assert rules.ignore_merges


def test_ids_may_stand_behind_special_ones() -> None:
    rules = rules_of_ranks(RANKS, ".+", {}, first_id=10)
    assert rules.merges[0].tolist() == [10, 11, 13]
    assert rules.initial.tolist() == [[97, 10], [98, 11], [99, 12]]


def test_a_token_that_merging_does_not_give_has_no_merge() -> None:
    rules = rules_of_ranks({b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"abc": 5, b"bc": 4, b"cab": 6, b"ca": 7}, ".+", {})
    assert rules.reproduced(8).all()
    rules = rules_of_ranks({b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abcb": 5}, ".+", {})
    assert np.flatnonzero(~rules.reproduced(6)).tolist() == [5]


def test_pieces_merge_by_score_and_blanks_are_blanks() -> None:
    pieces = {"▁": 0, "a": 1, "▁a": 2, "aa": 3, "▁aa": 4}
    rules = rules_of_pieces(pieces, [-9, -9, -2, -1, -3], np.full(256, -1, np.int32), {})
    assert rules.merges.tolist() == [[1, 1, 3], [0, 1, 2], [0, 3, 4]]
    assert rules.initial.tolist() == [[0x20, 0], [97, 1]]


@pytest.mark.parametrize("name", ["smollm2", "deepseek"])
def test_rules_survive_the_disk_and_pickles(name: str, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    cache = ArrayCache("vocabularies", 1, tmp_path)
    text = real_tokenizer(name).backend_tokenizer.to_str()
    built, loaded = (Vocabulary.from_tokenizer(Tokenizer.from_str(text), cache=cache).rules for _ in range(2))
    assert (cache.counters.writes, cache.counters.hits) == (1, 1)
    assert built is not None and loaded is not None
    assert loaded.fingerprint == built.fingerprint == pickle.loads(pickle.dumps(built)).fingerprint
    assert loaded.pre_tokenizer == built.pre_tokenizer and loaded.added == built.added


def test_encodings_that_split_differently_are_not_taken_for_each_other(tmp_path: Path) -> None:
    import tiktoken

    cache = ArrayCache("vocabularies", 1, tmp_path)
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    encodings = (
        tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        for pattern in ("[a-z]+|[^a-z]+", r"(?s:.)")
    )
    one, other = (Vocabulary.from_tokenizer(encoding, cache=cache).rules for encoding in encodings)
    assert one is not None and other is not None and one.pre_tokenizer != other.pre_tokenizer


def test_a_vocabulary_without_rules_says_so() -> None:
    class Bare:
        n_rows = 2

        def id_to_bytes(self, token_id: int, /) -> bytes | None:
            return b"ab"[token_id : token_id + 1]

    vocabulary = Vocabulary.from_tokenizer(Bare())
    assert vocabulary.rules is None
    assert any("splits and merges" in limit for limit in vocabulary.limits)
