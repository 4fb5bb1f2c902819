"""The vocabulary's trie: known layouts, edges, and equality with its plain-Python twin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.reference.slow_trie import slow_preorder
from tokenizer_align.trie import Trie, build_trie

# Holes, empty tokens, duplicates, shared prefixes, invalid UTF-8.
TOKENS = st.lists(
    st.none() | st.binary(max_size=6) | st.lists(st.sampled_from(list(b"ab\xff\xc3\x00")), max_size=5).map(bytes),
    max_size=30,
)


def listed(trie: Trie) -> list[tuple[int, int, int, list[int]]]:
    return [
        (int(trie.byte[i]), int(trie.end[i]), int(trie.depth[i]), trie.ids_at(i).tolist()) for i in range(trie.n_nodes)
    ]


def test_nodes_stand_in_preorder_with_skip_pointers() -> None:
    trie = build_trie([b"ab", b"a", b"b", b"abc"])
    assert listed(trie) == [(0, 5, 0, []), (97, 4, 1, [1]), (98, 4, 2, [0]), (99, 4, 3, [3]), (98, 5, 1, [2])]


def test_every_id_of_duplicate_bytes_is_kept_ascending() -> None:
    trie = build_trie([b"x", None, b"x", b"y", b"x"])
    assert trie.ids_at(trie.find(b"x")).tolist() == [0, 2, 4]


def test_empty_and_missing_tokens_are_nowhere() -> None:
    trie = build_trie([b"", None, b"a"])
    assert trie.token_ids.tolist() == [2]
    assert trie.ids_at(0).tolist() == []


def test_vocabulary_without_tokens_is_a_root() -> None:
    for tokens in ([], [None], [b""]):
        assert listed(build_trie(tokens)) == [(0, 1, 0, [])]
        assert build_trie(tokens).max_depth == 0


def test_tokens_of_a_thousand_bytes_fit() -> None:
    trie = build_trie([b"a" * 1024, b"a" * 1023 + b"b", b"a"])
    assert (trie.n_nodes, trie.max_depth) == (1026, 1024)
    assert trie.find(b"a" * 1023 + b"b") == 1025


def test_find_gives_minus_one_off_the_trie() -> None:
    trie = build_trie([b"abc", b"ax"])
    assert trie.find(b"ab") > 0
    assert trie.find(b"b") == trie.find(b"abcd") == trie.find(b"ay") == -1
    assert trie.find(b"") == 0


@given(TOKENS)
def test_trie_equals_its_slow_twin(tokens: list[bytes | None]) -> None:
    expected = [(node.byte, node.end, node.depth, node.ids) for node in slow_preorder(tokens)]
    assert listed(build_trie(tokens)) == expected


@given(TOKENS)
def test_every_token_is_found_where_its_ids_are(tokens: list[bytes | None]) -> None:
    trie = build_trie(tokens)
    for i, data in enumerate(tokens):
        if data:
            assert i in trie.ids_at(trie.find(data))
    assert sorted(trie.token_ids.tolist()) == [i for i, data in enumerate(tokens) if data]
