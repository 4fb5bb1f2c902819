"""Templates while a model writes: passes, typed values, and the same tokens with drafts off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import domino_py as domino
from speculative.options import DEFAULT_MAX_DRAFT
from tests.template_tokens import n_fixed, n_hole_tokens
from tests.tiny import tiny_model, tiny_tokenizer

FORM = domino.template(
    "Record 7\nname: {name};\nage: {age};\nlanguages: {languages};\nstate: {state};\nnote: {note};\nThe end of it.",
    name=domino.regex("[A-Z][a-z]{1,6}"),
    age=domino.regex("[0-9]{1,2}"),
    languages=domino.repeat(domino.choice(["English", "French", "German"]), 1, 2, separator=" and "),
    state=domino.select("open", "closed", since=domino.template("since {year}", year=domino.regex("20[0-9]{2}"))),
    note=bool,
)
LAWS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"do_sample": True, "seed": 5, "temperature": 1.2},
    "truncated": {"do_sample": True, "seed": 9, "top_k": 30},
}
PROMPTS = ["Fill the form:\n", "The quick brown fox\n", "naïve Zürich 東京\n"]


class CountingModel:
    """A model that counts its passes."""

    def __init__(self, model: Any) -> None:
        self.model, self.n_passes = model, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.n_passes += 1
        return self.model(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)


@pytest.mark.parametrize("law", LAWS)
def test_fixed_text_takes_at_most_one_pass_a_part(law: str) -> None:
    tokenizer = tiny_tokenizer()
    vocabulary = domino.compile(FORM, tokenizer, n_rows=416).vocabulary
    model = CountingModel(tiny_model())
    domino.generate(model, tokenizer, "x", FORM, speculate=True)  # a model's first call also times passes
    for prompt in PROMPTS:
        model.n_passes = 0
        result = domino.generate(model, tokenizer, prompt, FORM, speculate=True, **LAWS[law])
        assert model.n_passes == result.report.forward_passes
        assert model.n_passes <= n_hole_tokens(FORM, result, vocabulary) + n_fixed(FORM)
        assert model.n_passes < len(result.token_ids) / 2


@pytest.mark.parametrize("tokenization", ["any", "aligned", "canonical"])
@pytest.mark.parametrize("law", LAWS)
def test_drafts_and_batches_change_no_token_of_a_template(law: str, tokenization: str) -> None:
    call = {"tokenization": tokenization, **LAWS[law]}
    without = domino.generate(tiny_model(), tiny_tokenizer(), PROMPTS, FORM, speculate=False, **call)
    drafted = domino.generate(tiny_model(), tiny_tokenizer(), PROMPTS, FORM, speculate=True, **call)
    chosen = domino.generate(tiny_model(), tiny_tokenizer(), PROMPTS, FORM, **call)
    assert [r.token_ids for r in drafted] == [r.token_ids for r in chosen] == [r.token_ids for r in without]
    alone = domino.generate(tiny_model(), tiny_tokenizer(), PROMPTS[0], FORM, **call)
    assert alone.token_ids == without[0].token_ids
    for result in drafted:
        assert FORM.matches(result.text)
        value = result.value
        assert list(value) == ["name", "age", "languages", "state", "note"]
        assert isinstance(value["languages"], list) and isinstance(value["note"], bool)
        assert value["state"].alternative in ("open", "closed", "since")


def test_a_template_is_complete_within_any_budget_that_can_hold_it() -> None:
    compiled = domino.compile(FORM, tiny_tokenizer(), n_rows=416)
    least = compiled.shortest_n_tokens()
    for budget in (least, least + 1, least + 7):
        result = domino.generate(tiny_model(), tiny_tokenizer(), "x", FORM, max_new_tokens=budget)
        assert FORM.matches(result.text) and len(result.token_ids) <= budget
    with pytest.raises(domino.BudgetTooSmall):
        domino.generate(tiny_model(), tiny_tokenizer(), "x", FORM, max_new_tokens=least // 2)


def test_extract_gives_the_values_of_a_template_also_from_an_earlier_run(tmp_path: Path) -> None:
    call = {"out": tmp_path / "out.jsonl", "progress": False}
    values = domino.extract(tiny_model(), tiny_tokenizer(), ["one", "two"], FORM, **call)
    assert all(isinstance(value, dict) and isinstance(value["note"], bool) for value in values)
    assert domino.extract(tiny_model(), tiny_tokenizer(), ["one", "two"], FORM, **call) == values


def test_long_fixed_text_is_one_pass_where_drafts_may_be_that_long() -> None:
    fixed = "The quick brown fox jumps over the lazy dog; 東京 9 8 7 6 5 4 3 2 1 0 yes no. " * 2
    form = domino.template(fixed + "{a}" + fixed, a=domino.regex("[A-Z]{2}"))
    result = domino.generate(tiny_model(), tiny_tokenizer(), "x", form, speculate=True, max_draft=200)
    assert result.report.forward_passes <= 4 and len(result.token_ids) > 60


@pytest.mark.parametrize("law", LAWS)
def test_fixed_parts_of_any_length_take_one_pass_each_and_change_no_token(law: str) -> None:
    """No option is given: fixed text is determined, so the usual limit of a draft does not cut it."""
    fixed = "The quick brown fox jumps over the lazy dog; 東京 9 8 7 6 5 4 3 2 1 0 yes no. "
    form = domino.template(fixed * 2 + "{a}" + fixed + "{b}" + fixed * 3, a=domino.regex("[A-Z]{2}"), b=bool)
    vocabulary = domino.compile(form, tiny_tokenizer(), n_rows=416).vocabulary
    for prompt in PROMPTS:
        plain = domino.generate(tiny_model(), tiny_tokenizer(), prompt, form, speculate=False, **LAWS[law])
        result = domino.generate(tiny_model(), tiny_tokenizer(), prompt, form, speculate=True, **LAWS[law])
        assert result.token_ids == plain.token_ids
        assert result.report.forward_passes <= n_hole_tokens(form, result, vocabulary) + n_fixed(form)
        assert len(result.token_ids) > n_fixed(form) * 2 * DEFAULT_MAX_DRAFT
        assert set(result.value) == {"a", "b"} and isinstance(result.value["b"], bool)


def test_the_mask_of_a_template_is_forced_inside_fixed_text() -> None:
    matcher = domino.compile(FORM, tiny_tokenizer(), n_rows=416).matcher()
    assert matcher.forced_bytes() == b"Record 7\nname: "
