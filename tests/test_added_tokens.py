"""Added tokens and their flags (lstrip, rstrip, single_word, normalized), against the tokenizers library's encoding."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from typing import Any

import pytest

from tests.laws.test_tokenization_laws import check_interface, compile_texts, expected, ids_of
from tests.reference.canonical_brute_force import END
from tests.reference.tiny_bpe import tiny_bpe
from tests.reference.tiny_unigram import tiny_unigram
from tokenizer_align.canonical.choose_law import why_not
from tokenizer_align.canonical.judge import judge_of
from tokenizer_align.errors import InvalidOption, VocabularyError
from tokenizer_align.vocabulary import Vocabulary

tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
N_TEXTS = 4000 if os.environ.get("DOMINO_SLOW") else 80
# Content -> flags; all of them are ordinary text that is matched whole.
KINDS: dict[str, dict[str, dict[str, bool]]] = {
    "plain": {"<br>": {}, "zebra": {}, "\n\n": {}},
    "lstrip": {"<br>": {"lstrip": True}, "zebra": {}},
    "rstrip": {"<br>": {"rstrip": True}, "<hr>": {"rstrip": True, "lstrip": True}},
    "single word": {"zebra": {"single_word": True}, "<b>": {}},
    "single words": {"zebra": {"single_word": True}, "<li>": {"single_word": True}},
    "normalized": {"<br>": {"normalized": True, "lstrip": True}, "zebra": {"normalized": True, "single_word": True}},
}
_PARTS = [
    "<br>",
    "<hr>",
    "<li>",
    "<b>",
    "zebra",
    " ",
    "  ",
    "\n",
    "\t",
    "\u3000",
    "a",
    "b",
    "é",
    "1",
    "_",
    ".",
    "<",
    ">",
]


def with_added(tokenizer: Any, added: dict[str, dict[str, bool]]) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    data = json.loads(tokenizer.backend_tokenizer.to_str())
    first = 1 + max(
        data["model"]["vocab"].values()
        if isinstance(data["model"]["vocab"], dict)
        else range(len(data["model"]["vocab"]))
    )
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    for i, (content, flags) in enumerate(added.items()):
        data["added_tokens"].append({"id": first + i, "content": content, **plain, **flags})
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(data)), eos_token=tokenizer.eos_token)


@cache
def opened(base: str, kind: str) -> tuple[Any, Vocabulary]:
    tiny = tiny_unigram("metaspace", 0) if base == "unigram" else tiny_bpe(base, 360)
    tokenizer = with_added(tiny, KINDS[kind])
    return tokenizer, Vocabulary.from_tokenizer(tokenizer, cache=None)


def drawn(rng: random.Random) -> str:
    return "".join(rng.choices(_PARTS, k=rng.randint(1, 5)))


CASES = [
    (base, kind)
    for base in ("gpt2", "llama3", "unigram")
    for kind in KINDS
    if (base, kind) != ("unigram", "normalized")
]


@pytest.mark.parametrize(("base", "kind"), CASES)
def test_texts_are_judged_as_the_library_encodes_them(base: str, kind: str) -> None:
    """Canonical exactly where the tokens give back the text; whatever else spells the text is not canonical."""
    tokenizer, vocabulary = opened(base, kind)
    judge, rng = judge_of(vocabulary), random.Random(3)
    seen = {True: 0, False: 0}
    for _ in range(N_TEXTS):
        text = drawn(rng)
        ids = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        is_whole = vocabulary.decode(ids) == text.encode()
        seen[is_whole] += 1
        plain = [vocabulary.ids_by_bytes[bytes([byte])][0] for byte in text.encode()]
        assert judge.is_canonical(ids) == is_whole or not is_whole, text
        assert judge.is_canonical(plain) == (plain == ids), text
        assert (judge.pre_tokens.boundaries(text.encode()) is not None) == is_whole, text
    assert seen[True] and bool(seen[False]) == any("strip" in name for some in KINDS[kind].values() for name in some)


@pytest.mark.parametrize(("base", "kind"), CASES)
def test_masks_hold_what_the_library_writes(base: str, kind: str) -> None:
    tokenizer, vocabulary = opened(base, kind)
    assert why_not(vocabulary) is None
    rng = random.Random(4)
    for _ in range(N_TEXTS // 12):
        texts = [drawn(rng) for _ in range(rng.randint(1, 6))]
        following: dict[tuple[int, ...], set[int]] = {}
        for text in texts:
            ids = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
            if vocabulary.decode(ids) == text.encode():
                for at in range(len(ids) + 1):
                    following.setdefault(tuple(ids[:at]), set()).add(ids[at] if at < len(ids) else END)
        for prefix, legal in following.items():
            matcher = compile_texts(texts, vocabulary, "canonical").matcher()
            for token in prefix:
                matcher.advance(token)
            assert ids_of(matcher) == expected(legal, vocabulary), (texts, prefix)
            check_interface(matcher, expected(legal, vocabulary))
            assert ids_of(matcher) >= expected(legal, vocabulary)
        if following:
            aligned = compile_texts(texts, vocabulary, "aligned").matcher()
            assert ids_of(aligned) == expected(following[()], vocabulary), texts
        else:
            assert ids_of(compile_texts(texts, vocabulary, "canonical").matcher())  # the law is given up


REFUSED: dict[str, dict[str, dict[str, bool]]] = {
    "overlaps": {"zebra": {"single_word": True}, "raz": {}},
    "is matched beside it": {"<br>": {"lstrip": True}, "\n": {}},
    "is matched before it": {"<br>": {"single_word": True, "normalized": True}, "zebra": {}},
    "depends on words": {"zebra": {"single_word": True, "lstrip": True}},
    "is no text": {"<mark>": {"single_word": True}},
    "normalizer": {"zebra": {"normalized": True}, "rab": {}},
}


def test_blanks_that_are_written_otherwise_are_not_followed() -> None:
    reason = why_not(opened("unigram", "normalized")[1])
    assert reason is not None and "written otherwise" in reason


def test_a_piece_that_is_matched_only_beside_words_leaves_only_any() -> None:
    """Within a word Viterbi may still give it."""
    tokenizer = tiny_unigram("metaspace", 0)
    data = json.loads(tokenizer.backend_tokenizer.to_str())
    i = next(i for i, (piece, _) in enumerate(data["model"]["vocab"]) if piece.isalpha() and len(piece) > 1)
    flags = {"single_word": True, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    data["added_tokens"].append({"id": i, "content": data["model"]["vocab"][i][0], **flags})
    backend = tokenizers.Tokenizer.from_str(json.dumps(data))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=tokenizer.eos_token)
    reason = why_not(Vocabulary.from_tokenizer(tokenizer, cache=None))
    assert reason is not None and "is a piece of other words as well" in reason


@pytest.mark.parametrize("reason", REFUSED)
def test_flags_that_leave_the_tokens_open_leave_only_any(reason: str) -> None:
    vocabulary = Vocabulary.from_tokenizer(with_added(tiny_bpe("gpt2", 300), REFUSED[reason]), cache=None)
    found = why_not(vocabulary)
    assert found is not None and reason in found
    compiled = compile_texts(["a", "b"], vocabulary, "aligned")
    assert compiled.tokenization == "any" and reason in "".join(compiled.law_notes())
    with pytest.raises(InvalidOption, match=reason):
        compile_texts(["a", "b"], vocabulary, "canonical")
    with pytest.raises(VocabularyError, match=reason):
        judge_of(vocabulary)
