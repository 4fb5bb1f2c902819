"""What the decode loop does around a choice: ends, budgets, batches, streaming, errors."""

from __future__ import annotations

import inspect
import math
import random
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from speculative.loop import DecodeOptions, RowRequest, decode, score
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.table_model import TableModel
from tests.reference.tiny_models import N_ROWS, people, random_prompt, tiny_llama, tiny_vocabulary
from tokenizer_align.errors import BudgetTooSmall, DominoError, VocabularyError
from tokenizer_align.vocabulary import Vocabulary

VOCABULARY = tiny_vocabulary()
MODEL = tiny_llama()
PEOPLE = FakeCompiled(people(), VOCABULARY)


def generated(model: Any, prompt: list[int], n: int, **options: Any) -> list[int]:
    ids = model.generate(
        torch.tensor([prompt]), max_new_tokens=n, do_sample=False, eos_token_id=None, pad_token_id=0, **options
    )
    return list(ids[0, len(prompt) :].tolist())


def test_free_greedy_text_is_what_transformers_generates() -> None:
    rng = random.Random(0)
    prompts = [random_prompt(rng) for _ in range(4)]
    rows = [RowRequest(prompt, None, 0, 30, ()) for prompt in prompts]
    results = decode(MODEL, VOCABULARY, rows)
    assert [list(r.token_ids) for r in results] == [generated(MODEL, prompt, 30) for prompt in prompts]
    assert {r.finish_reason for r in results} == {"length"}


def test_penalized_greedy_text_is_what_transformers_generates() -> None:
    prompt = random_prompt(random.Random(1))
    result = decode(MODEL, VOCABULARY, [RowRequest(prompt, None, 0, 30, ())], DecodeOptions(repetition_penalty=1.4))[0]
    assert list(result.token_ids) == generated(MODEL, prompt, 30, repetition_penalty=1.4)


def test_rows_of_a_batch_equal_single_rows() -> None:
    rng = random.Random(2)
    compiled = [PEOPLE, None, FakeCompiled([b"red", b"green"], VOCABULARY), PEOPLE]
    for options in (DecodeOptions(), DecodeOptions(do_sample=True, seed=3), DecodeOptions(speculate=False)):
        rows = [
            RowRequest(random_prompt(rng, 1, 40), compiled[i % 4], i, 10 + 3 * i if i % 4 == 1 else 40, (0,))
            for i in range(8)
        ]
        together = decode(MODEL, VOCABULARY, rows, options)
        alone = [decode(MODEL, VOCABULARY, [row], options)[0] for row in rows]
        assert [r.token_ids for r in together] == [r.token_ids for r in alone]
        assert [r.finish_reason for r in together] == [r.finish_reason for r in alone]


def test_the_same_row_key_gives_the_same_sample_in_any_place_of_a_batch() -> None:
    rows = [RowRequest([5, 6, 7], None, key, 12, ()) for key in (4, 9, 4)]
    a, b, c = decode(MODEL, VOCABULARY, rows, DecodeOptions(do_sample=True, seed=1))
    assert a.token_ids == c.token_ids != b.token_ids


def test_one_compiled_constraint_serves_many_calls() -> None:
    row = RowRequest([5, 6, 7], PEOPLE, 0, 40, (0,))
    assert len({decode(MODEL, VOCABULARY, [row])[0].token_ids for _ in range(3)}) == 1


def test_no_rows_give_no_results() -> None:
    assert decode(MODEL, VOCABULARY, []) == []


# How texts end -------------------------------------------------------------------------------------------------------


def preferring(*texts: bytes) -> Any:
    """A model that wants to write one text after another, byte by byte, then to end; ids as in `small_vocabulary`."""

    def predict(prefix: tuple[int, ...]) -> list[float]:
        row = [-8.0] * 257
        written = bytes(max(t - 1, 0) for t in prefix[1:])
        for rank, text in enumerate(texts):
            if text.startswith(written):
                row[text[len(written)] + 1 if len(text) > len(written) else 0] = 8.0 - rank
        return row

    return TableModel(predict, 257)


def small_vocabulary(eos: tuple[int, ...] = (0,)) -> Vocabulary:
    table = [None, *(bytes([b]) for b in range(256))]
    return Vocabulary.from_bytes(table, eos_token_ids=eos, encode=lambda text: [b + 1 for b in text.encode()])


