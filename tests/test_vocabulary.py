"""Bytes per token id for every family of tokenizer, on small tokenizers made here (real ones: test_real_vocabulary)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.tiny import tiny_tokenizer
from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.byte_level import piece_bytes
from tokenizer_align.tokenizers.mid_text import without_prefix
from tokenizer_align.tokenizers.self_test import check_round_trip, difficult_texts
from tokenizer_align.tokenizers.table import TokenTable, is_text_like
from tokenizer_align.vocabulary import Vocabulary

TOKENS = st.lists(
    st.none() | st.binary(max_size=4) | st.sampled_from([b"a", b"b", b"ab", b"\xff", b"\xc3"]), max_size=20
)


def sentencepiece_like(*pieces: str, prefix: bool = True, byte_pieces: int = 256) -> Tokenizer:
    """SentencePiece BPE with byte fallback as a tokenizer.json writes it: <unk>, byte pieces, then `pieces`."""
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(byte_pieces)), *pieces]
    vocab = {piece: i for i, piece in enumerate(names)}
    merges = [(p[:cut], p[cut:]) for p in pieces for cut in range(1, len(p)) if p[:cut] in vocab and p[cut:] in vocab]
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=byte_pieces == 256, fuse_unk=True))
    steps = [normalizers.Prepend("▁")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


def read(tokenizer: Any, **options: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer(tokenizer, cache=None, **options)


# Vocabularies given as bytes


def test_end_ids_are_sorted_and_never_text() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"c"], eos_token_ids=[2, 0, 2])
    assert vocabulary.eos_token_ids == (0, 2)
    assert vocabulary.token_bytes == (None, b"b", None)
    assert vocabulary.special_ids == {0, 2}


def test_end_id_outside_the_rows_is_refused() -> None:
    for end in (-1, 3):
        with pytest.raises(VocabularyError, match="rows"):
            Vocabulary.from_bytes([b"a", b"b", b"c"], eos_token_ids=[end])


def test_byte_masks_tell_usable_from_single_bytes() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"bc", None, b""])
    assert vocabulary.usable_bytes == 1 << ord("a") | 1 << ord("b") | 1 << ord("c")
    assert vocabulary.single_bytes == 1 << ord("a")
    assert not vocabulary.is_atomic
    assert Vocabulary.from_bytes([b"a", b"b", b"ab"]).is_atomic


def test_decode_joins_bytes_and_skips_ids_without_text() -> None:
    vocabulary = Vocabulary.from_bytes([b"\xc3", b"\xa9", None, b"x"], eos_token_ids=[3])
    assert vocabulary.decode([0, 1, 2, 3]) == "é".encode()
    for outside in (-1, 4):
        with pytest.raises(VocabularyError, match="outside"):
            vocabulary.decode([outside])


@given(TOKENS, TOKENS)
def test_fingerprints_are_equal_exactly_for_equal_content(one: list[bytes | None], two: list[bytes | None]) -> None:
    a, b = Vocabulary.from_bytes(one), Vocabulary.from_bytes(two)
    same = [data or None for data in one] == [data or None for data in two]
    assert (a.fingerprint == b.fingerprint) == same
    assert (a == b) == same


def test_fingerprint_tells_where_bytes_are_cut_and_what_ends_a_text() -> None:
    assert Vocabulary.from_bytes([b"ab", b"c"]) != Vocabulary.from_bytes([b"a", b"bc"])
    assert Vocabulary.from_bytes([b"a", None]) != Vocabulary.from_bytes([b"a", None], eos_token_ids=[1])


@given(TOKENS)
def test_ids_by_bytes_loses_no_id(tokens: list[bytes | None]) -> None:
    vocabulary = Vocabulary.from_bytes(tokens)
    pairs = sorted((i, data) for data, ids in vocabulary.ids_by_bytes.items() for i in ids)
    assert pairs == [(i, data) for i, data in enumerate(tokens) if data]
    assert sorted(vocabulary.trie.token_ids.tolist()) == [i for i, _ in pairs]


# Byte-level


def test_byte_level_pieces_are_bytes() -> None:
    assert [piece_bytes(piece) for piece in ("Ġa", "Ċ", "Ã©", "Ã", "ġ")] == [
        b" a",
        b"\n",
        "é".encode(),
        b"\xc3",
        b"\x7f",
    ]


def test_piece_outside_the_byte_alphabet_is_literal() -> None:
    assert [piece_bytes(piece) for piece in ("a b", "｜x", "\xa0", "\x00")] == [
        b"a b",
        "｜x".encode(),
        b"\xc2\xa0",
        b"\x00",
    ]


def test_byte_level_tokenizer_gives_back_difficult_texts() -> None:
    vocabulary = read(tiny_tokenizer())
    assert vocabulary.encode is not None
    for text in difficult_texts(200):
        assert vocabulary.decode(vocabulary.encode(text)) == text.encode()
    assert vocabulary.is_atomic
    assert vocabulary.usable_bytes == (1 << 256) - 1


def test_missing_bytes_are_a_stated_limit() -> None:
    alphabet = [c for c in pre_tokenizers.ByteLevel.alphabet() if piece_bytes(c) not in (b"\x04", b"\xf1", b"\xff")]
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(alphabet))}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    vocabulary = read(tokenizer)
    assert vocabulary.limits == ("bytes that cannot be produced: 04 F1",)
    assert vocabulary.usable_bytes.bit_count() == 253


# Added tokens


def test_added_tokens_are_named_but_not_legal_and_not_made_from_text() -> None:
    tokenizer = tiny_tokenizer()
    vocabulary = read(tokenizer)
    assert vocabulary.eos_token_ids == (tokenizer.eos_token_id,)
    assert vocabulary.added["<|end|>"] == tokenizer.eos_token_id
    assert all(vocabulary.token_bytes[i] is None for i in vocabulary.added.values())
    assert vocabulary.encode is not None
    ids = vocabulary.encode("a <|end|> b")
    assert not set(ids) & set(vocabulary.added.values())
    assert vocabulary.decode(ids) == b"a <|end|> b"


@pytest.mark.parametrize("content", ["\n", "\t\t", "▁▁", "    ", "<table>", "</h1>", "ø", "÷", "hello"])
def test_added_tokens_that_are_text_are_legal(content: str) -> None:
    assert is_text_like(content, special=False)
    assert not is_text_like(content, special=True)


@pytest.mark.parametrize(
    "content", ["<think>", "<unused5>", "[INST]", "<|im_end|>", "<｜User｜>", "<s1>", "", "<mask>", "</s>"]
)
def test_added_tokens_that_are_markers_are_not_text(content: str) -> None:
    assert not is_text_like(content, special=False)


def test_text_like_added_token_beyond_the_model_keeps_its_id_in_encode() -> None:
    backend = Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str())
    backend.add_tokens([AddedToken("<marker>", normalized=False), AddedToken("øre", normalized=False)])
    vocabulary = read(backend)
    i = backend.token_to_id("øre")
    assert vocabulary.token_bytes[i] == "øre".encode()
    assert vocabulary.token_bytes[backend.token_to_id("<marker>")] is None
    assert vocabulary.encode is not None
    assert i in vocabulary.encode("x øre")
    assert vocabulary.decode(vocabulary.encode("<marker>øre")) == "<marker>øre".encode()


# SentencePiece


def test_sentencepiece_bytes_fallback_and_duplicates() -> None:
    vocabulary = read(sentencepiece_like("▁", "a", "▁a", "\n"))
    assert vocabulary.token_bytes[257:] == (b" ", b"a", b" a", b"\n")
    assert vocabulary.token_bytes[0] is None
    assert vocabulary.ids_by_bytes[b"a"] == (1 + ord("a"), 258)
    assert any("U+2581" in limit for limit in vocabulary.limits)


def test_mid_text_encoding_has_no_prefix_blank() -> None:
    vocabulary = read(sentencepiece_like("▁", "a", "▁a"))
    assert vocabulary.encode is not None
    assert vocabulary.encode("a") == [258]
    assert vocabulary.encode(" a") == [259]
    assert vocabulary.decode(vocabulary.encode("  é a ")) == "  é a ".encode()


def test_tokenizer_without_byte_fallback_is_refused_by_name() -> None:
    tokenizer = sentencepiece_like("▁", "a", byte_pieces=0)
    with pytest.raises(VocabularyError, match=r"Tokenizer does not keep text: it has no byte fallback"):
        read(tokenizer)
    vocabulary = read(tokenizer, allow_lossy=True)
    assert any("accepted with loss" in limit for limit in vocabulary.limits)
    assert vocabulary.encode is not None
    assert vocabulary.decode(vocabulary.encode("a x")) == b"a "


def test_unigram_with_byte_fallback_is_read() -> None:
    pieces = [
        ("<unk>", 0.0),
        *((f"<0x{byte:02X}>", -20.0) for byte in range(256)),
        ("▁", -2.0),
        ("▁ab", -1.0),
        ("c", -3.0),
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="always")])
    vocabulary = read(tokenizer)
    assert vocabulary.token_bytes[257:] == (b" ", b" ab", b"c")
    assert vocabulary.encode is not None
    assert vocabulary.encode(" abc") == [258, 259]
    assert vocabulary.decode(vocabulary.encode("c é")) == "c é".encode()


def test_without_prefix_reaches_into_sequences() -> None:
    part = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "NFC"}]}
    assert without_prefix(part) == {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    assert without_prefix({"type": "Prepend", "prepend": "▁"}) is None


# Losses


@pytest.mark.parametrize(
    ("normalizer", "reason"),
    [
        (normalizers.NFKC(), "NFKC"),
        (normalizers.Lowercase(), "Lowercase"),
        (normalizers.Sequence([normalizers.NFC(), normalizers.StripAccents()]), "StripAccents"),
        (normalizers.Replace(Regex(r"\p{Zs}"), " "), "replaces"),
    ],
)
def test_normalizer_that_loses_text_is_refused_by_name_or_accepted_with_a_limit(normalizer: Any, reason: str) -> None:
    backend = Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str())
    backend.normalizer = normalizer
    with pytest.raises(VocabularyError, match=reason) as caught:
        read(backend)
    assert "id_to_bytes" in str(caught.value)
    assert any(reason in limit for limit in read(backend, allow_lossy=True).limits)


def test_pre_tokenizer_that_drops_blanks_is_refused() -> None:
    backend = Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str())
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), backend.pre_tokenizer])
    with pytest.raises(VocabularyError, match="WhitespaceSplit drops blanks"):
        read(backend)


def test_nfc_is_accepted_with_a_stated_limit() -> None:
    backend = Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str())
    backend.normalizer = normalizers.NFC()
    vocabulary = read(backend)
    assert any("NFC" in limit for limit in vocabulary.limits)
    assert vocabulary.encode is not None
    assert vocabulary.decode(vocabulary.encode("e\u0301")) == "é".encode()


def test_word_piece_is_refused_by_name() -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(VocabularyError, match="WordPiece"):
        read(tokenizer)


def test_unknown_decoder_and_unknown_object_are_refused_with_what_to_pass() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    for wrong in (tokenizer, object(), "gpt2"):
        with pytest.raises(VocabularyError, match="id_to_bytes"):
            read(wrong)


def test_self_test_names_the_text_that_does_not_come_back() -> None:
    table = TokenTable("broken", [b"a", b"b"], encode=lambda text: [1] if "a" in text else [])
    with pytest.raises(VocabularyError, match=r"broken: self-test failed\. The text 'a'"):
        check_round_trip(table, ["", "a"])


# Rows and end ids


def fake_model(n_rows: int, end_ids: object) -> Any:
    weight = SimpleNamespace(shape=(n_rows, 8))
    return SimpleNamespace(
        get_output_embeddings=lambda: SimpleNamespace(weight=weight),
        generation_config=SimpleNamespace(eos_token_id=end_ids),
        config=SimpleNamespace(vocab_size=7),
    )


def test_rows_come_from_the_models_output_and_padding_is_never_legal() -> None:
    tokenizer = tiny_tokenizer()
    n_ids = len(tokenizer)
    vocabulary = read(tokenizer, model=fake_model(n_ids + 50, None))
    assert vocabulary.n_rows == n_ids + 50
    assert vocabulary.token_bytes[n_ids:] == (None,) * 50


def test_surplus_ids_are_cut_and_stated() -> None:
    tokenizer = tiny_tokenizer()
    vocabulary = read(tokenizer, model=fake_model(300, None))
    assert vocabulary.n_rows == len(vocabulary.token_bytes) == 300
    assert any("past the model's 300 rows" in limit for limit in vocabulary.limits)
    assert vocabulary.encode is not None
    assert max(vocabulary.encode(" the quick brown fox lazy dog languages")) < 300


def test_rows_come_from_the_configuration_where_there_is_no_output_layer() -> None:
    text_config = SimpleNamespace(vocab_size=500)
    config = SimpleNamespace(vocab_size=9, get_text_config=lambda: text_config)
    model = SimpleNamespace(get_output_embeddings=lambda: None, config=config)
    assert read(tiny_tokenizer(), model=model).n_rows == 500


@pytest.mark.parametrize("end_ids", [1, [1, 2], (2,), None])
def test_end_ids_are_the_union_of_tokenizer_model_and_caller(end_ids: Any) -> None:
    tokenizer = tiny_tokenizer()
    expected = {tokenizer.eos_token_id, 3, *([end_ids] if isinstance(end_ids, int) else end_ids or ())}
    vocabulary = read(tokenizer, model=fake_model(400, end_ids), eos_token_ids=3)
    assert set(vocabulary.eos_token_ids) == expected


def test_end_id_outside_the_models_rows_is_refused() -> None:
    with pytest.raises(VocabularyError, match="outside the model's"):
        read(tiny_tokenizer(), eos_token_ids=[100_000])


def test_vocabulary_passes_through_and_takes_new_rows_and_ends() -> None:
    vocabulary = read(tiny_tokenizer())
    assert read(vocabulary) is vocabulary
    wider = read(vocabulary, n_rows=vocabulary.n_rows + 3, eos_token_ids=[5])
    assert wider.n_rows == vocabulary.n_rows + 3
    assert set(wider.eos_token_ids) == {*vocabulary.eos_token_ids, 5}


def test_same_tokenizer_gives_the_same_object_until_it_changes() -> None:
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer.from_str(tiny_tokenizer().backend_tokenizer.to_str())
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")
    first = read(tokenizer)
    assert read(tokenizer) is first
    tokenizer.add_tokens(["<new>"])
    assert "<new>" in read(tokenizer).added


# Other kinds of object


def test_tiktoken_encoding_with_holes_is_read() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 260, b"  ": 262}
    encoding = tiktoken.Encoding("t", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 270})
    vocabulary = read(encoding)
    assert (vocabulary.n_rows, vocabulary.eos_token_ids) == (271, (270,))
    assert vocabulary.token_bytes[256:263] == (None, None, None, None, b"ab", None, b"  ")
    assert vocabulary.encode is not None
    assert vocabulary.encode("ab") == [260]
    assert vocabulary.decode(vocabulary.encode("<|endoftext|>")) == b"<|endoftext|>"


def test_object_that_follows_the_protocol_is_read() -> None:
    class Bytes:
        n_rows = 258
        eos_token_ids = (257,)

        def id_to_bytes(self, token_id: int) -> bytes | None:
            return bytes([token_id]) if token_id < 256 else None

        def encode(self, text: str) -> list[int]:
            return list(text.encode())

    vocabulary = read(Bytes())
    assert (vocabulary.n_rows, vocabulary.eos_token_ids) == (258, (257,))
    assert vocabulary.decode(vocabulary.encode("é")) == "é".encode()  # type: ignore[misc]  # given above
