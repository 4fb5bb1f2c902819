"""The laws of tokenization on real tokenizers: brute force, random walks, and distances to the model's distribution."""

from __future__ import annotations

import json
import math
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from tests.laws.test_tokenization_laws import check_aligned, check_canonical, ids_of
from tests.real.tokenizers import llama_cpp_vocabularies, real_vocabulary
from tests.reference.canonical_brute_force import CanonicalBruteForce
from tests.reference.drawn_languages import draw_language
from tokenizer_align.canonical.choose_law import survival_for, why_not
from tokenizer_align.compiled import compile_expression
from tokenizer_align.engine import Engine
from tokenizer_align.engines import engine_for
from tokenizer_align.matcher import Matcher
from tokenizer_align.tokenizers.gguf import load_gguf_tokenizer
from tokenizer_align.vocabulary import Vocabulary

SLOW = bool(os.environ.get("DOMINO_SLOW"))
NAMES = ("smollm2", "gemma3", "qwen3.6", "tekken", "llama3", "mon") if SLOW else ("smollm2", "mon")
N_LANGUAGES = 1000 if SLOW else 20
N_WALKS = 2000 if SLOW else 15
TABLES = json.loads((Path(__file__).parent.parent / "cases" / "exact_tables.json").read_text())
# Total variation to the model's distribution over the legal token sequences, from masks: exactly, and at most.
ANY = {"bool": 0.775, "json_enum": 0.345, "yesno": 0.193}
CANONICAL = {"bool": 0.004, "json_enum": 0.09, "yesno": 0.11}


@cache
def vocabulary_of(name: str) -> Vocabulary:
    if name != "llama3":
        return real_vocabulary(name)
    return Vocabulary.from_tokenizer(load_gguf_tokenizer(llama_cpp_vocabularies() / "ggml-vocab-llama-bpe.gguf"))


@cache
def engine_of(name: str) -> Engine:
    return engine_for(vocabulary_of(name))


@cache
def words_of(name: str) -> list[str]:
    """Texts of random tokens, and of those that JSON is made of."""
    rng, table = random.Random(5), [data for data in vocabulary_of(name).token_bytes if data]
    words: list[str] = []
    while len(words) < 600:
        try:
            words.append(rng.choice(table).decode())
        except UnicodeDecodeError:
            continue
    return (
        words + ['{"', '":"', '"}', '",', "}", "{", ' "', ": ", "true", "false", "name", "[", "]", " ", "\n", "  "] * 10
    )


def reference_of(vocabulary: Vocabulary, texts: list[str]) -> CanonicalBruteForce:
    """By the tokenizer's own encoding; pre-tokens and merges as tested in test_pre_tokens and test_pairs."""
    survival = survival_for(engine_for(vocabulary))
    pre_tokens, pairs = survival.paths.pre_tokens, survival.pairs

    def split(text: str) -> list[int]:
        places = pre_tokens.boundaries(text.encode())  # type: ignore[attr-defined]
        return [*places[1:], len(text.encode())]

    assert vocabulary.encode is not None and vocabulary.rules is not None
    added = {content.encode(): [token.id] for content, token in vocabulary.rules.added.items() if token.is_text}

    def encode_whole(data: bytes) -> list[int]:
        return added.get(data) or pairs.encode_pre_token(data)

    return CanonicalBruteForce(texts, vocabulary.encode, split, encode_whole, pairs.encode_part, added)


@pytest.mark.parametrize("name", NAMES)
def test_masks_equal_brute_force(name: str) -> None:
    vocabulary, rng = vocabulary_of(name), random.Random(1)
    engine = engine_of(name)  # kept, so that all languages share it
    encode = vocabulary.encode
    assert encode is not None and engine.vocabulary == vocabulary
    for _ in range(N_LANGUAGES if SLOW or name != "mon" else 6):
        texts = [t for t in draw_language(rng, words_of(name)) if vocabulary.decode(encode(t)) == t.encode()]
        if texts:
            reference = reference_of(vocabulary, texts)
            check_canonical(texts, reference, vocabulary, thorough=False)
            check_aligned(texts, reference, vocabulary, rng, thorough=False)


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "kind": {"enum": ["pos", "neg", "neutral"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3},
        "sub": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": ["string", "null"]}}},
    },
    "required": ["name"],
}


def walk(matcher: Matcher, rng: random.Random, n_free: int) -> list[int]:
    """Random legal tokens, then those of a plan that completes the text."""
    ids: list[int] = []
    compiled = matcher.compiled
    while matcher.can_continue() and not (matcher.is_complete() and rng.random() < 0.5) and len(ids) < n_free:
        legal = np.flatnonzero(np.unpackbits(matcher.mask().view(np.uint8), bitorder="little"))
        token = int(legal[rng.randrange(len(legal))])
        while token in compiled.eos_token_ids:
            token = int(legal[rng.randrange(len(legal))])
        ids.append(token)
        matcher.advance(ids[-1])
    if not matcher.is_complete():
        plan = compiled.plan(matcher.configuration)
        assert plan
        for token in plan:
            matcher.advance(token)
        ids += plan
    return ids


