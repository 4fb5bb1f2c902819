"""Determined runs in canonical tokens, and whether drafting them pays."""

from __future__ import annotations

from typing import Any

import pytest

from speculative.costs import PassCosts
from speculative.drafts import Draft, DraftContext
from speculative.drafts.determined import CanonicalRuns, DeterminedRuns
from speculative.loop import DecodeOptions, RowRequest, decode
from speculative.policy import Acceptance, DraftPolicy, Ledger, policy_of, prior
from speculative.tree import Label
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import people, tiny_llama, tiny_vocabulary
from tokenizer_align.layout import DEFAULT_LAYOUT
from tokenizer_align.vocabulary import Vocabulary

VOCABULARY = tiny_vocabulary()


def ids_of(text: bytes) -> list[int]:
    assert VOCABULARY.encode is not None
    return VOCABULARY.encode(text.decode())


def pieces(ids: Any) -> list[bytes]:
    return [VOCABULARY.token_bytes[token] or b"" for token in ids]


def proposal(
    texts: list[bytes], written: bytes = b"", limit: int = 20, determined: bytes | None = None
) -> Draft | None:
    matcher = FakeCompiled(texts, VOCABULARY, determined).matcher()
    for token in ids_of(written):
        matcher.advance(token)
    before = matcher.text_bytes()
    context = DraftContext(matcher, [1], ids_of(written), DEFAULT_LAYOUT)
    drafts = DeterminedRuns(VOCABULARY).propose(context, limit)
    assert matcher.text_bytes() == before
    return drafts[0] if drafts else None


def test_a_forced_run_comes_in_canonical_tokens_and_ends_in_an_edge() -> None:
    draft = proposal([b'{"name": "Ada"', b'{"name": "Bob"'])
    assert draft is not None
    assert pieces(draft.token_ids) == [b'{"', b"name", b'": ', b'"']
    assert draft.kinds == ("forced", "forced", "forced", "edge")


def test_what_is_determined_up_to_layout_is_marked_so() -> None:
    draft = proposal([b"yes, no", b"yes;no"], determined=b"yes, no")
    assert draft is not None
    assert pieces(draft.token_ids) == [b"yes", b", ", b"no"]
    assert draft.kinds == ("forced", "layout", "edge")


def test_a_run_continues_the_tokens_before_it() -> None:
    # After `{"` the tokenizer writes `name`; encoded alone, `"name` after `{` would begin with a quote of its own.
    draft = proposal([b'{"name": "Ada"'], written=b'{"')
    assert draft is not None
    assert pieces(draft.token_ids)[:2] == [b"name", b'": ']


def test_nothing_is_proposed_where_there_is_a_choice() -> None:
    assert proposal([b"yes", b"no"]) is None
    assert proposal([b"no", b"nope"], written=b"no") is None


def test_a_draft_is_cut_to_its_limit() -> None:
    draft = proposal([b"yes, no, yes, no"], limit=3)
    assert draft is not None
    assert len(draft.token_ids) == 3
    assert "edge" not in draft.kinds


def test_a_run_that_ends_inside_a_character_is_drafted_up_to_it() -> None:
    draft = proposal(["Zürich".encode(), "Zölle".encode()])
    assert draft is not None
    assert pieces(draft.token_ids) == [b"Z"]


def test_without_an_encoder_nothing_is_drafted() -> None:
    vocabulary = Vocabulary.from_bytes(VOCABULARY.token_bytes, eos_token_ids=[0])
    assert CanonicalRuns(vocabulary).encode([], b"yes") == ()


def test_a_run_that_the_tokenizer_would_merge_with_the_text_before_is_encoded_alone() -> None:
    runs = CanonicalRuns(VOCABULARY)
    # "n" then "am": the tokenizer would write `nam`, so no token ends after "n".
    assert pieces(runs.encode([ord("n") + 1], b"am")) == [b"a", b"m"]


def test_tails_that_begin_inside_a_character_do_not_disturb() -> None:
    tail = [b + 1 for b in "東".encode()][1:]
    assert pieces(CanonicalRuns(VOCABULARY).encode(tail, b"yes")) == [b"yes"]


def test_repeated_runs_give_the_same_tokens() -> None:
    runs = CanonicalRuns(VOCABULARY)
    assert runs.encode([], b"green") == runs.encode([], b"green")


