"""Which tokens are text, and where a byte comes first in them: as Python's own decoder says."""

from __future__ import annotations

import codecs

from hypothesis import given
from hypothesis import strategies as st

from tokenizer_align.text_tokens import text_tokens_of
from tokenizer_align.trie import build_trie

TOKENS = st.lists(
    st.one_of(
        st.text("aZ0'\n\\ é中😀", min_size=1, max_size=6).map(str.encode),
        st.binary(min_size=1, max_size=4),
        st.sampled_from([b"\xe4\xb8", b"'\xf0\x9f", b"\xed\xa0\x80", b"\xe0\x80", b"\xf4\x90", b"'a'"]),
    ),
    max_size=40,
)


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8, the last character perhaps cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def is_whole_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(TOKENS)
def test_tokens_are_text_where_a_decoder_takes_them(tokens: list[bytes]) -> None:
    found = text_tokens_of(build_trie(tokens))
    assert sorted(found.ids.tolist()) == [token for token, data in enumerate(tokens) if is_text(data)]


@given(TOKENS)
def test_first_places_of_a_byte_lead_to_all_texts_that_hold_it(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    found, text = text_tokens_of(trie), {token for token, data in enumerate(tokens) if is_text(data)}
    for byte in b"'\n\\ (":
        ids: list[int] = []
        for at in range(found.starts[byte], found.starts[byte + 1]):
            node = int(found.nodes[at])
            below = trie.token_ids[trie.token_start[node] : trie.token_start[trie.end[node]]].tolist()
            ids += below
            before = {tokens[token][: trie.depth[node] - 1] for token in below}
            above = int(found.above[at][0]) | int(found.above[at][1]) << 64
            assert all(is_whole_text(data) and byte not in data for data in before)
            assert {sum(1 << other for other in set(data) if other < 128) for data in before} <= {above}
        assert len(ids) == len(set(ids))
        assert set(ids) & text == {token for token in text if byte in tokens[token]}


def test_letters_and_digits_have_no_places() -> None:
    found = text_tokens_of(build_trie([b"a", b"Z0", b"'a"]))
    assert all(found.starts[byte] == found.starts[byte + 1] for byte in b"aZ0")
