"""The pair index against encoding: drawn tokenizers (ranks in any order), and real ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.real.tokenizers import REAL_NAMES, real_vocabulary
from tests.reference.plain_bpe import plain_bad_row, plain_encode, plain_is_bad_pair, plain_last_merges
from tokenizer_align.canonical.pairs import Pairs
from tokenizer_align.canonical.read_rules import rules_of_pieces, rules_of_ranks
from tokenizer_align.canonical.rules import AddedToken, TokenizationRules

NO_BYTES = np.full(256, -1, np.int32)
tokens = st.lists(st.text("abc", min_size=2, max_size=7), min_size=1, max_size=24, unique=True)


def bits(row: np.ndarray) -> set[int]:
    """The ids of a packed row."""
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def has_bit(row: np.ndarray, i: int) -> bool:
    """Whether id i is in a packed row."""
    return bool(row[i >> 5] >> np.uint32(i & 31) & 1)


def table_of(rules: TokenizationRules, n_ids: int) -> list[bytes | None]:
    """Bytes per id, for single bytes and merges."""
    table: list[bytes | None] = [None] * n_ids
    for code, i in rules.initial.tolist():
        table[i] = bytes([code])
    pending = rules.merges.tolist()
    while pending:
        for merge in list(pending):
            left, right = table[merge[0]], table[merge[1]]
            if left is not None and right is not None:
                table[merge[2]] = left + right
                pending.remove(merge)
    return table


@given(tokens, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_pairs_and_rows_equal_encoding_whatever_the_ranks(strings: list[str], draw: random.Random) -> None:
    words = [*"abc", *strings]
    order = list(range(len(words)))
    draw.shuffle(order)
    check_pairs(rules_of_ranks({word.encode(): order[i] for i, word in enumerate(words)}, "", {}), len(words))


@given(tokens, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_pairs_and_rows_equal_encoding_where_pieces_tie(strings: list[str], draw: random.Random) -> None:
    words = {word: i for i, word in enumerate([*"abc", *strings])}
    rules = rules_of_pieces(words, [-draw.randrange(4) for _ in words], NO_BYTES, {})
    check_pairs(rules, len(words))


def check_pairs(rules: TokenizationRules, n_ids: int) -> None:
    """Every pair and row against encoding."""
    pairs = Pairs(rules, table_of(rules, n_ids))
    ids = [*rules.initial[:, 1].tolist(), *rules.merges[:, 2].tolist()]
    for a in ids:
        for b in ids:
            assert pairs.is_bad(a, b) == plain_is_bad_pair(a, b, rules.merges, rules.row_ranks), (a, b)
        assert bits(pairs.bad_right(a)) == plain_bad_row(a, True, ids, rules.merges, rules.row_ranks)
        assert bits(pairs.bad_left(a)) == plain_bad_row(a, False, ids, rules.merges, rules.row_ranks)


@pytest.mark.parametrize("n_scores", [1, 3, 50])
@given(strings=tokens, draw=st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_the_merge_that_completes_each_token_is_the_only_one_needed(
    n_scores: int, strings: list[str], draw: random.Random
) -> None:
    words = {word: i for i, word in enumerate([*"abc", *strings])}
    costs = [draw.randrange(n_scores) for _ in words]
    rules = rules_of_pieces(words, [-float(cost) for cost in costs], NO_BYTES, {})
    splits = sorted(
        (costs[i], words[word[:cut]], words[word[cut:]], i)
        for word, i in words.items()
        for cut in range(1, len(word))
        if word[:cut] in words and word[cut:] in words
    )
    offered, ranks = [split[1:] for split in splits], [split[0] for split in splits]
    completed = plain_last_merges({i: [words[c] for c in word] for word, i in words.items()}, offered, ranks)
    assert sorted(rules.merges.tolist()) == sorted(list(offered[row]) for row in completed.values())
    pairs = Pairs(rules, table_of(rules, len(words)))
    for _ in range(20):
        text = "".join(draw.choice("abc") for _ in range(draw.randint(0, 14)))
        expected = plain_encode([words[character] for character in text], offered, ranks)[0]
        assert pairs.encode_pre_token(text.encode()) == expected


@given(tokens, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_a_sequence_is_canonical_exactly_when_its_pairs_are(strings: list[str], draw: random.Random) -> None:
    words = [*"abc", *strings]
    draw.shuffle(order := list(range(len(words))))
    rules = rules_of_ranks({word.encode(): order[i] for i, word in enumerate(words)}, "", {})
    table = table_of(rules, len(words))
    pairs = Pairs(rules, table)
    ids = [i for i, data in enumerate(table) if data and i not in pairs.whole_only]
    for _ in range(30):
        sequence = [draw.choice(ids) for _ in range(draw.randint(1, 5))]
        text = b"".join(table[i] or b"" for i in sequence)
        canonical = pairs.symbols.encode(text) == sequence
        assert canonical == (not any(pairs.is_bad(a, b) for a, b in pairwise(sequence)))


@pytest.mark.parametrize("name", REAL_NAMES)
def test_pairs_of_real_tokenizers_equal_encoding(name: str) -> None:
    vocabulary = real_vocabulary(name)
    assert vocabulary.rules is not None
    pairs = Pairs(vocabulary.rules, vocabulary.token_bytes, vocabulary.n_rows)
    draw = random.Random(name)
    usable = _usable(pairs, vocabulary.token_bytes, vocabulary.rules)
    n_bad = 0
    for a, b in [*_random_pairs(usable, 400, draw), *_halves(usable, vocabulary.ids_by_bytes, 400, draw)]:
        data = (vocabulary.token_bytes[a] or b"") + (vocabulary.token_bytes[b] or b"")
        bad = pairs.symbols.encode(data) != [a, b]
        assert pairs.is_bad(a, b) == bad == has_bit(pairs.bad_right(a), b) == has_bit(pairs.bad_left(b), a)
        n_bad += bad
    assert n_bad > 50


def test_tokens_found_only_as_whole_pre_tokens_are_told() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abcb": 5}
    pairs = Pairs(rules_of_ranks(ranks, "", {}), [b"a", b"b", b"c", b"bc", b"ab", b"abcb"])
    assert pairs.whole_only == {5}
    assert pairs.encode_pre_token(b"abcb") == [5]
    assert pairs.encode_pre_token(b"abcba") == [0, 3, 1, 0]


def test_a_token_with_the_bytes_of_an_added_one_is_never_found() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abcb": 5}
    rules = rules_of_ranks(ranks, "", {"abcb": AddedToken(6, special=False, is_text=True)})
    pairs = Pairs(rules, [b"a", b"b", b"c", b"bc", b"ab", b"abcb", b"abcb"])
    assert pairs.whole_only == frozenset() and bits(pairs.never) == {5}


def test_byte_pieces_spell_only_characters_without_a_piece() -> None:
    byte_ids = np.arange(10, 266, dtype=np.int32)
    rules = rules_of_pieces({"a": 0, "é": 1, "中": 2}, [0.0] * 266, byte_ids, {})
    table: list[bytes | None] = [b"a", "é".encode(), "中".encode(), *[None] * 7, *(bytes([b]) for b in range(256))]
    pairs = Pairs(rules, table)
    assert {10 + ord("a"), 10 + 0xC0, 10 + 0xFF} <= bits(pairs.never)
    assert 10 + ord("b") not in bits(pairs.never)
    assert pairs.is_bad(10 + 0xC3, 10 + 0xA9)  # é
    assert not pairs.is_bad(10 + 0xC3, 10 + 0xA8)  # è
    assert pairs.is_bad(10 + 0xC3, 0) and pairs.is_bad(0, 10 + 0xA9) and pairs.is_bad(10 + 0xE0, 10 + 0x80)
    for a in range(len(table)):
        assert bits(pairs.bad_right(a)) == {b for b in range(len(table)) if pairs.is_bad(a, b)}
        assert bits(pairs.bad_left(a)) == {b for b in range(len(table)) if pairs.is_bad(b, a)}
    spelling = pairs.byte_pieces.spelling
    first, second, third = (10 + byte for byte in "中".encode())
    assert spelling(b"", first) == b"\xe4" and spelling(b"\xe4", second) == b"\xe4\xb8"
    assert spelling(b"\xe4\xb8", third) is None and spelling(b"\xe4\xb8", 10 + 0x80) == b""


@pytest.mark.parametrize("name", ["gemma3", "mistral"])
def test_pairs_follow_a_character_through_its_byte_pieces(name: str) -> None:
    vocabulary = real_vocabulary(name)
    assert vocabulary.rules is not None and vocabulary.encode is not None
    pairs = Pairs(vocabulary.rules, vocabulary.token_bytes, vocabulary.n_rows)
    draw = random.Random(name)
    points = [draw.randrange(0x80, 0xD800) for _ in range(300)] + [draw.randrange(0xE000, 0x30000) for _ in range(200)]
    n_spelled = 0
    for character in map(chr, points):
        ids = [int(vocabulary.rules.byte_ids[byte]) for byte in character.encode()]
        last, good = ids[0], not pairs.byte_pieces.impossible & {ids[0]}
        for token in ids[1:]:
            bad = pairs.is_bad(last, token)
            assert bad == has_bit(pairs.bad_right(last), token)
            good &= not bad
            if not good:
                break
            last = pairs.joined(last, token)
        assert good == (vocabulary.encode(character) == ids), character
        assert not good or last == ids[-1]
        n_spelled += good
    assert 20 < n_spelled < 500


def _usable(pairs: Pairs, table: tuple[bytes | None, ...], rules: TokenizationRules) -> list[int]:
    apart = {token.id for token in rules.added.values()} | set(pairs.byte_pieces.byte_of) | pairs.whole_only
    apart |= bits(pairs.never)
    return [i for i, data in enumerate(table) if data and i not in apart]


def _random_pairs(ids: list[int], n: int, draw: random.Random) -> list[tuple[int, int]]:
    return [(draw.choice(ids), draw.choice(ids)) for _ in range(n)]


def _halves(
    ids: list[int], by_bytes: Mapping[bytes, tuple[int, ...]], n: int, draw: random.Random
) -> list[tuple[int, int]]:
    """Pairs of tokens that together have the bytes of a token: mostly bad ones."""
    usable, found = set(ids), []
    tokens = {i: data for data, same in by_bytes.items() for i in same}
    while len(found) < n:
        data = tokens[draw.choice(ids)]
        cut = draw.randrange(len(data))
        a, b = by_bytes.get(data[:cut], (-1,))[-1], by_bytes.get(data[cut:], (-1,))[-1]
        if a in usable and b in usable:
            found.append((a, b))
    return found
