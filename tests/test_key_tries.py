"""The flat key trie holds what `MemberSpec.nodes` does, node for node."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokenizer_align.expressions import EMPTY, lit
from tokenizer_align.key_tries import KeyTrie, key_trie
from tokenizer_align.members import Member, MemberSpec

KEYS = st.sets(st.text("ab\u00e9", max_size=6).map(lambda text: f'"{text}"'.encode()), max_size=12)


def children(trie: KeyTrie, node: int) -> dict[int, int]:
    found, child = {}, trie.child[node]
    while child >= 0:
        found[trie.byte[child]] = child
        child = trie.sibling[child]
    return found


@given(KEYS)
def test_flat_trie_is_the_trie_of_the_specification(keys: set[bytes]) -> None:
    spec = MemberSpec(tuple(Member(key, lit(b":1")) for key in keys), lit(b","), lit(b"}"), extra_key=EMPTY)
    trie = key_trie(sorted(keys))
    assert len(spec.nodes) == len(trie.child)
    for index, node in enumerate(spec.nodes):
        assert list(children(trie, index).items()) == list(node.children.items())
        assert (trie.lo[index], trie.hi[index], trie.ends[index]) == (node.lo, node.hi, node.ends)


def test_a_single_key_is_one_path() -> None:
    trie = key_trie([b'"a"'])
    assert trie.child == [1, 2, 3, -1]
    assert trie.ends == [-1, -1, -1, 0]
    assert bytes(trie.byte[1:]) == b'"a"'
