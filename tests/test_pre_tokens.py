"""Pre-tokens: the automaton's boundaries are the tokenizer's own, and every text has exactly one run."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.pre_token_texts import hard_texts
from tests.reference.slow_pre_tokens import count_runs, slow_boundaries
from tokenizer_align.canonical.pre_tokens import PreTokens
from tokenizer_align.canonical.read_rules import _steps
from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.gguf_pre_tokenizers import pre_tokenizer

GPT2 = [("byte_level", False, True)]
NAMES = ("gpt-2", "smollm", "llama3", "qwen2", "qwen35", "deepseek-v3", "tekken", "gpt-4o", "falcon", "deepseek-coder")
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s"
)


@cache
def automaton(name: str) -> PreTokens:
    return PreTokens.of_steps(_steps(pre_tokenizer(name), writes_blanks=False))


def pieces(pre_tokens: PreTokens, text: str) -> list[str]:
    data = text.encode()
    cuts = pre_tokens.boundaries(data)
    assert cuts is not None
    return [data[start:stop].decode() for start, stop in zip(cuts, [*cuts[1:], len(data)], strict=True)]


def split(pattern: str, behaviour: str = "Isolated", invert: bool = False, engine: Any = "tokenizers") -> PreTokens:
    return PreTokens.of_steps([("split", pattern, behaviour, invert)], engine)


# --- known answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gpt-2", "  x don't", [" ", " x", " don", "'t"]),
        ("gpt-2", "a   ", ["a", "   "]),
        ("smollm", "12 34", ["1", "2", " ", "3", "4"]),
        ("llama3", '{\n  "a":12345}\r\n', ["{\n", " ", ' "', "a", '":', "123", "45", "}\r\n"]),
        ("llama3", "I'LL\n\n x", ["I", "'LL", "\n\n", " x"]),
        ("gpt-4o", "HTTPServer's", ["HTTPServer's"]),
        ("gpt-4o", "camelCase", ["camel", "Case"]),
        ("deepseek-v3", "1234中文abc", ["123", "4", "中文", "abc"]),
    ],
)
def test_known_splits(name: str, text: str, expected: list[str]) -> None:
    assert pieces(automaton(name), text) == expected


def test_a_blank_before_a_word_is_guessed_both_ways() -> None:
    gpt2 = automaton("gpt-2")
    heads = {gpt2.start}
    for byte in b"a  ":
        heads = {after for p in heads for _, after in gpt2.step(p, byte)}
    bits = {byte: {bit for p in heads for bit, _ in gpt2.step(p, byte)} for byte in b" x"}
    assert bits == {ord(" "): {0, 1}, ord("x"): {0}}
    assert len(heads) == 2


def test_the_start_of_a_text_counts_as_a_boundary() -> None:
    assert {bit for byte in range(128) for bit, _ in automaton("llama3").step(automaton("llama3").start, byte)} == {1}


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xc3", b"a\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8a"]
)
def test_bytes_that_are_no_text_have_no_run(text: bytes) -> None:
    assert automaton("gpt-2").boundaries(text) is None


def test_a_character_may_be_cut_where_a_step_reads_bytes() -> None:
    assert automaton("falcon").boundaries("\u0432".encode()) == [0, 1]  # D0 B2: B2 is written "²", which is a digit


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "part"),
    [
        (("split", r"(?<=ab)c", "Isolated", False), "look-behind"),
        (("split", r"(?>a|ab)c", "Isolated", False), "atomic"),
        (("split", r"(a)\1", "Isolated", False), "escape"),
        (("split", r"(a?)*", "Isolated", False), "repeats what may be empty"),
        (("split", r"a", "Removed", False), "removes"),
        (("split", r"a|(", "Isolated", False), "not closed"),
        (("split", r"(?i:ss)", "Isolated", False), "case"),
        (("split", r"\p{Nonsense}", "Isolated", False), "does not understand"),
        (("scripts",), "cannot be represented"),
        (("unknown", "{}"), "cannot be represented"),
    ],
)
def test_what_cannot_be_represented_is_refused(step: tuple[Any, ...], part: str) -> None:
    with pytest.raises(VocabularyError, match=part):
        PreTokens.of_steps([step])


# --- real pre-tokenizers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_boundaries_are_those_of_the_tokenizers_library(name: str) -> None:
    from tokenizers import pre_tokenizers

    library = pre_tokenizers.Sequence([])
    library.__setstate__(json.dumps(pre_tokenizer(name)).encode())
    for text in hard_texts(200):
        lengths = [len(piece) for piece, _ in library.pre_tokenize_str(text)]  # a character of a piece is a byte
        assert automaton(name).boundaries(text.encode()) == [0, *np.cumsum(lengths)[:-1].tolist()], text


@pytest.mark.parametrize("name", NAMES)
def test_every_text_has_one_run(name: str) -> None:
    assert {count_runs(automaton(name), text.encode()) for text in hard_texts(60)} == {1}


def test_boundaries_are_those_of_tiktoken() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    words = ["the", "ing", "  ", "12", "123", "\n\n", "\r\n", "'s", " x", "中文".encode(), '":', "don"]
    tokens = [bytes([i]) for i in range(256)] + [word if isinstance(word, bytes) else word.encode() for word in words]
    encoding = tiktoken.Encoding(
        "t", pat_str=CL100K, mergeable_ranks={t: i for i, t in enumerate(tokens)}, special_tokens={}
    )
    cl100k = split(CL100K, engine="tiktoken")
    for text in hard_texts(600):
        data = text.encode()
        cuts = cl100k.boundaries(data)
        assert cuts is not None and count_runs(cl100k, data) == 1
        spans = zip(cuts, [*cuts[1:], len(data)], strict=True)
        ids = [i for start, stop in spans for i in encoding._core_bpe.encode_single_piece(data[start:stop])]
        assert ids == encoding.encode_ordinary(text), text


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d{1,3}(?=(?:\d{3})*\b)",
        r"(?=(\d{3})+(?!\d))",
        r"^\s+|\bx|\B\d|\w+$",
        r"[\p{L}\p{M}&&[^\p{Han}]]+|[\p{Han}]+",
        r" ?[^(\s|[.,!?…。，、।۔،])]+",
        r"(?i:'s|don|K)|\p{N}{1,3}+|\s?+\p{L}++",
        r"(?<![\p{L}\d])\p{L}{2,}?(?!\p{L}{3})",
    ],
)
def test_other_patterns_split_as_the_tokenizers_library_does(pattern: str) -> None:
    from tokenizers import Regex, pre_tokenizers

    library, found = pre_tokenizers.Split(Regex(pattern), "isolated"), split(pattern)
    for text in [*hard_texts(200), "1234567 12 123456.7890 x1234567"]:
        cuts = [len(text[:start].encode()) for _, (start, _) in library.pre_tokenize_str(text)]
        assert found.boundaries(text.encode()) == cuts, text


# --- any pattern --------------------------------------------------------------------------------------------------


def _quantified(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    marks = st.sampled_from(["", "?", "*", "+", "??", "*?", "+?", "{2}", "{1,3}", "{1,2}?", "{2,}"])
    return st.builds(lambda body, mark: f"(?:{body}){mark}", part, marks)


_LOOKS = ("(?!a)", "(?=b)", "(?!ab)", "(?=a*c)", r"(?!\p{Any})", r"\b", "(?<=a)", "(?<![ab])")
_CHARACTERS = st.sampled_from(["a", "b", "c", "[ab]", "[^a]", r"\s", "ab", "", *_LOOKS])
_POSSESSIVE = st.builds("{}{}".format, st.sampled_from(["a", "[ab]", "[^b]"]), st.sampled_from(["?+", "*+", "++"]))
PATTERNS = st.recursive(
    _CHARACTERS | _POSSESSIVE,
    lambda inner: (
        _quantified(inner)
        | st.builds("{}{}".format, inner, inner)
        | st.builds("(?:{}|{})".format, inner, inner)
        | st.builds("(?!{})".format, inner)
        | st.builds("(?={})".format, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=250)
@given(
    PATTERNS,
    st.sampled_from(["isolated", "contiguous", "merged_with_previous", "merged_with_next"]),
    st.booleans(),
    st.lists(st.text("abc é中", min_size=1, max_size=12), min_size=8, max_size=8),
)
def test_any_pattern_splits_as_a_backtracking_engine_does(
    pattern: str, behaviour: str, invert: bool, texts: list[str]
) -> None:
    try:
        found = split(pattern, behaviour, invert, engine="regex")
    except VocabularyError:
        assume(False)
        return
    for text in texts:
        cuts = [len(text[:at].encode()) for at in slow_boundaries(pattern, behaviour, invert, text)]
        assert count_runs(found, text.encode()) == 1
        assert found.boundaries(text.encode()) == cuts