# Costs ---------------------------------------------------------------------------------------------------------------


def test_costs_follow_the_assumed_curve_before_anything_is_measured() -> None:
    costs = PassCosts("cpu", is_half=False)
    assert costs.cost(1) == 1.0
    assert costs.cost(8) == pytest.approx(1.7)
    assert costs.cost(128) < costs.cost(256) < costs.cost(2000)
    assert PassCosts("cuda", is_half=True).cost(8) < 1.1


def test_one_measurement_scales_the_whole_curve() -> None:
    costs = PassCosts("cpu", is_half=False)
    costs.observe(1, 0.05)
    assert costs.cost(1) == pytest.approx(0.05)
    assert costs.cost(8) == pytest.approx(0.085)


def test_measured_sizes_count_more_than_the_assumption() -> None:
    costs = PassCosts("cpu", is_half=False)
    for _ in range(3):
        costs.observe(1, 0.05)
        costs.observe(8, 0.05)
    assert costs.cost(8) == pytest.approx(0.05)
    assert 0.05 < costs.cost(2) < 0.08
    assert costs.cost(16) == pytest.approx(0.05 * 2.15 / 1.7)


def test_one_slow_pass_does_not_put_a_width_off() -> None:
    costs = PassCosts("cpu", is_half=False)
    for _ in range(5):
        costs.observe(1, 0.05)
    costs.observe(8, 2.0)
    assert costs.cost(8) == pytest.approx(0.085)


def test_outliers_do_not_count() -> None:
    costs = PassCosts("cpu", is_half=False)
    for elapsed in (0.05, 0.05, 3.0, 0.051, 0.05):
        costs.observe(1, elapsed)
    assert costs.cost(1) == pytest.approx(0.05)


# Policy --------------------------------------------------------------------------------------------------------------


def chances(*conditional: float) -> list[float]:
    path, total = [], 1.0
    for chance in conditional:
        total *= chance
        path.append(total)
    return path


LAYOUT: Label = ("determined", "layout", True)


def test_a_long_likely_draft_is_run_and_a_lone_doubtful_token_is_not() -> None:
    policy = DraftPolicy("cpu", is_half=False)
    assert policy.width([chances(*[0.95] * 7)], 1) == 7
    assert policy.width([chances(0.4)], 1) == 0


def test_where_passes_cost_the_same_at_any_width_even_doubtful_drafts_are_run() -> None:
    assert DraftPolicy("cuda", is_half=True).width([chances(0.5, 0.5)], 1) == 2


def test_a_draft_on_the_prompts_pass_pays_by_its_own_cost_only() -> None:
    assert DraftPolicy("cpu", is_half=False).width([chances(0.95, 0.95)], 60) == 2


def test_one_rows_draft_must_pay_for_the_width_of_all() -> None:
    policy = DraftPolicy("cpu", is_half=False)
    draft = chances(*[0.95] * 3)
    assert policy.width([draft, draft, draft, draft], 4) == 3
    assert policy.width([draft, *[[]] * 31], 32) == 0


def test_no_drafts_need_no_width() -> None:
    assert DraftPolicy("cpu", is_half=False).width([[], []], 2) == 0


def test_acceptance_is_learned_by_label_and_edge_token() -> None:
    acceptance = Acceptance()
    edge: Label = ("determined", "edge", True)
    later: Label = ("determined", "layout", False)
    for _ in range(40):
        acceptance.observe(edge, 5, True)
        acceptance.observe(edge, 6, False)
        acceptance.observe(LAYOUT, 1, True)
        acceptance.observe(later, 1, False)
    assert acceptance.chance(edge, 5) > 0.9
    assert acceptance.chance(edge, 6) < 0.1
    assert acceptance.chance(LAYOUT, 9) > 0.9
    assert acceptance.chance(later, 9) < 0.2


def test_one_of_n_ways_is_expected_to_be_taken() -> None:
    assert prior("way2") == pytest.approx(0.45)
    assert prior("way6") == pytest.approx(0.15)


def test_a_source_that_does_not_pay_is_asked_rarely_and_one_that_pays_always() -> None:
    idle, busy = Ledger(), Ledger()
    for _ in range(100):
        for ledger in (idle, busy):
            if ledger.may_ask():
                ledger.asked(0.001)
        busy.saved(0.05)
    assert idle.n_asked < 40
    assert busy.n_asked == 100


