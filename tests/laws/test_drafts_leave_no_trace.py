"""What verifying drafts leaves behind: logits, matchers and caches are those of decoding token by token.

At every pass, with drafts that are right, wrong at any place and branching: the scores of every decided position
are those of passes of one token within 2e-4; a matcher that was moved along drafts and back equals a fresh one that
has read the same tokens; the cache holds as many positions as were accepted.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from domino_py.compilation import compiled_for
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.laws.test_drafts_do_not_change_tokens import VOCABULARY, TreeAdversary, model_of, requests
from tests.reference.decode_watch import Watch, watching
from tests.reference.tiny_models import random_prompt

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["Ada", "Bob", "Anna"]}, "age": {"type": "integer"}, "city": {"type": "string"}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}


def compare(model: Any, asked: list[RowRequest], law: dict[str, Any], **options: Any) -> int:
    """Decode with and without drafts; how many drafted tokens were accepted."""
    plain, drafted = Watch(), Watch()
    with watching(plain, thorough=True):
        off = decode(model, VOCABULARY, asked, DecodeOptions(speculate=False, **law))
    truth = {tuple(row.prompt_ids): result.token_ids for row, result in zip(asked, off, strict=True)}
    if options.pop("adversary", False):
        options["draft_sources"] = (TreeAdversary(truth, 3),)
    with watching(drafted, thorough=True):
        on = decode(model, VOCABULARY, asked, DecodeOptions(speculate=True, **law, **options))
    assert [one.token_ids for one in on] == [one.token_ids for one in off]
    assert plain.scores.keys() == drafted.scores.keys()
    assert max(float(np.abs(plain.scores[key] - drafted.scores[key]).max()) for key in plain.scores) < 2e-4
    assert plain.wrong == drafted.wrong == []
    assert drafted.n_matchers
    assert drafted.n_caches
    return sum(sum(one.statistics.accepted.values()) for one in on)


@pytest.mark.parametrize("law", [{}, {"do_sample": True, "seed": 9, "temperature": 1.2}], ids=["greedy", "sampled"])
@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_branching_drafts_spoiled_at_random_places_leave_no_trace(name: str, law: dict[str, Any]) -> None:
    model, asked = model_of(name), requests(4, seed=2, budget=26)
    assert compare(model, asked, law, adversary=True, max_draft=12) > 0
    assert compare(model, asked[:1], law, adversary=True, max_draft=12, cache="static") > 0


@pytest.mark.parametrize("size", [1, 3])
def test_drafts_of_a_schema_leave_no_trace(size: int) -> None:
    compiled = compiled_for(domino.json_schema(SCHEMA), VOCABULARY)
    rng = random.Random(size)
    asked = [RowRequest(random_prompt(rng), compiled, index, 60, (0,)) for index in range(size)]
    assert compare(model_of("llama"), asked, {}) > 5 * size
