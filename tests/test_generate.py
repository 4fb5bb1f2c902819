"""`generate`: what it takes, what it gives, and that everything wrong is found before the model runs."""

from __future__ import annotations

import pickle
import random
from typing import Any, Literal

import pytest

import domino_py as domino
from tests.tiny import END, tiny_model, tiny_tokenizer


class CountingModel:
    """A model that counts its passes; everything else is the real one's."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.n_passes = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.n_passes += 1
        return self.model(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)


@pytest.fixture
def model() -> CountingModel:
    return CountingModel(tiny_model())


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


def run(model: Any, tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
    return domino.generate(model, tokenizer, *args, **kwargs)


def test_text_is_legal_and_value_is_what_it_stands_for(model: Any, tokenizer: Any) -> None:
    result = run(model, tokenizer, "The quick", domino.regex("[0-9]{3}"))
    assert len(result.text) == 3
    assert result.text.isdigit()
    assert result.value == result.text
    assert run(model, tokenizer, "x", {"type": "integer", "minimum": 5, "maximum": 9}).value in range(5, 10)
    assert run(model, tokenizer, "x", Literal["a", "b"]).value in ("a", "b")
    assert run(model, tokenizer, "x", int, max_new_tokens=30).value.__class__ is int


def test_tokens_are_those_of_the_text(model: Any, tokenizer: Any) -> None:
    result = run(model, tokenizer, "The quick", domino.choice(["yes", "no"]))
    assert tokenizer.decode(result.token_ids) == result.text
    assert result.prompt_n_tokens == len(tokenizer("The quick")["input_ids"])
    assert result.finish_reason == "complete"


def test_no_pass_is_spent_on_an_end_that_must_come(model: Any, tokenizer: Any) -> None:
    result = run(model, tokenizer, "The quick", domino.choice(["a"]), speculate=False)
    assert (result.text, model.n_passes) == ("a", 1)


def test_free_text_is_what_transformers_generates(model: Any, tokenizer: Any) -> None:
    ids = tokenizer("The quick", return_tensors="pt")["input_ids"]
    theirs = model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :].tolist()
    ours = list(run(model, tokenizer, "The quick", max_new_tokens=12).token_ids)
    assert ours == [token for token in theirs if token != tokenizer.eos_token_id]


def test_text_is_complete_within_any_budget_that_can_hold_it(model: Any, tokenizer: Any) -> None:
    constraint = domino.json()
    for budget in (2, 3, 5, 9, 30):
        result = run(model, tokenizer, "{", constraint, max_new_tokens=budget)
        assert constraint.matches(result.text)
        assert len(result.token_ids) <= budget


def test_a_list_of_prompts_gives_a_list_and_each_row_is_as_if_alone(model: Any, tokenizer: Any) -> None:
    constraint = domino.json()
    prompts = ["The quick", "no", "Zürich 東京 and a much longer prompt"]
    together = run(model, tokenizer, prompts, constraint, max_new_tokens=24)
    assert [r.token_ids for r in together] == [
        run(model, tokenizer, prompt, constraint, max_new_tokens=24).token_ids for prompt in prompts
    ]
    assert run(model, tokenizer, [], constraint) == []
    assert len(run(model, tokenizer, ["a"], constraint, max_new_tokens=8)) == 1


def test_each_row_may_have_its_own_constraint(model: Any, tokenizer: Any) -> None:
    asked = [domino.regex("[0-9]"), None, bool]
    digit, free, truth = run(model, tokenizer, ["a", "b", "c"], asked, max_new_tokens=8)
    assert digit.text.isdigit()
    assert free.report.law == "model"
    assert truth.value in (True, False)


def test_the_split_into_batches_changes_nothing(model: Any, tokenizer: Any) -> None:
    prompts = ["a", "bb", "ccc", "d d d d", "e"]
    options: dict[str, Any] = {"max_new_tokens": 12, "do_sample": True, "seed": 3}
    whole = run(model, tokenizer, prompts, domino.json(), **options)
    split = run(model, tokenizer, prompts, domino.json(), batch_size=2, **options)
    assert [r.token_ids for r in whole] == [r.token_ids for r in split]


def test_the_same_seed_gives_the_same_texts_and_the_report_names_it(model: Any, tokenizer: Any) -> None:
    constraint = domino.regex("[a-z]{8}")
    one = run(model, tokenizer, "x", constraint, do_sample=True)
    assert one.report.seed is not None
    again = run(model, tokenizer, "x", constraint, do_sample=True, seed=one.report.seed)
    assert again.token_ids == one.token_ids
    texts = {run(model, tokenizer, "x", constraint, do_sample=True, seed=seed).text for seed in range(6)}
    assert len(texts) > 1


def test_several_sequences_come_prompt_by_prompt(model: Any, tokenizer: Any) -> None:
    options: dict[str, Any] = {"do_sample": True, "num_return_sequences": 3, "seed": 0, "max_new_tokens": 12}
    alone = run(model, tokenizer, "x", domino.regex("[a-z]{6}"), **options)
    assert len(alone) == 3
    both = run(model, tokenizer, ["x", "y"], domino.regex("[a-z]{6}"), **options)
    assert len(both) == 6
    assert [r.token_ids for r in both[:3]] == [r.token_ids for r in alone]


def test_drafts_change_no_token(model: Any, tokenizer: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"action": {"enum": ["approve", "reject"]}, "score": {"enum": ["low", "high"]}},
        "required": ["action", "score"],
        "additionalProperties": False,
    }
    for seed in range(5):
        for sampled in (False, True):
            options: dict[str, Any] = {"do_sample": sampled, "seed": seed, "max_new_tokens": 60}
            on = run(model, tokenizer, f"Seed {seed}: ", schema, speculate=True, **options)
            off = run(model, tokenizer, f"Seed {seed}: ", schema, speculate=False, **options)
            assert on.token_ids == off.token_ids
            assert off.report.n_drafted == 0


def test_the_callers_end_id_ends_free_text(model: Any, tokenizer: Any) -> None:
    free = run(model, tokenizer, "The quick", max_new_tokens=10)
    assert free.finish_reason == "length"
    ended = run(model, tokenizer, "The quick", max_new_tokens=10, eos_token_id=free.token_ids[4])
    assert ended.token_ids == free.token_ids[: free.token_ids.index(free.token_ids[4])]
    assert ended.finish_reason == "stop"


def test_result_and_report_can_be_pickled(model: Any, tokenizer: Any) -> None:
    result = run(model, tokenizer, "x", bool)
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.value == result.value


def test_full_measure_gives_the_gap_and_the_tax(model: Any, tokenizer: Any) -> None:
    light = run(model, tokenizer, "x", domino.regex("[a-z]{6}")).report
    full = run(model, tokenizer, "x", domino.regex("[a-z]{6}"), measure="full").report
    assert light.alignment_gap == (None if light.noncanonical_tokens else 0.0)
    assert light.measure_alignment() == pytest.approx(full.alignment_gap, abs=1e-3)
    assert full.projection_tax == pytest.approx(-full.log_weight)
    assert light.projection_tax_low <= full.projection_tax + 1e-4
    assert full.projection_tax <= light.projection_tax_high + 1e-4
    assert full.logprob <= full.log_weight + 1e-4


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("x", "[0-9]+"), {}, domino.InvalidOption, r"regex\('\[0-9\]\+'\)"),
        (("x", ["yes", "no"]), {}, domino.InvalidOption, "choice"),
        (("x", 5), {}, domino.InvalidOption, "not int"),
        (("x", b"[0-9]"), {}, domino.InvalidOption, "is bytes"),
        (("x", domino.repeat(domino.regex("a"), 10**9)), {}, domino.ConstraintError, "no model writes so much"),
        (("x", [int]), {}, domino.InvalidOption, "a list needs one prompt"),
        ((["x", "y"], [int]), {}, domino.InvalidOption, "list of 1, but there are 2 prompts"),
        ((["x", "y"], [int, "a"]), {}, domino.InvalidOption, r"constraint\[1\]"),
        (("x", int), {"temprature": 1.0}, domino.InvalidOption, "temperature"),
        (("x", int), {"num_beams": 4}, domino.InvalidOption, "not offered"),
        (("x", int), {"tokenization": "anny"}, domino.InvalidOption, "any"),
        (("", int), {}, domino.InvalidOption, "no tokens"),
        (([999], int), {}, domino.InvalidOption, "999"),
        (("x" * 2000, int), {}, domino.InvalidOption, "context is 512 tokens"),
        (("x", int), {"max_new_tokens": 600}, domino.InvalidOption, "max_new_tokens=511 or less"),
        (("x", {"type": "integer", "minimum": 3, "maximum": 2}), {}, domino.ConstraintError, "integer"),
        (("x", {"type": "strong"}), {}, domino.ConstraintError, "strong"),
        (("x", domino.regex("a" * 50)), {"max_new_tokens": 10}, domino.BudgetTooSmall, "needs 50 tokens"),
    ],
)
def test_everything_wrong_is_found_before_the_model_runs(
    model: Any, tokenizer: Any, arguments: Any, options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run(model, tokenizer, *arguments, **options)
    assert model.n_passes == 0


@pytest.mark.parametrize("thing", [None, "gpt2", 5, tiny_tokenizer()])
def test_what_is_no_model_is_refused_by_name(tokenizer: Any, thing: Any) -> None:
    with pytest.raises(domino.InvalidOption, match="model must be"):
        run(thing, tokenizer, "x", int)
    with pytest.raises(domino.InvalidOption, match="model must be"):
        domino.extract(thing, tokenizer, "x", int)


def test_one_end_id_is_as_good_as_a_list(tokenizer: Any) -> None:
    """Regression: an integer raised TypeError."""
    assert domino.compile(domino.json(), tokenizer, eos_token_ids=5).eos_token_ids == {0, 5}


def test_a_long_shortest_text_is_shown_in_part(model: Any, tokenizer: Any) -> None:
    with pytest.raises(domino.BudgetTooSmall) as caught:
        run(model, tokenizer, "x", domino.regex("a{5000}"), max_new_tokens=10)
    assert caught.value.shortest_text == "a" * 5000
    assert len(str(caught.value)) < 300


def test_a_vocabulary_that_cannot_write_the_constraint_is_an_error(model: Any) -> None:
    vocabulary = domino.Vocabulary.from_bytes([b"a", b"b", None], eos_token_ids=(2,))
    with pytest.raises(domino.EmptyLanguage):
        domino.compile(domino.regex("c+"), vocabulary)


def test_special_tokens_never_appear_in_a_constrained_text(model: Any, tokenizer: Any) -> None:
    for seed in range(4):
        result = run(model, tokenizer, "x", domino.regex(r"(?s).{1,30}"), do_sample=True, seed=seed)
        assert not set(result.token_ids) & set(tokenizer.all_special_ids)
    assert END not in result.text


def test_what_is_legal_near_a_limit_does_not_depend_on_what_was_asked_before(tokenizer: Any) -> None:
    """Regression: how soon a text can be completed was learned on the way; drafts and earlier calls changed texts."""
    properties = {"action": {"enum": ["approve", "reject"]}, "score": {"enum": ["low", "high"]}, "n": {"type": "array"}}
    expression = domino.json_schema({"type": "object", "properties": properties, "required": [*properties]}).expression
    vocabulary = domino.Vocabulary.from_tokenizer(tokenizer)
    learned = domino.Compiled(expression, vocabulary)
    for seed in range(6):
        draw = random.Random(seed)
        asked, unasked = learned.matcher(), domino.Compiled(expression, vocabulary).matcher()
        budget = asked.min_tokens() + 12
        while not asked.is_complete():
            token = draw.choice(learned.ids(asked.mask_within(budget)))
            asked.advance(token)
            unasked.advance(token)
            budget -= 1
            if draw.random() < 0.2:
                assert unasked.min_tokens() == asked.min_tokens() <= budget
                assert unasked.mask_within(budget).tolist() == asked.mask_within(budget).tolist()


def test_compiled_constraints_are_shared_by_equal_constraints(tokenizer: Any) -> None:
    one = domino.compile(domino.regex("[0-9]+x"), tokenizer)
    assert domino.compile(domino.regex("[0-9]+x"), tokenizer) is one
    assert domino.compile(domino.regex("[0-9]+y"), tokenizer) is not one


def test_compiled_cache_is_bounded_and_counts(tokenizer: Any) -> None:
    from domino_py.compilation import CompiledCache

    cache = CompiledCache(capacity=2)
    vocabulary = domino.Vocabulary.from_tokenizer(tokenizer)
    for pattern in ("a", "b", "a", "c", "b"):
        cache.get(domino.regex(pattern), vocabulary, "any")
    assert (cache.counts.hits, cache.counts.misses, cache.counts.evictions) == (1, 4, 2)


def test_tokens_added_later_are_seen() -> None:
    import copy

    tokenizer = copy.deepcopy(tiny_tokenizer())
    before = domino.Vocabulary.from_tokenizer(tokenizer)
    tokenizer.add_tokens(["<extra>"])
    assert "<extra>" not in before.added
    assert "<extra>" in domino.Vocabulary.from_tokenizer(tokenizer).added
