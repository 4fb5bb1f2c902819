"""The report: its numbers, its sums, and how it looks."""

from __future__ import annotations

import json
import math
import pickle
from types import SimpleNamespace

import pytest

from domino_py.measures import _law_notes
from domino_py.report import Intervention, Report
from domino_py.report_view import visible


def a_report(**changes: object) -> Report:
    values: dict[str, object] = {
        "finish_reason": "complete",
        "n_prompt_tokens": 20,
        "n_tokens": 10,
        "n_bytes": 30,
        "n_steps": 10,
        "logprob": -4.0,
        "projection_tax": 1.5,
        "projection_tax_low": 1.5,
        "projection_tax_high": 1.5,
        "log_weight": -1.5,
        "legal_mass": (0.5, 0.44626),
        "interventions": (Intervention(3, '{"a": ', "<b>\n", "1", -0.1, -2.0, 0.25),),
        "n_interventions": 1,
        "model_logprob": -5.0,
        "noncanonical_tokens": 0,
        "alignment_gap": 0.0,
        "forward_passes": 4,
        "drafted": {"determined": 8, "lookup": 2},
        "accepted": {"determined": 6},
        "mask_s": 0.0002,
        "model_s": 0.5,
        "total_s": 0.6,
    }
    return Report(**(values | changes))  # type: ignore[arg-type]


def test_derived_numbers() -> None:
    report = a_report()
    assert report.tokens_per_pass == 2.5
    assert (report.n_drafted, report.n_accepted) == (10, 6)
    assert report.perplexity_per_token == pytest.approx(math.exp(0.5))
    assert report.perplexity_per_byte == pytest.approx(math.exp(5 / 30))
    assert report.interventions[0].cost == pytest.approx(math.log(4))


def test_nothing_legal_under_the_model_costs_infinitely_much() -> None:
    assert Intervention(0, "", "a", "b", -0.1, -math.inf, 0.0).cost == math.inf
    assert "∞" in str(a_report(interventions=(Intervention(0, "", "a", "b", -0.1, -math.inf, 0.0),)))


def test_empty_output_has_no_perplexity() -> None:
    report = a_report(n_tokens=0, n_bytes=0, model_logprob=0.0, forward_passes=1)
    assert report.perplexity_per_token is None
    assert str(report)


def test_text_shows_every_number_and_where_the_constraint_fought_the_model() -> None:
    text = str(a_report())
    for part in (
        "10 for 30 bytes, after a prompt of 20; ended: complete",
        "masked, greedy: at each step",
        "4, 2.50 tokens a pass",
        "6 of 10 accepted (determined 6 of 8, lookup 0 of 2)",
        "masks 200 µs",
        "1.50 nats, 0.150 a token",
        "0 non-canonical of 10 tokens; alignment gap 0.00 nats",
        "Where the constraint fought the model (1)",
        "<b>\\n",
        "1.39",
    ):
        assert part in text, part
    assert "lossless" not in text


def test_unmeasured_tax_is_given_as_bounds() -> None:
    text = str(a_report(projection_tax=None, log_weight=None, projection_tax_low=0.5, projection_tax_high=0.75))
    assert "at least 0.50 nats, at most 0.75 nats" in text


def test_free_text_says_that_it_is_the_models_own_law() -> None:
    text = str(a_report(law="model", greedy=False, seed=7, interventions=(), n_interventions=0))
    assert "model, sampled, seed 7" in text
    assert "projection tax" not in text


def test_html_escapes_what_models_write() -> None:
    shown = a_report()._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>\\n" not in shown


def test_dictionary_is_plain_json() -> None:
    values = a_report().to_dict()
    assert json.loads(json.dumps(values))["interventions"][0]["wanted"] == "<b>\n"
    assert values["perplexity_per_byte"] == a_report().perplexity_per_byte
    assert not any(name.startswith("_") for name in values)


def test_total_sums_counts_and_keeps_the_single_reports() -> None:
    one, two = a_report(), a_report(drafted={"lookup": 1}, accepted={}, seed=3, alignment_gap=None)
    both = Report.total([one, two])
    assert (both.n_texts, both.n_tokens, both.n_bytes, both.forward_passes) == (2, 20, 60, 8)
    assert both.drafted == {"determined": 8, "lookup": 3}
    assert both.logprob == -8.0
    assert both.alignment_gap is None
    assert both.perplexity_per_token == one.perplexity_per_token
    assert (both.law, both.finish_reason, both.seed) == ("masked", "complete", None)
    assert both.rows == (one, two)
    assert "2 texts, 20 for 60 bytes" in str(both)


def test_total_of_nothing_is_empty() -> None:
    assert str(Report.total([]))
    assert Report.total([]).n_tokens == 0


def test_alignment_is_measured_once_and_only_when_asked() -> None:
    calls = []

    def score() -> float:
        calls.append(1)
        return -0.25

    report = a_report(alignment_gap=None)
    report.measure_later(score)
    assert report.alignment_gap is None
    assert (report.measure_alignment(), report.measure_alignment()) == (-0.25, -0.25)
    assert len(calls) == 1
    assert Report.total([a_report(), report]).measure_alignment() == -0.25


def test_report_can_be_pickled_without_its_model() -> None:
    report = a_report()
    report.measure_later(lambda: 0.0)
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report
    assert copy.measure_alignment() == 0.0


@pytest.mark.parametrize(
    ("text", "shown"),
    [(" a b ", "␣a b␣"), ("\n\t", "\\n\\t"), ("  ", "␣␣"), ("", ""), ("\x07é🥐", "\\x07é🥐"), ('\\"', '\\"')],
)
def test_invisible_characters_are_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_report_shows_in_one_line_where_it_is_a_value_among_others() -> None:
    shown = repr([a_report()])
    assert shown.startswith("[Report(") and len(shown) < 200


def test_the_report_says_under_which_law_and_where_tokens_are_not_the_tokenizers_own() -> None:
    text = str(a_report(tokenization="any", noncanonical_tokens=2, noncanonical_at=(3, 4), alignment_gap=2.5))
    assert "any: 2 non-canonical of 10 tokens (at token 3, 4); alignment gap 2.50 nats" in text
    many = str(a_report(noncanonical_tokens=9, noncanonical_at=tuple(range(9))))
    assert "(at token 0, 1, 2, 3, 4, 5, 6, 7, …)" in many


def test_a_law_that_had_to_be_given_up_is_noted_with_its_place_and_reason() -> None:
    counted = SimpleNamespace(law_given_up_at=7)
    compiled = SimpleNamespace(tokenization="canonical", law_notes=lambda prompt_ids: ("behind the prompt",))
    notes = _law_notes(SimpleNamespace(statistics=counted), compiled, [1])  # type: ignore[arg-type]
    assert notes[0] == "behind the prompt"
    assert "'canonical' could not be kept from token 7 on, where it left no token" in notes[1]
    counted.law_given_up_at = None
    assert len(_law_notes(SimpleNamespace(statistics=counted), compiled, [1])) == 1  # type: ignore[arg-type]
