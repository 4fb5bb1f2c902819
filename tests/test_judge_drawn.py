"""Canonical judgement is re-encoding for drawn tokenizers: kinds, splits, added tokens, `ignore_merges` at random."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from tests.canonical_texts import DAMAGES, canonical_texts
from tokenizer_align.canonical.judge import judge_of
from tokenizer_align.vocabulary import Vocabulary

tokenizers = pytest.importorskip("tokenizers")
N_DRAWN = 60 if os.environ.get("DOMINO_SLOW") else 3
ADDED = ("the", "\n\n", "a", "12", "and", "ing", "<b>", "中", "  ", "    ")
PATTERNS = (
    r"\s+(?!\S)|\p{L}+|\p{N}{1,2}|[^\s\p{L}\p{N}]+|\s",
    r" ?\p{L}+|\s+|[^\s\p{L}]+",
    r"[a-z]+|[^a-z]",
    r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def draw_byte_level(draw: random.Random) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(ignore_merges=draw.random() < 0.5))
    split = pre_tokenizers.Split(Regex(draw.choice(PATTERNS)), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=draw.random() < 0.3)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    train(tokenizer, trainers.BpeTrainer(vocab_size=draw.choice([300, 600]), initial_alphabet=alphabet), draw)
    return tokenizer


def draw_sentencepiece(draw: random.Random) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    blanks = normalizers.Replace(" ", "▁")
    kind = draw.randrange(3)
    if kind == 2:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=draw.random() < 0.5)
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁")] * kind + [blanks])
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    train(tokenizer, trainers.BpeTrainer(vocab_size=600, limit_alphabet=80, special_tokens=special), draw)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def draw_unigram(draw: random.Random) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.UnigramTrainer(vocab_size=700, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(canonical_texts(120, draw.randrange(1000)), trainer)
    data = json.loads(tokenizer.to_str())
    data["model"]["byte_fallback"] = True
    data["added_tokens"] = [token for token in data["added_tokens"] if not token["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return tokenizer


def train(tokenizer: Any, trainer: Any, draw: random.Random) -> None:
    """Train in place, disturb the merges, and add some tokens that are ordinary text."""
    from tokenizers import AddedToken, Tokenizer

    trainer.show_progress = False
    tokenizer.train_from_iterator(canonical_texts(200, draw.randrange(1000)), trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if not token["content"].startswith("<0x")]
    if draw.random() < 0.6:  # some merges out of order: ranks that do not rise, tokens that merging never gives
        merges = data["model"]["merges"]
        for _ in range(len(merges) // 5):
            a, b = draw.randrange(len(merges)), draw.randrange(len(merges))
            merges[a], merges[b] = merges[b], merges[a]
    tokenizer.__setstate__(Tokenizer.from_str(json.dumps(data)).__getstate__())
    n_added = draw.choice((0, 0, 2, 4))
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=False) for text in draw.sample(ADDED, n_added)])


@pytest.mark.parametrize("draw_tokenizer", [draw_byte_level, draw_sentencepiece, draw_unigram])
@pytest.mark.parametrize("seed", range(N_DRAWN))
def test_judgement_is_re_encoding_for_drawn_tokenizers(draw_tokenizer: Any, seed: int) -> None:
    draw = random.Random(seed)
    vocabulary = Vocabulary.from_tokenizer(draw_tokenizer(draw), cache=None)
    assert vocabulary.encode is not None
    judge, n_sequences = judge_of(vocabulary), 0
    for text in canonical_texts(100, seed=seed):
        data = vocabulary.decode(vocabulary.encode(text)).decode("utf-8", "ignore")
        ids = vocabulary.encode(data)
        if not ids or vocabulary.decode(ids) != data.encode() or "<unk>" in data:
            continue
        for other in [ids, *(damage(ids, vocabulary, draw) for damage in DAMAGES)]:
            assert judge.is_canonical(other) == (other == ids), (data, [vocabulary.token_bytes[i] for i in other])
            n_sequences += 1
    assert n_sequences > 400