def write(model: Any, texts: list[bytes] | None, budget: int = 30, eos: tuple[int, ...] = (0,), **options: Any) -> Any:
    vocabulary = small_vocabulary()
    compiled = None if texts is None else FakeCompiled(texts, vocabulary)
    result = decode(model, vocabulary, [RowRequest([1], compiled, 0, budget, eos)], DecodeOptions(**options))[0]
    return vocabulary.decode(result.token_ids), result.finish_reason, result.statistics


def test_a_chosen_end_stops_and_is_not_part_of_the_output() -> None:
    text, reason, numbers = write(preferring(b"no"), [b"no", b"nope"])
    assert (text, reason) == (b"no", "stop")
    assert numbers.n_tokens == 2
    assert numbers.n_steps == 3
    assert numbers.end_logprob is not None


def test_a_text_after_which_nothing_may_follow_ends_without_another_pass() -> None:
    model = preferring(b"nope")
    text, reason, numbers = write(model, [b"no", b"nope"], speculate=False)
    assert (text, reason) == (b"nope", "complete")
    assert numbers.forward_passes == len(model.widths) == 4
    assert numbers.end_logprob is None


def test_free_text_stops_at_the_end_id_of_the_request_only() -> None:
    assert write(preferring(b"hello"), None)[:2] == (b"hello", "stop")
    text, reason, _ = write(preferring(b"hello"), None, budget=9, eos=())
    assert (text[:5], reason) == (b"hello", "length")


def test_an_end_id_that_the_vocabulary_does_not_know_ends_complete_texts_only() -> None:
    # The caller ends at "!" (id 34); inside the constraint's texts it is no ordinary character any more.
    model = preferring(b"ab!cd")
    assert write(model, [b"ab!cd", b"abx"], eos=(0, 34))[:2] == (b"abx", "complete")
    assert write(model, [b"ab", b"ab!cd", b"abx"], eos=(0, 34))[:2] == (b"ab", "stop")


def test_a_budget_below_the_shortest_text_is_refused_before_any_pass() -> None:
    model = preferring(b"hello")
    with pytest.raises(BudgetTooSmall) as caught:
        write(model, [b"hello", b"help me"], budget=4)
    assert (caught.value.max_new_tokens, caught.value.shortest_tokens, caught.value.shortest_text) == (4, 5, "hello")
    assert model.widths == []


@pytest.mark.parametrize("budget", range(5, 14))
@pytest.mark.parametrize("measure", ["light", "full"])
def test_the_text_is_complete_whatever_the_budget(budget: int, measure: str) -> None:
    texts = [b"hello", b"hello, hello", b"hello, hello, hello"]
    text, reason, numbers = write(preferring(texts[2]), texts, budget=budget, measure=measure)
    assert text in texts
    assert numbers.n_tokens <= budget
    assert reason == ("length" if len(text) == budget else "stop")
    if len(text) < budget:
        assert numbers.interventions[-1].because == "budget"


def test_closing_in_time_takes_the_models_best_way_that_fits() -> None:
    texts = [b"aaaaaaaa", b"ab", b"ac", b"aad"]
    assert write(preferring(b"aaaaaaaa", b"aad", b"ac"), texts, budget=3)[0] == b"aad"
    assert write(preferring(b"aaaaaaaa", b"aad", b"ac"), texts, budget=2)[0] == b"ac"


def test_no_tokens_are_written_where_none_are_asked_for() -> None:
    assert write(preferring(b"x"), None, budget=0)[:2] == (b"", "length")
    assert write(preferring(b"x"), [b"", b"x"], budget=0)[:2] == (b"", "length")


def test_the_empty_text_alone_takes_no_pass() -> None:
    model = preferring(b"x")
    assert write(model, [b""])[:2] == (b"", "complete")
    assert model.widths == []


# Streaming -----------------------------------------------------------------------------------------------------------


def test_streamed_tokens_add_up_to_the_result() -> None:
    rng = random.Random(5)
    rows = [RowRequest(random_prompt(rng), PEOPLE if i % 2 else None, i, 30, (0,)) for i in range(4)]
    streamed: dict[int, list[int]] = {i: [] for i in range(4)}

    def take(row: int, ids: list[int]) -> None:
        assert ids
        streamed[row] += ids

    results = decode(MODEL, VOCABULARY, rows, DecodeOptions(speculate=True), take)
    assert [tuple(streamed[i]) for i in range(4)] == [tuple(r.token_ids) for r in results]


