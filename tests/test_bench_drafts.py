"""The bench of draft sources: shares of forced bytes, sources by themselves, tables, and simulated costs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import domino_py as domino
from benchmarks.simulated_gpu import HEADS, MACHINES, drafted_s, plain_s, rows_of
from domino_py.bench.draft_plot import draw_drafts
from domino_py.bench.draft_report import drafts_as_markdown, tables_of
from domino_py.bench.drafts import FLAT, Drafting, FlatCosts, draft_methods
from domino_py.bench.forced import forced_share
from domino_py.bench.measure import Plan, measure
from domino_py.bench.methods import Exact, Setting
from domino_py.bench.report import Results, as_json, joined, read_results
from domino_py.bench.results import Cell
from domino_py.bench.sweep import DRAFT_WORKLOADS
from domino_py.bench.workloads import WORKLOADS, Workload, workload_named
from speculative.policy import policy_of
from tests.tiny import tiny_model, tiny_tokenizer
from tokenizer_align.errors import InvalidOption

ACTION = {"type": "object", "properties": {"action": {"enum": ["approve", "reject"]}}, "required": ["action"]}


def small(workload: Workload) -> Workload:
    """Long chats would not fit the tiny model's context."""
    return dataclasses.replace(workload, examples=(), questions=("Q",), practice=("P", "R"), max_new_tokens=60)


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting.of(tiny_model(), tiny_tokenizer())


@pytest.fixture(scope="module")
def results(setting: Setting) -> Results:
    workloads = [small(workload_named(name)) for name in ("enum", "phone")]
    plan = Plan(workloads, draft_methods(setting))
    return Results(
        model="tiny",
        dtype="float32",
        machine={"torch threads": 1},
        versions={},
        workloads={one.name: one.title for one in workloads},
        methods={"unconstrained": "unconstrained"} | {one.name: one.title for one in plan.methods},
        n_rounds=1,
        cells=measure(setting, plan),
        kind="drafts",
    )


def cell_of(results: Results, workload: str, method: str) -> Cell:
    return next(cell for cell in results.cells if (cell.workload, cell.method) == (workload, method))


# --- forced bytes -----------------------------------------------------------------------------------------------------


def test_all_but_the_byte_that_decides_between_words_is_forced(setting: Setting) -> None:
    constraint = domino.json_schema(ACTION | {"additionalProperties": False})
    assert forced_share(constraint, setting.vocabulary, b'{"action": "reject"}') == 19 / 20


@pytest.mark.parametrize(
    ("pattern", "text", "share"), [("(?s).*", b"abc", 0.0), ("abc", b"abc", 1.0), ("a[bc]d", b"abd", 2 / 3)]
)
def test_share_of_a_regex(setting: Setting, pattern: str, text: bytes, share: float) -> None:
    assert forced_share(domino.regex(pattern), setting.vocabulary, text) == pytest.approx(share)


def test_layout_that_the_text_has_shown_counts_as_forced(setting: Setting) -> None:
    constraint = domino.json_schema({"type": "array", "prefixItems": [{"const": 1}] * 4, "items": False, "minItems": 4})
    shares = [forced_share(constraint, setting.vocabulary, text) for text in (b"[1,1,1,1]", b"[1, 1, 1, 1]")]
    assert shares[1] == 1.0  # the commonest layout
    assert shares[0] is not None and 0.6 < shares[0] < 1.0  # another one, from its second place on


def test_the_share_of_nothing_is_unknown(setting: Setting) -> None:
    assert forced_share(domino.regex("a?"), setting.vocabulary, b"") is None


# --- sources by themselves --------------------------------------------------------------------------------------------


def test_every_source_writes_the_same_texts(results: Results) -> None:
    for workload in results.workloads:
        plain = cell_of(results, workload, "exact")
        for cell in results.cells:
            if cell.workload == workload and cell.method != "unconstrained":
                assert cell.texts == plain.texts and not cell.failure
                assert cell.forward_passes <= plain.forward_passes


def test_a_source_alone_drafts_for_itself_only(results: Results) -> None:
    assert set(cell_of(results, "enum", "determined").by_source) == {"determined"}
    assert set(cell_of(results, "enum", "ways").by_source) <= {"ways"}
    assert set(cell_of(results, "enum", "counts-later").by_source) <= {"counts"}


def test_later_uses_know_what_practice_taught(results: Results) -> None:
    assert cell_of(results, "enum", "counts-later").n_accepted > cell_of(results, "enum", "counts").n_accepted


