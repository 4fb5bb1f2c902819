"""A token is written anew where the constraint would split the text behind it: the rule against a plain twin of it."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.real.tokenizers import real_vocabulary
from tests.reference.table_model import TableModel
from tests.tiny import CORPUS, END
from tokenizer_align.compiled import compile_expression
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

MAX_REFUSED = 8
PERSON = domino.json_schema(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "maximum": 130}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
    whitespace="compact",
)
CONSTRAINTS = {
    "object": PERSON,
    "list": domino.regex(r'\{"words":\["[a-z .]{1,6}"(,"[a-z .]{1,6}")?\]\}'),
    "choice": domino.choice(['{"age":36}', '{"age":"36"}', '{"name":"Ada"}', "The quick brown fox"]),
}
PROMPTS = ["Say:\n", "x ", "The quick ", '{"name": "Ada", ']
COMPACT = ['{"name":"Ada","age":36}', '{"words":["fox","dog"],"age":"36"}', '{"name":".NET"}']
SPACED = ['{"name": "Ada", "age": 36}', '{"words": ["fox", "dog"], "age": "36"}', '{\n  "name": "Ada"\n}']


@cache
def tokenizer_of() -> Any:
    """Byte-level BPE that has tokens of compact and of spaced JSON."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator((COMPACT + SPACED + CORPUS) * 4, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END)


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.from_tokenizer(tokenizer_of())


@cache
def model_of(seed: int) -> TableModel:
    """A model that has read much spaced JSON and a little compact one: what followed a token there is likely, even
    without its blank, and the rest is noise."""
    n_rows, data = vocabulary().n_rows, vocabulary().token_bytes
    followers = np.zeros((n_rows, n_rows))
    for text, weight in [*((text, 4.0) for text in SPACED), *((text, 2.0) for text in COMPACT)]:
        ids = [*tokenizer_of()(text)["input_ids"], *vocabulary().eos_token_ids]
        for one, other in pairwise(ids):
            followers[one, other] = max(followers[one, other], weight)
            bare = vocabulary().ids_by_bytes.get((data[other] or b"").lstrip())
            if bare:
                followers[one, bare[0]] = max(followers[one, bare[0]], weight - 1.5)

    def table(ids: tuple[int, ...]) -> Any:
        rng = np.random.default_rng([seed, *ids[-3:]])
        scores = followers[ids[-1]] + 0.5 * rng.normal(size=n_rows)
        return scores - np.log(np.exp(scores).sum())

    return TableModel(table, n_rows)


def logprobs_after(model: TableModel, ids: list[int]) -> Any:
    return np.asarray(model.table(tuple(ids)))


def run(seed: int, prompts: list[str], constraint: Any, law: str = "aligned", **options: Any) -> list[Any]:
    compiled = compile_expression(constraint.expression, vocabulary(), law)
    rows = [
        RowRequest(tokenizer_of()(prompt)["input_ids"], compiled, row=i, max_new_tokens=80)
        for i, prompt in enumerate(prompts)
    ]
    return decode(model_of(seed), vocabulary(), rows, DecodeOptions(**options))


def best(logprobs: Any, matcher: Matcher, refused: set[int]) -> int | None:
    legal = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little", count=vocabulary().n_rows).astype(np.bool_)
    legal[list(refused)] = False
    return int(np.where(legal, logprobs, -np.inf).argmax()) if legal.any() else None


def plain_greedy(model: Any, constraint: Any, prompt: list[int]) -> tuple[list[int], int]:
    """(tokens, how many were taken back), without a cache, drafts or batches."""
    matcher = compile_expression(constraint.expression, vocabulary(), "aligned").matcher(prompt)
    ends, ids, seen, n_back = set(vocabulary().eos_token_ids), [], [], 0
    refused: dict[int, set[int]] = {}
    while matcher.can_continue():
        logprobs = logprobs_after(model, [*prompt, *ids])
        token = best(logprobs, matcher, set())
        assert token is not None
        if token in ends:
            break
        matcher.advance(token)
        if ids and int(logprobs.argmax()) != token and matcher.is_split():
            at = len(ids) - 1
            worse = refused.get(at, set()) | {ids[-1]}
            matcher.rollback(2)
            other = best(seen[-1], matcher, worse | ends)
            if len(worse) <= MAX_REFUSED and other is not None:
                matcher.advance(other)
                if seen[-1][other] > seen[-1][ids[-1]] + logprobs[token] and not matcher.is_split():
                    refused[at], ids[-1], n_back = worse, other, n_back + 1
                    continue
                matcher.rollback(1)
            matcher.advance(ids[-1])
            matcher.advance(token)
        ids.append(token)
        seen.append(logprobs)
    return ids, n_back