@pytest.mark.parametrize("name", ["smollm2", "gemma3"] if SLOW else ["smollm2"])
@pytest.mark.parametrize("layout", ["compact", "flexible"])
@pytest.mark.parametrize("law", ["canonical", "aligned"])
def test_random_walks_have_no_dead_end(law: str, layout: str, name: str) -> None:
    vocabulary = real_vocabulary(name)
    constraint = domino.json_schema(SCHEMA, whitespace=layout)
    compiled = compile_expression(constraint.expression, vocabulary, law)
    rng = random.Random(3)
    for _ in range(N_WALKS // 4):
        matcher = compiled.matcher()
        ids = walk(matcher, rng, 24)
        assert matcher.is_complete() and matcher.given_up_at is None
        assert constraint.matches(matcher.text_bytes())
        if law == "canonical":
            assert vocabulary.encode is not None
            assert vocabulary.encode(matcher.text_bytes().decode()) == ids


@pytest.mark.parametrize("law", ["canonical", "aligned"])
def test_random_walks_with_a_unigram_tokenizer_have_no_dead_end(law: str) -> None:
    vocabulary = real_vocabulary("mon")
    constraint = domino.json_schema(SCHEMA, whitespace="compact")
    compiled = compile_expression(constraint.expression, vocabulary, law)
    rng, normalize, n_compared = random.Random(3), vocabulary.encode.normalize, 0  # type: ignore[union-attr]
    for _ in range(N_WALKS // 4):
        matcher = compiled.matcher()
        ids, text = walk(matcher, rng, 24), matcher.text_bytes().decode()
        assert matcher.is_complete() and matcher.given_up_at is None and constraint.matches(text)
        if law == "canonical" and normalize(text) == text:
            assert vocabulary.encode is not None and vocabulary.encode(text) == ids
            n_compared += 1
    assert n_compared or law == "aligned"


@pytest.mark.parametrize("law", ["canonical", "aligned"])
def test_arrays_of_different_items_are_completed_under_a_law(law: str) -> None:
    vocabulary, rng = real_vocabulary("smollm2"), random.Random(4)
    schema = {"type": "array", "items": {"enum": ["a", "b", "ab", 1, 12]}, "uniqueItems": True, "minItems": 3}
    constraint = domino.json_schema(schema, whitespace="flexible")
    compiled = compile_expression(constraint.expression, vocabulary, law)
    for _ in range(N_WALKS):
        matcher = compiled.matcher()
        walk(matcher, rng, 24)
        assert constraint.matches(matcher.text_bytes())


def test_the_default_models_vocabulary_has_all_laws() -> None:
    assert why_not(real_vocabulary("smollm2")) is None


def distances(name: str, law: str) -> float:
    """Total variation between what masks under a law sample and the model's own distribution over legal sequences."""
    table, vocabulary = TABLES[name], real_vocabulary("smollm2")
    nodes = {tuple(node["ids"]): {int(i): lp for i, lp in node["next"].items()} for node in table["nodes"]}
    compiled = compile_expression(domino.choice(table["strings"]).expression, vocabulary, law)
    ideal: dict[tuple[int, ...], float] = {}
    masked: dict[tuple[int, ...], float] = {}

    def visit(ids: tuple[int, ...], logprob: float, weight: float, matcher: Matcher) -> None:
        legal = ids_of(matcher) if weight else set()
        mass = sum(math.exp(lp) for token, lp in nodes[ids].items() if token in legal)
        for token, lp in nodes[ids].items():
            share = weight * math.exp(lp) / mass if token in legal else 0.0
            if token in vocabulary.eos_token_ids:
                ideal[ids], masked[ids] = math.exp(logprob + lp), share
                continue
            if share:
                matcher.advance(token)
            visit((*ids, token), logprob + lp, share, matcher)
            if share:
                matcher.rollback(1)

    visit((), 0.0, 1.0, compiled.matcher(table["prompt_ids"]))
    total = math.fsum(ideal.values())
    return 0.5 * math.fsum(abs(masked[ids] - weight / total) for ids, weight in ideal.items())


@pytest.mark.parametrize("name", sorted(TABLES))
def test_canonical_masks_are_near_the_models_distribution(name: str) -> None:
    assert distances(name, "any") == pytest.approx(ANY[name], abs=0.001)
    assert distances(name, "canonical") <= CANONICAL[name]
    assert distances(name, "aligned") <= CANONICAL[name]


def test_a_prompt_is_left_context(default_model: Any) -> None:
    """Behind "Answer: " no " yes" can come whole; with heal_prompt it does."""
    model, tokenizer = default_model
    options = {"max_new_tokens": 8, "tokenization": "canonical"}
    constraint = domino.choice(["yes", "no"])
    plain = domino.generate(model, tokenizer, "Is water wet? Answer: ", constraint, **options)
    assert any("behind the prompt's last token" in note for note in plain.report.notes)
    healed = domino.generate(model, tokenizer, "Is water wet? Answer: ", constraint, heal_prompt=True, **options)
    assert healed.text in ("yes", "no")
    assert not any("behind the prompt's last token" in note for note in healed.report.notes)
    assert healed.prompt_n_tokens == plain.prompt_n_tokens - 1
    whole = domino.generate(model, tokenizer, "Is water wet? Answer:", domino.choice([" yes", " no"]), **options)
    assert whole.token_ids == healed.token_ids