def test_traces_account_for_every_token(results: Results) -> None:
    for cell in results.cells:
        for trace in cell.traces:
            assert sum(n_decided for _, _, n_decided in trace) == cell.n_tokens
            assert sum(n_drafted for _, n_drafted, _ in trace) == cell.n_drafted
            assert len(trace) == cell.forward_passes


def test_what_a_method_learns_stays_its_own(setting: Setting) -> None:
    before = policy_of(setting.model, "cpu", "torch.float32")
    workload = small(workload_named("enum"))
    method = Drafting(setting, "d", "d", ("determined",))
    method.prepare(workload)
    method.run(workload, [5, 6, 7])
    assert policy_of(setting.model, "cpu", "torch.float32") is before


def test_flat_costs_do_not_listen_to_this_machine() -> None:
    costs = FlatCosts()
    before = [costs.cost(n) for n in (1, 8, 64)]
    costs.observe(64, 1.0)
    assert [costs.cost(n) for n in (1, 8, 64)] == before and before[2] < 1.3 * before[0]
    assert costs.token_s() == before[0]


def test_a_draft_model_is_a_source_too(setting: Setting) -> None:
    methods = {one.name: one for one in draft_methods(setting, setting.model)}
    workload = small(workload_named("enum"))
    plain = Exact(setting, "exact", "", speculate=False)
    plain.prepare(workload)
    methods["draft-model"].prepare(workload)
    run = methods["draft-model"].run(workload, [5, 6, 7])
    assert run.token_ids == plain.run(workload, [5, 6, 7]).token_ids


# --- workloads, tables, files -----------------------------------------------------------------------------------------


def test_more_of_a_form_is_forced_from_workload_to_workload() -> None:
    names = [one.name for one in DRAFT_WORKLOADS]
    assert names[: len(WORKLOADS)] == [one.name for one in WORKLOADS] and len(set(names)) == len(names)
    for workload in DRAFT_WORKLOADS:
        assert all(workload.is_valid(answer) for _, answer in workload.examples)
    assert workload_named("form14", DRAFT_WORKLOADS).schema_text is not None
    with pytest.raises(InvalidOption, match="form14"):
        workload_named("form99", DRAFT_WORKLOADS)


def test_tables_have_a_row_a_method_and_a_column_a_workload(results: Results) -> None:
    first, *others = tables_of(results)
    assert first.heads == ("method", "enum", "phone") and first.rows[0][0] == "forced"
    assert {row[0] for row in first.rows[1:]} == set(results.methods.values())
    assert [table for table in others if table.title.startswith("accepted by source")]
    text = drafts_as_markdown(results)
    assert "2403.06988" in text and "later uses" in text and "nan" not in text.lower()


def test_results_are_read_back_and_joined(results: Results) -> None:
    again = read_results(as_json(results))
    assert as_json(again) == as_json(results)
    parts = [
        dataclasses.replace(again, workloads={name: title}, cells=[one for one in again.cells if one.workload == name])
        for name, title in results.workloads.items()
    ]
    assert as_json(joined(parts)) == as_json(results)
    with pytest.raises(ValueError, match="other models"):
        joined([again, dataclasses.replace(again, dtype="bfloat16")])


def test_the_plot_is_drawn(results: Results, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is optional")
    draw_drafts(results, tmp_path / "drafts.png")
    assert (tmp_path / "drafts.png").read_bytes().startswith(b"\x89PNG")


# --- simulated costs --------------------------------------------------------------------------------------------------


def test_passes_cost_the_same_up_to_some_width() -> None:
    for machine in MACHINES:
        assert machine.pass_s(1, 100) == machine.pass_s(machine.flat_up_to, 100)
        assert machine.pass_s(3 * machine.flat_up_to, 100) > 2 * machine.pass_s(1, 100)


def test_single_tokens_gain_nothing_and_accepted_drafts_do() -> None:
    machine = MACHINES[0]
    alone = [(50, 0, 1), (1, 0, 1), (1, 0, 1), (1, 0, 1)]
    assert drafted_s(machine, alone) == pytest.approx(plain_s(machine, alone))
    drafted = [(50, 4, 1), (1, 4, 3)]
    assert plain_s(machine, drafted) > 2.9 * drafted_s(machine, drafted)


def test_simulated_numbers_are_named_so(results: Results) -> None:
    rows = rows_of(results, MACHINES[0])
    assert len(rows) == 2 * len([one for one in results.cells if one.method == FLAT])
    assert all(len(row) == len(HEADS) for row in rows) and sum("SIMULATED" in head for head in HEADS) == 2