@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
def test_greedy_outputs_are_those_of_the_twin_with_drafts_and_without(name: str) -> None:
    constraint, n_taken_back = CONSTRAINTS[name], 0
    for seed in range(4):
        expected = [plain_greedy(model_of(seed), constraint, tokenizer_of()(prompt)["input_ids"]) for prompt in PROMPTS]
        for options in ({"speculate": True}, {"speculate": False}, {"measure": "full"}):
            together = run(seed, PROMPTS, constraint, **options)
            alone = [run(seed, [prompt], constraint, **options)[0] for prompt in PROMPTS]
            for (ids, n_back), *found in zip(expected, together, alone, strict=True):
                for one in found:
                    assert list(one.token_ids) == ids
                    assert one.statistics.n_taken_back == n_back
                    assert constraint.matches(vocabulary().decode(one.token_ids))
        n_taken_back += sum(n for _, n in expected)
    assert n_taken_back >= 4 or name != "object"


def test_exact_takes_nothing_back() -> None:
    """Whether to take back may hang on two scores that passes of different widths put in different orders."""
    for seed in range(4):
        with_drafts, without = (run(seed, PROMPTS, PERSON, exact=True, speculate=drafts) for drafts in (True, False))
        for one, other in zip(with_drafts, without, strict=True):
            assert one.token_ids == other.token_ids
            assert one.statistics.n_taken_back == other.statistics.n_taken_back == 0


def test_the_numbers_are_those_of_what_stays() -> None:
    for seed in range(4):
        for found in run(seed, PROMPTS, PERSON, measure="full"):
            numbers = found.statistics
            n_bytes = len(vocabulary().decode(found.token_ids))
            assert (numbers.n_tokens, numbers.n_bytes) == (len(found.token_ids), n_bytes)
            assert len(numbers.logprobs) == len(numbers.model_logprobs) == len(numbers.legal_mass)
            steps = [one.step for one in numbers.interventions]
            assert steps == sorted(set(steps))
            for one in numbers.interventions:
                if one.step < len(found.token_ids):
                    assert one.chosen_id == found.token_ids[one.step]
                    assert one.chosen_logprob == numbers.logprobs[one.step]


def test_what_is_shown_as_it_goes_stays() -> None:
    compiled = compile_expression(PERSON.expression, vocabulary(), "aligned")
    rows = [RowRequest(tokenizer_of()(prompt)["input_ids"], compiled, max_new_tokens=80) for prompt in PROMPTS]
    shown: dict[int, list[int]] = {i: [] for i in range(len(rows))}
    results = decode(model_of(0), vocabulary(), rows, DecodeOptions(), on_tokens=lambda i, ids: shown[i].extend(ids))
    assert sum(result.statistics.n_taken_back for result in results) > 0
    assert [shown[i] for i in range(len(rows))] == [list(result.token_ids) for result in results]


def test_sampled_and_penalized_texts_and_other_laws_take_nothing_back() -> None:
    for law, options in (
        ("aligned", {"do_sample": True}),
        ("aligned", {"repetition_penalty": 1.1}),
        ("any", {}),
        ("canonical", {}),
    ):
        for found in run(0, PROMPTS, PERSON, law, **options):
            assert found.statistics.n_taken_back == 0


def test_the_tokenizers_own_tokens_are_never_called_split() -> None:
    known = real_vocabulary("smollm2")
    assert known.encode is not None
    compiled = compile_expression(domino.regex("(?s).*").expression, known, "aligned")
    for text in (
        '{"name":".NET","age":3}',
        '{\n  "a": [1, 22, "x"]\n}',
        "It's 1843:  naïve 東京 😀\n\n\tend",
        "\n\n \n",
    ):
        matcher = compiled.matcher()
        for token in known.encode(text):
            matcher.advance(token)
            assert not matcher.is_split()


@pytest.mark.parametrize(
    ("tokens", "is_split"),
    [(('":', '"'), True), (('":', '".'), False), (('":', ' "'), False), (("{", '"'), True), (("foo", "bar"), False)],
)
def test_neighbours_that_the_tokenizer_never_writes_are_split(tokens: tuple[str, str], is_split: bool) -> None:
    known = real_vocabulary("smollm2")
    compiled = compile_expression(domino.regex("(?s).*").expression, known, "aligned")
    matcher = compiled.matcher()
    for text in tokens:
        matcher.advance(known.ids_by_bytes[text.encode()][0])
    assert matcher.is_split() == is_split