def test_finished_rows_are_handed_over_at_once() -> None:
    rows = [RowRequest([5, 6], None, 0, 3, ()), RowRequest([5, 6], None, 1, 9, ()), RowRequest([5, 6], None, 2, 6, ())]
    finished: list[tuple[int, Any]] = []
    results = decode(MODEL, VOCABULARY, rows, on_finish=lambda row, result: finished.append((row, result.token_ids)))
    assert finished == [(i, results[i].token_ids) for i in (0, 2, 1)]


def test_an_error_in_the_callback_reaches_the_caller() -> None:
    def stop(row: int, ids: list[int]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decode(MODEL, VOCABULARY, [RowRequest([5], None, 0, 5, ())], on_tokens=stop)


# What is refused -----------------------------------------------------------------------------------------------------


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(DominoError, match="prompt of row 1"):
        decode(MODEL, VOCABULARY, [RowRequest([5]), RowRequest([])])


def test_a_vocabulary_of_another_size_is_refused_before_any_pass() -> None:
    with pytest.raises(VocabularyError, match=f"257 rows.*{N_ROWS}"):
        decode(MODEL, small_vocabulary(), [RowRequest([5])])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("sampled", [False, True])
def test_logits_that_are_not_finite_are_an_error_that_says_where(bad: float, sampled: bool) -> None:
    def predict(prefix: tuple[int, ...]) -> list[float]:
        return [0.0] * 257 if len(prefix) < 4 else [bad] * 257

    options = DecodeOptions(do_sample=sampled)
    with pytest.raises(DominoError, match="position 3 are not finite"):
        decode(TableModel(predict, 257), small_vocabulary(), [RowRequest([1], None, 0, 9, ())], options)


def test_one_logit_that_is_not_a_number_is_noticed() -> None:
    model = TableModel(lambda prefix: [0.0] * 100 + [math.nan] + [0.0] * 156, 257)
    with pytest.raises(DominoError, match="not finite"):
        decode(model, small_vocabulary(), [RowRequest([1], None, 0, 9, ())])


def test_impossible_tokens_are_fine_as_long_as_one_is_possible() -> None:
    model = TableModel(lambda prefix: [-math.inf] * 66 + [0.0] + [-math.inf] * 190, 257)
    assert write(model, None, budget=3, eos=())[0] == b"AAA"
    assert write(model, [b"xy"], budget=3)[0] == b"xy"  # all legal ones are impossible: any of them, but legal


def test_an_encoder_decoder_model_is_refused() -> None:
    model = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=True))
    with pytest.raises(DominoError, match="encoder-decoder"):
        decode(model, VOCABULARY, [RowRequest([5])])


# Models --------------------------------------------------------------------------------------------------------------


def test_training_mode_is_left_as_it_was_and_dropout_does_not_act() -> None:
    model = tiny_llama(attention_dropout=0.5)
    expected = decode(model, VOCABULARY, [RowRequest([5, 6], None, 0, 12, ())])[0].token_ids
    model.train()
    assert decode(model, VOCABULARY, [RowRequest([5, 6], None, 0, 12, ())])[0].token_ids == expected
    assert model.training


