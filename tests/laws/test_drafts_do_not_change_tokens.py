"""Law 4: every token, reason to finish and number is the same with drafts on and off, whatever the drafts say.

Random float32 models, greedy and sampled, one row and many, full and windowed attention; drafts from the constraint and
from adversaries: all wrong, illegal, too long, past the end, right until the budget's last token, random mixtures.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest

from speculative.drafts import Draft, DraftContext, DraftSource
from speculative.loop import DecodeOptions, RowRequest, RowResult, decode
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import N_ROWS, people, random_prompt, tiny_gemma3, tiny_llama, tiny_vocabulary

VOCABULARY = tiny_vocabulary()
LANGUAGES = {
    "people": FakeCompiled(people(), VOCABULARY, determined=people()[5]),
    "words": FakeCompiled([b"red", b"green", b"greenish", b"blue", b"yes", b"no", b"nope"], VOCABULARY),
    "one": FakeCompiled([b'{"name": "Ada", "age": 123, "city": null}'], VOCABULARY),
    "free": None,
}
GREEDY: dict[str, Any] = {}
SAMPLED: dict[str, Any] = {"do_sample": True, "seed": 17, "temperature": 1.3}
TRUNCATED: dict[str, Any] = {"do_sample": True, "seed": 5, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.2}
PENALIZED: dict[str, Any] = {"repetition_penalty": 1.5, "frequency_penalty": 0.4, "presence_penalty": 0.3}
LAWS = {"greedy": GREEDY, "sampled": SAMPLED, "truncated": TRUNCATED, "penalized": PENALIZED}


@lru_cache
def model_of(name: str) -> Any:
    return {"llama": tiny_llama, "gemma": tiny_gemma3}[name]()


def requests(n: int, seed: int, budget: int = 40) -> list[RowRequest]:
    rng = random.Random(seed)
    names = list(LANGUAGES)
    return [
        RowRequest(random_prompt(rng, 1, 20), LANGUAGES[names[(index + seed) % len(names)]], index, budget, (0,))
        for index in range(n)
    ]


def outcome(results: Sequence[RowResult]) -> list[Any]:
    return [(result.token_ids, result.finish_reason) for result in results]


class Adversary:
    """Proposes what its function says of (the true continuation, the limit), known from a run without drafts."""

    name = "adversary"

    def __init__(self, truth: dict[tuple[int, ...], Sequence[int]], say: Any, seed: int = 0) -> None:
        self._truth, self._say, self._rng = truth, say, random.Random(seed)

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        truth = list(self._truth[tuple(context.prompt_ids)])[len(context.output_ids) :]
        ids = tuple(self._say(truth, limit, self._rng))
        return [Draft(self.name, ids, ("guess",) * len(ids))] if ids else []


def corrupt(truth: list[int], limit: int, rng: random.Random) -> list[int]:
    draft = truth[:limit] + [rng.randrange(N_ROWS) for _ in range(3)]
    if draft and rng.random() < 0.7:
        draft[rng.randrange(len(draft))] = rng.randrange(N_ROWS)
    return draft[: rng.randint(0, limit)]


def spoiled(draft: list[int], place: int) -> list[int]:
    """The draft with another token at one place."""
    if draft:
        draft[place] = draft[place] % (N_ROWS - 1) + 1
    return draft


ADVERSARIES = {
    "right": lambda truth, limit, rng: truth[:limit],
    "all wrong": lambda truth, limit, rng: [(t + 1) % N_ROWS for t in truth[:limit]],
    "wrong at the first place": lambda truth, limit, rng: spoiled(truth[:limit], 0),
    "wrong at the last place": lambda truth, limit, rng: spoiled(truth[:limit], -1),
    "illegal": lambda truth, limit, rng: [N_ROWS - 1] * limit,
    "no token at all": lambda truth, limit, rng: [-1, 10**9],
    "the end": lambda truth, limit, rng: [*truth[: limit - 1], 0],
    "too long": lambda truth, limit, rng: truth + truth + truth,
    "past the end": lambda truth, limit, rng: (truth + [7] * limit)[:limit],
    "random mixture": corrupt,
    "nothing": lambda truth, limit, rng: [],
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_determined_drafts_change_nothing(name: str, law: str) -> None:
    model = model_of(name)
    for seed in range(2):
        rows = requests(5, seed, budget=28)
        without = outcome(decode(model, VOCABULARY, rows, DecodeOptions(**LAWS[law], speculate=False)))
        drafted = decode(model, VOCABULARY, rows, DecodeOptions(**LAWS[law], speculate=True))
        assert outcome(drafted) == without
        assert sum(sum(result.statistics.accepted.values()) for result in drafted) > 0
        assert outcome(decode(model, VOCABULARY, rows, DecodeOptions(**LAWS[law], speculate="auto"))) == without
        single = [decode(model, VOCABULARY, [row], DecodeOptions(**LAWS[law]))[0] for row in rows]
        assert outcome(single) == without


@pytest.mark.parametrize(("name", "law"), [*(("llama", law) for law in LAWS), ("gemma", "greedy")])
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_adversarial_drafts_change_nothing(adversary: str, name: str, law: str) -> None:
    model, rows = model_of(name), requests(4, seed=len(adversary), budget=26)
    without = decode(model, VOCABULARY, rows, DecodeOptions(**LAWS[law], speculate=False))
    truth = {tuple(row.prompt_ids): result.token_ids for row, result in zip(rows, without, strict=True)}
    source: DraftSource = Adversary(truth, ADVERSARIES[adversary])
    options = DecodeOptions(**LAWS[law], speculate=True, draft_sources=(source,), max_draft=6)
    assert outcome(decode(model, VOCABULARY, rows, options)) == outcome(without)
    assert outcome([decode(model, VOCABULARY, [row], options)[0] for row in rows[:2]]) == outcome(without[:2])


class TreeAdversary:
    """Proposes several chains: the true one spoiled at random places, and the true one in some place or not at all."""

    name = "adversary"

    def __init__(self, truth: dict[tuple[int, ...], Sequence[int]], seed: int) -> None:
        self._truth, self._rng = truth, random.Random(seed)

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        truth = list(self._truth[tuple(context.prompt_ids)])[len(context.output_ids) :]
        chains = [corrupt(truth, limit, self._rng) for _ in range(self._rng.randint(0, 5))]
        if self._rng.random() < 0.5:
            chains.insert(self._rng.randint(0, len(chains)), truth[:limit])
        return [Draft(self.name, tuple(ids), ("guess",) * len(ids)) for ids in chains]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_adversarial_trees_change_nothing(name: str, law: str) -> None:
    model = model_of(name)
    for seed in range(2):
        rows = requests(5, seed=seed, budget=26)
        without = decode(model, VOCABULARY, rows, DecodeOptions(**LAWS[law], speculate=False))
        truth = {tuple(row.prompt_ids): result.token_ids for row, result in zip(rows, without, strict=True)}
        options = DecodeOptions(**LAWS[law], speculate=True, draft_sources=(TreeAdversary(truth, seed),), max_draft=16)
        drafted = decode(model, VOCABULARY, rows, options)
        assert outcome(drafted) == outcome(without)
        assert sum(result.statistics.accepted.get("adversary", 0) for result in drafted) > 0
        assert outcome([decode(model, VOCABULARY, [row], options)[0] for row in rows[:2]]) == outcome(without[:2])


@pytest.mark.parametrize("budget", [8, 9, 12, 13, 20])
def test_drafts_at_the_budgets_end_change_nothing(budget: int) -> None:
    model, rng = model_of("llama"), random.Random(budget)
    language = FakeCompiled([b"ab" * 3, b"green" * 4, b"yes, " * 7, b"red, blue, green, no, no"], VOCABULARY)
    rows = [RowRequest(random_prompt(rng), language, index, budget, (0,)) for index in range(6)]
    for law in LAWS.values():
        without = decode(model, VOCABULARY, rows, DecodeOptions(**law, speculate=False))
        truth = {tuple(row.prompt_ids): result.token_ids for row, result in zip(rows, without, strict=True)}
        for say in (ADVERSARIES["right"], ADVERSARIES["past the end"], corrupt):
            options = DecodeOptions(**law, speculate=True, draft_sources=(Adversary(truth, say),))
            assert outcome(decode(model, VOCABULARY, rows, options)) == outcome(without)
        assert all(VOCABULARY.decode(result.token_ids) in language.texts for result in without)


def test_numbers_do_not_depend_on_drafts() -> None:
    model, rows = model_of("llama"), requests(6, seed=1)
    for law in LAWS.values():
        a = decode(model, VOCABULARY, rows, DecodeOptions(**law, speculate=False, measure="full"))
        b = decode(model, VOCABULARY, rows, DecodeOptions(**law, speculate=True, measure="full"))
        for x, y in zip(a, b, strict=True):
            assert x.statistics.logprobs == pytest.approx(y.statistics.logprobs, abs=1e-3)
            assert x.statistics.legal_mass == pytest.approx(y.statistics.legal_mass, rel=1e-2)
            wanted = [(i.step, i.wanted_id, i.chosen_id) for i in x.statistics.interventions]
            assert wanted == [(i.step, i.wanted_id, i.chosen_id) for i in y.statistics.interventions]


def test_right_drafts_save_passes_and_a_determined_text_takes_one() -> None:
    model = model_of("llama")
    row = RowRequest([5, 6, 7], LANGUAGES["one"], 0, 40, (0,))
    without = decode(model, VOCABULARY, [row], DecodeOptions(speculate=False))[0]
    assert without.statistics.forward_passes == len(without.token_ids)
    source = Adversary({(5, 6, 7): without.token_ids}, ADVERSARIES["right"])
    options = DecodeOptions(speculate=True, draft_sources=(source,), max_draft=40)
    result = decode(model, VOCABULARY, [row], options)[0]
    assert result.statistics.forward_passes == 1
    assert result.statistics.accepted == {"adversary": len(result.token_ids) - 1}
