"""A draft model: same masks, penalties and noise as the model; the tokens and their law are the model's own."""

from __future__ import annotations

import copy
import math
import random
from collections import Counter
from functools import lru_cache
from typing import Any

import pytest
import torch

import domino_py as domino
from speculative.drafts import DraftContext
from speculative.drafts.model import ModelDrafts
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.table_model import TableModel
from tests.reference.tiny_models import (
    people,
    random_prompt,
    tiny_gemma3,
    tiny_llama,
    tiny_qwen3_next,
    tiny_vocabulary,
)
from tests.test_sampling import Table, chi_square, critical
from tests.tiny import tiny_model, tiny_tokenizer
from tokenizer_align.errors import InvalidOption
from tokenizer_align.layout import DEFAULT_LAYOUT
from tokenizer_align.vocabulary import Vocabulary

VOCABULARY = tiny_vocabulary()
PEOPLE = FakeCompiled(people(), VOCABULARY, determined=people()[5])
LAWS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"do_sample": True, "seed": 17, "temperature": 1.3},
    "truncated": {"do_sample": True, "seed": 5, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.2},
    "penalized": {"repetition_penalty": 1.5, "frequency_penalty": 0.4},
}


@lru_cache
def drafter(name: str) -> Any:
    """The model itself, a disturbed copy, an unrelated model, or one of another architecture."""
    if name == "disturbed":
        model = tiny_llama()
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for weights in model.parameters():
                weights.add_(0.03 * weights.std() * torch.randn(weights.shape, generator=generator))
        return model
    return {"itself": tiny_llama, "unrelated": lambda: tiny_llama(seed=5), "gemma": tiny_gemma3}[name]()


def requests(n: int, budget: int = 22) -> list[RowRequest]:
    rng = random.Random(7)
    return [RowRequest(random_prompt(rng, 2, 20), PEOPLE if i % 2 else None, i, budget, (0,)) for i in range(n)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ["itself", "disturbed", "unrelated", "gemma"])
def test_a_draft_model_changes_no_token(name: str, law: str) -> None:
    rows, model = requests(3), tiny_llama()
    without = decode(model, VOCABULARY, rows, DecodeOptions(speculate=False, **LAWS[law]))
    for sources in ((), None):
        for speculate in (True, "auto"):
            options = DecodeOptions(speculate=speculate, draft_model=drafter(name), draft_sources=sources, **LAWS[law])
            drafted = decode(model, VOCABULARY, rows, options)
            assert [(r.token_ids, r.finish_reason) for r in drafted] == [
                (r.token_ids, r.finish_reason) for r in without
            ]
    alone = [decode(model, VOCABULARY, [row], options)[0].token_ids for row in rows]
    assert alone == [r.token_ids for r in without]


@pytest.mark.parametrize("law", ["greedy", "sampled", "truncated"])
def test_the_model_itself_drafts_what_it_will_choose(law: str) -> None:
    model = tiny_llama()
    options = DecodeOptions(speculate=True, draft_model=model, draft_sources=(), **LAWS[law])
    free = decode(model, VOCABULARY, requests(1), options)[0].statistics
    assert free.accepted["draft model"] == free.drafted["draft model"] > 0


def test_a_closer_model_saves_more_passes() -> None:
    model, rows = tiny_llama(), requests(6)
    passes = []
    for name in ("itself", "disturbed", "unrelated"):
        options = DecodeOptions(speculate=True, draft_model=drafter(name), draft_sources=(), **LAWS["sampled"])
        passes.append(sum(decode(model, VOCABULARY, [row], options)[0].statistics.forward_passes for row in rows))
    assert passes[0] <= passes[1] < passes[2]


def test_drafting_leaves_the_matcher_where_it_was_and_reads_what_is_determined() -> None:
    matcher = PEOPLE.matcher()
    source = ModelDrafts(tiny_llama(), VOCABULARY, DecodeOptions())
    context = DraftContext(matcher, [5, 6, 7], [], DEFAULT_LAYOUT, end_ids=frozenset({0}), remaining=40)
    (draft,) = source.propose(context, 12)
    assert matcher.text_bytes() == b""
    assert "run" in draft.kinds
    text = VOCABULARY.decode(draft.token_ids)
    assert any(one.startswith(text) for one in PEOPLE.texts)
    (again,) = source.propose(context, 12)  # its cache was rolled back
    assert again == draft


def test_nothing_is_drafted_past_the_end_or_the_budget() -> None:
    source = ModelDrafts(tiny_llama(), VOCABULARY, DecodeOptions())
    one = FakeCompiled([b"yes"], VOCABULARY)
    context = DraftContext(one.matcher(), [5, 6], [], DEFAULT_LAYOUT, end_ids=frozenset({0}), remaining=9)
    assert all(len(draft.token_ids) == 0 for draft in source.propose(context, 8))
    free = DraftContext(None, [5, 6], [], DEFAULT_LAYOUT, end_ids=frozenset({0}), remaining=3)
    assert all(len(draft.token_ids) <= 2 for draft in source.propose(free, 2))