class OldNames(torch.nn.Module):
    """A model as transformers before 5.24 had them: the cache is called `past_key_values`."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.config, self.dtype = inner.config, inner.dtype

    def get_input_embeddings(self) -> Any:
        return self.inner.get_input_embeddings()

    def get_output_embeddings(self) -> Any:
        return self.inner.get_output_embeddings()

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: Any = None,
    ) -> Any:
        name = "cache" if "cache" in inspect.signature(self.inner.forward).parameters else "past_key_values"
        return self.inner(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            use_cache=use_cache,
            **{name: past_key_values},
        )


def test_the_caches_old_name_and_models_that_keep_all_logits_work() -> None:
    rng = random.Random(3)
    rows = [RowRequest(random_prompt(rng), PEOPLE, i, 40, (0,)) for i in range(3)]
    expected = [r.token_ids for r in decode(MODEL, VOCABULARY, rows)]
    assert [r.token_ids for r in decode(OldNames(MODEL), VOCABULARY, rows)] == expected


def test_threads_may_share_model_constraint_and_what_was_learned() -> None:
    rng = random.Random(6)
    rows = [RowRequest(random_prompt(rng), PEOPLE, i, 40, (0,)) for i in range(6)]
    expected = [decode(MODEL, VOCABULARY, [row])[0].token_ids for row in rows]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda row: decode(MODEL, VOCABULARY, [row])[0].token_ids, rows * 4))
    assert results == expected * 4


def test_half_precision_runs_and_keeps_to_the_constraint() -> None:
    model = tiny_llama().to(torch.bfloat16)
    for exact in (False, True):
        rows = [RowRequest([5, 6, i], PEOPLE, i, 40, (0,)) for i in range(4)]
        results = decode(model, VOCABULARY, rows, DecodeOptions(exact=exact, speculate=True))
        assert all(VOCABULARY.decode(r.token_ids) in PEOPLE.texts for r in results)


def test_exact_decides_near_ties_in_a_pass_of_one_token() -> None:
    # Every second step is an exact tie, so it is decided again, alone.
    def predict(prefix: tuple[int, ...]) -> list[float]:
        row = [-9.0] * 257
        row[98], row[99] = 1.0, 1.0 if len(prefix) % 2 else 0.0
        return row

    model = TableModel(predict, 257)
    texts = [bytes(t) for t in ([97, 97, 97, 97, 97, 97], [97, 98, 97, 97, 97, 97])]
    text, _, numbers = write(model, texts, exact=True, speculate=True)
    assert text == texts[0]
    assert numbers.n_redecided > 0
    assert write(model, texts, exact=True, speculate=False)[0] == text
    assert write(model, texts)[0] == text


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "top_k": 3, "seed": 1, "temperature": 1e-6}])
def test_exact_decides_near_ties_of_what_is_legal_where_the_model_wants_something_else(options: dict[str, Any]) -> None:
    # The best token by far is never legal, so the tie of the next two is what decides.
    def predict(prefix: tuple[int, ...]) -> list[float]:
        row = [-9.0] * 257
        row[120], row[98], row[99] = 5.0, 1.0, 0.0 if len(prefix) % 2 else 1.0
        return row

    model = TableModel(predict, 257)
    texts = [bytes(t) for t in ([97, 97, 97, 97, 97, 97], [97, 98, 97, 97, 97, 97])]
    text, _, numbers = write(model, texts, exact=True, speculate=True, **options)
    assert numbers.n_redecided > 0
    assert write(model, texts, exact=True, speculate=False, **options)[0] == text
    assert write(model, texts, **options)[0] == text


# Scoring -------------------------------------------------------------------------------------------------------------


def test_score_gives_log_softmax_of_the_model() -> None:
    rng = random.Random(8)
    prompt, ids = random_prompt(rng), [rng.randrange(1, 257) for _ in range(20)]
    with torch.no_grad():
        logits = MODEL(torch.tensor([prompt + ids])).logits[0].log_softmax(-1)
    expected = [float(logits[len(prompt) - 1 + i, token]) for i, token in enumerate(ids)]
    assert score(MODEL, prompt, ids) == pytest.approx(expected, abs=1e-4)
    assert score(MODEL, prompt, []) == []


def test_score_of_a_long_text_is_the_same_in_chunks() -> None:
    rng = random.Random(9)
    ids = [rng.randrange(1, 257) for _ in range(600)]
    with torch.no_grad():
        logits = MODEL(torch.tensor([[5, *ids]])).logits[0].log_softmax(-1)
    expected = [float(logits[i, token]) for i, token in enumerate(ids)]
    assert score(MODEL, [5], ids) == pytest.approx(expected, abs=1e-3)


def test_score_agrees_with_the_numbers_of_decoding() -> None:
    for options in (DecodeOptions(), DecodeOptions(do_sample=True, temperature=0.7, repetition_penalty=1.3)):
        result = decode(MODEL, VOCABULARY, [RowRequest([5, 6, 7], PEOPLE, 0, 40, (0,))], options)[0]
        assert score(MODEL, [5, 6, 7], result.token_ids) == pytest.approx(result.statistics.model_logprobs, abs=1e-3)
        under_p = score(MODEL, [5, 6, 7], result.token_ids, options)
        assert under_p == pytest.approx(result.statistics.logprobs, abs=1e-3)
