"""Templates with a real model: passes, typed values, and the same tokens with drafts off."""

from __future__ import annotations

import os
from typing import Any

import pytest

import domino_py as domino
from domino_py.constraints.base import Constraint
from tests.template_tokens import n_fixed, n_hole_tokens

pytestmark = pytest.mark.model

WORDS = domino.regex(r"[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}")
ASKED = "Fill in a card about the writer Jane Austen, who was born in 1775 and died in 1817."


def card(head: str) -> Constraint:
    """A template with five holes; another head is another constraint, of which no earlier outputs are remembered."""
    work = domino.template(
        "- {title} ({year})", title=domino.regex("[A-Z][A-Za-z' ]{2,30}"), year=domino.regex("1[78]\\d\\d")
    )
    return domino.template(
        head + "\nName: {name}\nYear of birth: {born}\nField of work: {field}\nWorks:\n{works}\nAlive: {alive}\n",
        name=WORDS,
        born=int,
        field=domino.choice(["mathematics", "physics", "literature", "music"]),
        works=domino.repeat(work, 1, 2, separator="\n"),
        alive=domino.select("yes", no=domino.template("no, died in {year}", year=domino.regex(r"\d{4}"))),
    )


SAMPLED: list[dict[str, Any]] = [{"do_sample": True, "seed": seed, "temperature": 0.8} for seed in range(4)]


@pytest.mark.parametrize("sampling", [{}, *(SAMPLED if os.environ.get("DOMINO_SLOW") else [])])
def test_five_holes_take_a_pass_for_each_of_their_tokens_and_one_for_each_fixed_part(
    default_model: Any, sampling: dict[str, Any]
) -> None:
    model, tokenizer = default_model
    form = card(f"CARD {sampling.get('seed')}")
    vocabulary = domino.compile(form, tokenizer).vocabulary
    chat = [{"role": "user", "content": ASKED}]
    result = domino.generate(model, tokenizer, chat, form, speculate=True, **sampling)
    n_most = n_hole_tokens(form, result, vocabulary) + n_fixed(form)
    assert result.report.forward_passes <= n_most < len(result.token_ids)
    without = domino.generate(model, tokenizer, chat, form, speculate=False, **sampling)
    assert result.token_ids == without.token_ids
    assert len(without.token_ids) == without.report.forward_passes
    value = result.value
    assert list(value) == ["name", "born", "field", "works", "alive"]
    assert isinstance(value["born"], int) and isinstance(value["works"], list)
    assert all(set(work) == {"title", "year"} for work in value["works"])
    assert value["alive"].alternative in ("yes", "no")


def test_a_batch_of_templates_has_the_tokens_of_each_alone(default_model: Any) -> None:
    model, tokenizer = default_model
    form = domino.template("City: {city}\nCountry: {country}\n", city=WORDS, country=WORDS)
    asked = ["The Eiffel Tower stands in this city.\n", "Where is the Colosseum?\n", "Mount Fuji is near it.\n"]
    together = domino.generate(model, tokenizer, asked, form)
    for prompt, result in zip(asked, together, strict=True):
        assert domino.generate(model, tokenizer, prompt, form, speculate=False).token_ids == result.token_ids
        assert set(result.value) == {"city", "country"}