# The law of the output ------------------------------------------------------------------------------------------------


def tilted(table: Table, by: float) -> TableModel:
    """A draft model that likes other texts than the table's model: every second token is `by` nats likelier."""

    def predict(prefix: tuple[int, ...]) -> list[float]:
        row = [p + (by if token % 2 else 0.0) for token, p in enumerate(table._predict(prefix))]
        total = math.log(sum(math.exp(p) for p in row))
        return [p - total for p in row]

    return TableModel(predict, table.n_rows)


@pytest.mark.parametrize("by", [0.0, 1.5, -4.0])
def test_sampled_frequencies_with_a_draft_model_follow_the_models_law(by: float) -> None:
    table, n = Table("yesno"), 2000
    counts = table.sample(n, seed=11, draft_model=tilted(table, by), draft_sources=(), speculate=True)
    statistic, degrees = chi_square(counts, table.masked_law(), n)
    assert statistic < critical(degrees)


def test_the_frequency_test_rejects_drafts_taken_at_their_word() -> None:
    table, n = Table("yesno"), 2000
    compiled = FakeCompiled([s.encode() for s in table.strings], table.vocabulary)
    rows = [RowRequest([table.n_rows - 1], compiled, row, 40, (0,)) for row in range(n)]
    results = decode(tilted(table, 1.5), table.vocabulary, rows, DecodeOptions(do_sample=True, seed=11))
    statistic, degrees = chi_square(Counter(tuple(r.token_ids) for r in results), table.masked_law(), n)
    assert statistic > critical(degrees)


def test_a_token_that_is_impossible_for_the_model_is_never_accepted() -> None:
    vocabulary = Vocabulary.from_bytes([None, b"a", b"b", b"c"], eos_token_ids=[0])
    model = TableModel(lambda prefix: [-60.0, math.log(0.6), math.log(0.39), math.log(0.01)], 4)
    wrong = TableModel(lambda prefix: [-60.0, -60.0, -60.0, 0.0], 4)  # always drafts "c"
    rows = [RowRequest([1], None, row, 6, ()) for row in range(300)]
    options = DecodeOptions(do_sample=True, top_p=0.95, seed=2, draft_model=wrong, draft_sources=(), speculate=True)
    results = decode(model, vocabulary, rows, options)
    assert not any(3 in result.token_ids for result in results)
    assert sum(result.statistics.drafted["draft model"] for result in results) > 300
    assert not any(result.statistics.accepted["draft model"] for result in results)


# What cannot draft ----------------------------------------------------------------------------------------------------


def test_assistants_are_checked_before_anything_runs() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    call = {"max_new_tokens": 4}
    with pytest.raises(InvalidOption, match="another tokenizer"):
        domino.generate(model, tokenizer, "Hi", assistant_model=tiny_llama(vocab_size=100), **call)
    with pytest.raises(InvalidOption, match="cannot be taken back"):
        domino.generate(model, tokenizer, "Hi", assistant_model=tiny_qwen3_next_of(tokenizer), **call)
    with pytest.raises(InvalidOption, match="must be a causal language model"):
        domino.generate(model, tokenizer, "Hi", assistant_model="small", **call)
    with pytest.raises(InvalidOption, match="without assistant_model"):
        domino.generate(model, tokenizer, "Hi", assistant_tokenizer=tokenizer, **call)
    with pytest.raises(InvalidOption, match="another tokenizer"):
        domino.extract(model, tokenizer, ["a"], {"type": "integer"}, assistant_model=tiny_llama(vocab_size=100))


def tiny_qwen3_next_of(tokenizer: Any) -> Any:
    model = copy.copy(tiny_qwen3_next())
    model.get_output_embeddings().out_features = 416  # as many rows as the other model, which is not what is refused
    return model


def test_the_assistants_tokenizer_is_compared_where_it_is_given() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    same = domino.generate(
        model, tokenizer, "Hi", assistant_model=tiny_model(seed=1), assistant_tokenizer=tokenizer, max_new_tokens=5
    )
    assert same.token_ids == domino.generate(model, tokenizer, "Hi", max_new_tokens=5).token_ids
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet(), reverse=True)
    bpe = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(alphabet)}, merges=[]))
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    shuffled = PreTrainedTokenizerFast(tokenizer_object=bpe)
    with pytest.raises(InvalidOption, match=r"id \d+ is .* to the model and"):
        domino.generate(
            model, tokenizer, "Hi", assistant_model=tiny_model(), assistant_tokenizer=shuffled, max_new_tokens=5
        )


def test_extract_drafts_with_an_assistant() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    schema = {"enum": ["red", "green"]}
    plain = domino.extract(model, tokenizer, ["a", "b"], schema, max_new_tokens=20)
    assert domino.extract(model, tokenizer, ["a", "b"], schema, max_new_tokens=20, assistant_model=model) == plain