def test_what_was_learned_lives_as_long_as_the_model() -> None:
    a, b = tiny_llama(), tiny_llama()
    assert policy_of(a, "cpu", "torch.float32") is policy_of(a, "cpu", "torch.float32")
    assert policy_of(a, "cpu", "torch.float32") is not policy_of(a, "cpu", "torch.bfloat16")
    assert policy_of(a, "cpu", "torch.float32") is not policy_of(b, "cpu", "torch.float32")


def test_proposals_that_are_not_run_are_judged_too() -> None:
    model = tiny_llama()
    policy = policy_of(model, "cpu", "torch.float32")
    for size in range(1, 40):
        for _ in range(5):
            policy.costs.observe(size, 10.0 * size)  # a wider pass never pays here
    compiled = FakeCompiled(people(), VOCABULARY)
    label: Label = ("determined", "forced", True)
    before = policy.acceptance.chance(label, 1)
    for seed in range(6):
        options = DecodeOptions(do_sample=True, seed=seed)
        numbers = decode(model, VOCABULARY, [RowRequest([5, 6, 7], compiled, 0, 40, (0,))], options)[0].statistics
        assert not numbers.drafted
    assert policy.acceptance.chance(label, 1) != before


def test_the_layout_of_the_last_text_is_where_the_next_one_starts() -> None:
    model = tiny_llama()
    compiled = FakeCompiled([b'{\n  "name":"Ada",\n  "age":12\n}'], VOCABULARY)
    decode(model, VOCABULARY, [RowRequest([5, 6, 7], compiled, 0, 60, (0,))])
    layout = policy_of(model, "cpu", "torch.float32").layout
    assert (layout.colon, layout.indent, layout.inline) == (b"", b"  ", ())


def test_a_source_whose_proposals_fail_is_doubted_in_all_of_them_and_trusted_again_once_they_hold() -> None:
    acceptance = Acceptance()
    kinds = ("match3", "match4", "match5", "match6")
    fresh = acceptance.chance(("prompt", "match6", True), 1)
    for kind in kinds[:3]:
        for _ in range(2):
            acceptance.observe(("prompt", kind, True), 1, False)
    doubted = acceptance.chance(("prompt", "match6", True), 1)
    assert doubted < fresh / 2
    assert acceptance.chance(("recent", "match6", True), 1) == fresh
    for kind in kinds * 6:
        acceptance.observe(("prompt", kind, True), 1, True)
    assert acceptance.chance(("prompt", "match6", True), 1) > fresh


class Distrusted:
    """Always proposes eight tokens that will not come."""

    name = "wrong"

    def propose(self, context: DraftContext, limit: int) -> list[Draft]:
        ids = tuple(1 + (len(context.output_ids) * 7 + i) % 250 for i in range(min(limit, 8)))
        return [Draft(self.name, ids, ("guess",) * len(ids))]


def test_where_nothing_is_accepted_hardly_any_pass_is_wider() -> None:
    model = tiny_llama()
    policy = policy_of(model, "cpu", "torch.float32")
    policy.costs.observe = lambda n_tokens, elapsed_s: None  # type: ignore[method-assign]
    row = RowRequest([5, 6, 7], None, 0, 100, ())
    options = DecodeOptions(do_sample=True, temperature=50.0, seed=1, draft_sources=(Distrusted(),))
    result = decode(model, VOCABULARY, [row], options)[0].statistics
    assert result.n_tokens == 100
    assert 0 < result.drafted["wrong"] <= 8 * 6


def test_what_is_determined_goes_in_one_pass_however_long_unless_a_limit_is_given() -> None:
    fixed = bytes(97 + (i * 7) % 26 for i in range(120))
    compiled = FakeCompiled([fixed + b" red", fixed + b" blue"], VOCABULARY)
    model, row = tiny_llama(), RowRequest([5, 6, 7], compiled, 0, 140, (0,))
    expected = decode(model, VOCABULARY, [row], DecodeOptions(speculate=False))[0]
    passes = {}
    for max_draft in (None, 24):
        found = decode(model, VOCABULARY, [row], DecodeOptions(speculate=True, max_draft=max_draft))[0]
        assert found.token_ids == expected.token_ids
        passes[max_draft] = found.statistics.forward_passes
    assert passes[24] >= passes[None] + 3
