"""What a cold mask under a law of tokenization looks at: no more than it must, and with the same result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import domino_py as domino
from tests.real.tokenizers import real_vocabulary
from tokenizer_align import engines
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.canonical.steady_counts import SteadyCounts
from tokenizer_align.canonical.survival import Survival
from tokenizer_align.compiled import compile_expression
from tokenizer_align.engine import Engine
from tokenizer_align.engines import engine_for

TEXT = "thequickbrownfoxjumpsoverthelazydog" * 3


def masks_of(constraint: domino.Constraint, text: str, law: str) -> list[np.ndarray[Any, Any]]:
    """The masks along the text's tokens, with a new engine."""
    vocabulary = real_vocabulary("smollm2")
    engines._engines.pop(vocabulary.fingerprint + Engine.key, None)  # other tests' engines know much
    matcher = compile_expression(constraint.expression, vocabulary, law).matcher()
    found = []
    assert vocabulary.encode is not None
    for token in vocabulary.encode(text):
        found.append(matcher.mask().copy())
        matcher.advance(token)
    return [*found, matcher.mask().copy()]


@pytest.mark.parametrize("law", ["aligned", "canonical"])
@pytest.mark.parametrize("pattern", ["[a-z]{105}", "([a-z]{70}-)?[a-z]{105}", "[a-f]{50}[a-z]{200}"])
def test_steady_rows_are_those_of_each_count(pattern: str, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "deadbeef" * 5 if pattern.startswith("[a-f]") else TEXT
    quick = masks_of(domino.regex(pattern), text, law)
    monkeypatch.setattr(SteadyCounts, "rows", lambda *_: None)
    for at, (one, other) in enumerate(zip(quick, masks_of(domino.regex(pattern), text, law), strict=True)):
        assert (one == other).all(), at


def test_a_long_count_is_searched_at_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = Survival._make_kept
    monkeypatch.setattr(
        Survival, "_make_kept", lambda self, heads, states: asked.append(heads) or original(self, heads, states)
    )
    masks_of(domino.regex("[a-z]{300}"), "thequickbrownfoxjumpsoverthelazydog" * 8, "aligned")
    assert 0 < len(asked) < 60


def test_tokens_that_end_inside_a_character_are_told_by_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = Survival._fate_under_any_stack
    monkeypatch.setattr(
        Survival, "_fate_under_any_stack", lambda self, *node: asked.append(node) or original(self, *node)
    )
    properties = {name: {"type": "string"} for name in ("name", "city")}
    masks_of(domino.json_schema({"type": "object", "properties": properties}), '{"name":"', "aligned")
    assert not asked


def test_sets_of_subtrees_are_those_of_their_tokens() -> None:
    vocabulary = real_vocabulary("smollm2")
    engine = engine_for(vocabulary)
    walks = survival_for(engine).walks
    tables, rng = engine.tables, np.random.default_rng(1)
    starts, ids, ends = tables.trie_token_start.array, tables.trie_token_ids.array, tables.trie_end.array
    for node in [0, *rng.integers(0, engine.n_vocabulary_nodes, 500).tolist()]:
        below = ids[starts[node] : starts[ends[node]]]
        assert walks._sets_below[node] == np.bitwise_or.reduce(walks._sets_behind[below], initial=0)
