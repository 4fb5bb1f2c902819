"""The bench: naive masks are legal and never cross terminals, and the columns say what the methods did."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from domino_py.bench import cli, peers
from domino_py.bench.measure import Plan, measure, n_steps_of
from domino_py.bench.methods import Free, Naive, Setting, own_methods
from domino_py.bench.naive import NaiveCompiled, compile_naive
from domino_py.bench.quality import Judge
from domino_py.bench.report import HEADS, Results, as_json, as_markdown
from domino_py.bench.results import Cell, Run
from domino_py.bench.terminals import BETWEEN, STRING, JsonTerminals, OneTerminal, is_inside, step
from domino_py.bench.workloads import WORKLOADS, Workload, workload_named
from tests.tiny import tiny_model, tiny_tokenizer
from tokenizer_align.errors import InvalidOption, VocabularyError
from tokenizer_align.vocabulary import Vocabulary

# Long chats would not fit the tiny model's context.
SMALL = [dataclasses.replace(one, examples=(), questions=("Q",), max_new_tokens=60) for one in WORKLOADS]


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting.of(tiny_model(), tiny_tokenizer())


@pytest.fixture(scope="module")
def cells(setting: Setting) -> dict[tuple[str, str], Cell]:
    plan = Plan([small("enum"), small("phone"), small("json")], own_methods(setting), n_rounds=2)
    steps: list[str] = []
    found = measure(setting, plan, steps.append)
    assert len(steps) == n_steps_of(plan)
    return {(cell.workload, cell.method): cell for cell in found}


def small(name: str) -> Workload:
    return next(one for one in SMALL if one.name == name)


def terminals_of(text: bytes) -> list[bytes]:
    """JSON's terminals, by Python's tokenizer of nothing: a second scanner, by hand."""
    parts: list[bytes] = []
    index = 0
    while index < len(text):
        end = index + 1
        if text[index] == 0x22:
            while text[end] != 0x22:
                end += 2 if text[end] == 0x5C else 1
            end += 1
        elif text[index] not in b"{}[],:":
            alike = (
                b" \t\r\n"
                if text[index] in b" \t\r\n"
                else b"+-.0123456789eE"
                if text[index] in b"-0123456789"
                else b""
            )
            while end < len(text) and (text[end] in alike or (not alike and chr(text[end]).isalpha())):
                end += 1
        parts.append(text[index:end])
        index = end
    return parts


# --- terminals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "data", "inside"),
    [
        (BETWEEN, b"{", True),
        (BETWEEN, b'"', True),
        (BETWEEN, b'"name"', True),
        (BETWEEN, b'"na\\"me', True),
        (BETWEEN, b'{"', False),
        (BETWEEN, b'"":', False),
        (BETWEEN, b" \n\t", True),
        (BETWEEN, b" 1", False),
        (BETWEEN, b"-12.5e", True),
        (BETWEEN, b"true", True),
        (BETWEEN, b"1,", False),
        (BETWEEN, b"}}", False),
        (STRING, b"a{b: c", True),
        (STRING, b'end"', True),
        (STRING, b'end",', False),
        (STRING, b'quo\\"te', True),
    ],
)
def test_terminals_tell_what_lies_inside_one(state: int, data: bytes, inside: bool) -> None:
    assert is_inside(state, data) is inside


def test_terminals_start_where_a_second_scanner_says() -> None:
    text = json.dumps({"a b": [1.5, -2e3, True, None, 'q"\\\n'], "c": {}}, indent=2).encode()
    starts, state = [], BETWEEN
    for index, byte in enumerate(text):
        state, is_start = step(state, byte)
        starts += [index] if is_start else []
    lengths = [len(part) for part in terminals_of(text)]
    assert starts == [sum(lengths[:i]) for i in range(len(lengths))]


def test_split_gives_the_terminals_and_the_rest_of_one_that_is_begun(setting: Setting) -> None:
    terminals = JsonTerminals(setting.vocabulary)
    assert terminals.split(BETWEEN, b'{"a": -1.5,true}') == terminals_of(b'{"a": -1.5,true}')
    assert terminals.split(STRING, b'b c": {}') == [b'b c"', b":", b" ", b"{", b"}"]
    assert terminals.split(BETWEEN, b"") == [] == OneTerminal(setting.vocabulary).split(0, b"")


def test_naive_shortest_text_fits_the_budget_it_names(setting: Setting) -> None:
    workload = small("extract")
    method = Naive(setting)
    method.prepare(workload)
    n_needed = compile_naive(workload, setting.vocabulary).shortest_n_tokens()
    run = method.run(dataclasses.replace(workload, max_new_tokens=n_needed), [5, 6, 7])
    assert len(run.token_ids) <= n_needed and workload.constraint().matches(setting.vocabulary.decode(run.token_ids))


def test_a_regex_is_one_terminal(setting: Setting) -> None:
    terminals = OneTerminal(setting.vocabulary)
    assert (terminals.inside(terminals.after(0, b'{"')) == 0xFFFFFFFF).all()


# --- naive masks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"", b'{"', b'{"action', b'{ "action": "app', b'{"action":"approve","score":"low"'])
def test_naive_mask_is_the_exact_mask_without_tokens_that_cross(setting: Setting, text: bytes) -> None:
    workload, vocabulary = small("enum"), setting.vocabulary
    naive = compile_naive(workload, vocabulary).matcher()
    exact = domino.compile(workload.constraint(), vocabulary, tokenization="any").matcher()
    single = {data: i for i, data in enumerate(vocabulary.token_bytes) if data and len(data) == 1}
    for byte in text:
        naive.advance(single[bytes([byte])])
        exact.advance(single[bytes([byte])])
    legal = _ids(exact.mask(), vocabulary)
    state = JsonTerminals(vocabulary).after(BETWEEN, text)
    expected = {t for t in legal if is_inside(state, vocabulary.token_bytes[t] or b"")}
    assert _ids(naive.mask(), vocabulary) == expected
    assert {t for t in range(vocabulary.n_rows) if naive.accepts(t)} == expected
    assert expected, "single bytes never cross"


def test_naive_outputs_are_legal_and_never_cross_terminals(setting: Setting) -> None:
    for name in ("enum", "json", "extract"):
        workload = dataclasses.replace(small(name), max_new_tokens=150)
        method = Naive(setting)
        method.prepare(workload)
        run = method.run(workload, [5, 6, 7])
        text = setting.vocabulary.decode(run.token_ids)
        assert workload.constraint().matches(text) and workload.is_valid(text.decode()), text
        place, ends = 0, {0}
        for part in terminals_of(text):
            ends.add(max(ends) + len(part))
        for token in run.token_ids:
            after = place + len(setting.vocabulary.token_bytes[token] or b"")
            assert not any(place < end < after for end in ends), (text, place, after)
            place = after


def test_naive_matcher_goes_back_and_forks(setting: Setting) -> None:
    vocabulary = setting.vocabulary
    matcher = compile_naive(small("enum"), vocabulary).matcher()
    quote = vocabulary.ids_by_bytes[b'"'][0]
    matcher.advance(vocabulary.ids_by_bytes[b"{"][0])
    before = matcher.mask().copy()
    other = matcher.fork()
    matcher.advance(quote)
    assert not np.array_equal(matcher.mask(), before)
    matcher.rollback(1)
    assert np.array_equal(matcher.mask(), before) and np.array_equal(other.mask(), before)
    assert matcher.forced_bytes() == matcher.determined_bytes() == b""


def test_naive_masking_refuses_a_vocabulary_where_it_could_run_into_a_dead_end() -> None:
    vocabulary = Vocabulary.from_bytes([b"{}", b"{", b'"', b"[]"], eos_token_ids=[])
    with pytest.raises(VocabularyError, match="every byte"):
        NaiveCompiled(domino.json(), vocabulary, JsonTerminals(vocabulary))


# --- methods and their numbers ----------------------------------------------------------------------------------------


def test_every_method_writes_legal_texts(cells: dict[tuple[str, str], Cell]) -> None:
    for (_, method), cell in cells.items():
        assert not cell.failure, cell
        if method != "unconstrained":
            assert cell.n_outputs == cell.n_matching == cell.n_valid == 1, cell


def test_drafts_change_passes_and_nothing_else(cells: dict[tuple[str, str], Cell]) -> None:
    for workload in ("enum", "phone", "json"):
        plain, drafted = cells[workload, "exact"], cells[workload, "domino-always"]
        assert plain.texts == drafted.texts == cells[workload, "domino"].texts
        assert plain.n_tokens == drafted.n_tokens == plain.forward_passes
        assert drafted.forward_passes <= plain.forward_passes
        assert plain.n_drafted == 0
    assert cells["enum", "domino-always"].n_drafted > 0


def test_free_generation_has_as_many_tokens_as_the_longest_output(setting: Setting) -> None:
    run = Free(setting).run([5, 6, 7], 9)
    assert len(run.token_ids) == len(run.token_times_s) == run.forward_passes == 9
    assert list(run.token_times_s) == sorted(run.token_times_s) and run.token_times_s[-1] <= run.elapsed_s


def test_quality_agrees_with_the_report(setting: Setting) -> None:
    prompt = [5, 6, 7]
    workload = small("enum")
    result = domino.generate(
        setting.model, setting.tokenizer, prompt, workload.constraint(), max_new_tokens=60, do_sample=False
    )
    quality = Judge(setting).judge(workload, prompt, result.token_ids)
    assert quality.matches and quality.is_valid and quality.text == result.text
    assert quality.logprob == pytest.approx(result.report.model_logprob, abs=1e-3)
    assert quality.noncanonical_tokens == result.report.noncanonical_tokens
    gap = result.report.measure_alignment()
    assert gap is not None and quality.alignment_gap == pytest.approx(gap, abs=1e-3)


def test_illegal_and_invalid_outputs_are_counted_as_such(setting: Setting) -> None:
    ids = setting.vocabulary.encode
    assert ids is not None
    quality = Judge(setting).judge(small("enum"), [5], tuple(ids('{"action": "approve", "score": 3}')))
    assert not quality.matches and not quality.is_valid
    quality = Judge(setting).judge(small("json"), [5], tuple(ids(' {"a": 1}')))
    assert quality.is_valid and not quality.matches  # a blank before the text is JSON, but not in the default writing


def test_a_method_that_fails_is_a_cell_with_the_reason(setting: Setting) -> None:
    class Broken(Naive):
        name = "broken"

        def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
            raise RuntimeError("no luck\nat all")

    free, broken = measure(setting, Plan([small("phone")], [Broken(setting)], n_rounds=2))
    assert broken.failure == "RuntimeError: no luck" and broken.n_outputs == 0
    assert free.n_tokens == 1


# --- workloads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_examples_of_the_workloads_are_legal(workload: Workload) -> None:
    constraint = workload.constraint()
    for _, answer in workload.examples:
        assert constraint.matches(answer) and workload.is_valid(answer)
    assert not workload.is_valid("hello") and not constraint.matches("hello")
    chat = workload.messages("Q")
    assert [message["role"] for message in chat] == ["user", "assistant"] * len(workload.examples) + ["user"]


def test_unknown_workload_names_the_nearest() -> None:
    with pytest.raises(InvalidOption, match="enum"):
        workload_named("enums")


# --- what comes out ---------------------------------------------------------------------------------------------------


def results_of(found: list[Cell]) -> Results:
    return Results(
        model="tiny",
        dtype="float32",
        machine={"cores": 2},
        versions={"torch": "2"},
        workloads={"enum": "enum schema", "phone": "phone|number"},
        methods={cell.method: f"title of {cell.method}" for cell in found},
        n_rounds=2,
        cells=found,
        absent={"xgrammar": "not installed"},
    )


def test_markdown_and_json_hold_every_method(cells: dict[tuple[str, str], Cell]) -> None:
    results = results_of([*cells.values(), Cell("phone", "odd", failure="Unsupported: no | pipes")])
    text = as_markdown(results)
    rows = [line for line in text.splitlines() if line.startswith("| title")]
    assert len(rows) == len([cell for cell in results.cells if cell.workload in results.workloads])
    assert all(line.replace("\\|", "").count("|") == len(HEADS) + 1 for line in rows)
    assert "left out: xgrammar: not installed" in text and "cores 2" in text
    loaded = json.loads(as_json(results))
    assert loaded["machine"] == {"cores": 2} and len(loaded["cells"]) == len(results.cells)
    assert loaded["cells"][1]["texts"]


def test_plot_is_drawn_where_matplotlib_is_installed(cells: dict[tuple[str, str], Cell], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    from domino_py.bench.plot import draw

    draw(results_of(list(cells.values())), tmp_path / "bench.png")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_missing_matplotlib_is_a_clear_message(
    cells: dict[tuple[str, str], Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from domino_py.bench.plot import draw

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(domino.DominoError, match="pip install matplotlib"):
        draw(results_of(list(cells.values())), tmp_path / "bench.png")


FOREIGN = ("xgrammar", "llguidance", "outlines", "outlines_core", "guidance", "lmformatenforcer")


def test_missing_peers_are_named_and_left_out(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins
    import sys

    real_import = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in FOREIGN:
            raise ImportError(f"No module named {name!r}")
        return real_import(name, *args, **kwargs)

    for module, _, _ in peers.PEERS.values():
        monkeypatch.delitem(sys.modules, f"domino_py.bench.peers.{module}", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    found, absent = peers.find_peers(setting)
    assert [one.name for one in found] == ["transformers"]
    assert [one.name for one in absent] == ["xgrammar", "llguidance", "outlines", "guidance", "lm-format-enforcer"]
    assert all("pip install" in one.reason for one in absent)


@pytest.mark.parametrize(
    "name", ["transformers", "xgrammar", "llguidance", "outlines", "guidance", "lm-format-enforcer"]
)
def test_peers_that_are_installed_write_legal_texts(setting: Setting, name: str) -> None:
    found, absent = peers.find_peers(setting)
    method = next((one for one in found if one.name == name), None)
    if method is None:
        pytest.skip(next(one.reason for one in absent if one.name == name))
    workload = small("phone")
    method.prepare(workload)
    run = method.run(workload, [5, 6, 7])
    text = setting.vocabulary.decode(run.token_ids).decode("utf-8", "replace")
    assert run.forward_passes >= (1 if name == "guidance" else len(run.token_ids))  # it skips forced tokens
    if name != "transformers":
        assert workload.is_valid(text) and (run.mask_s is not None or name == "guidance")


def test_command_writes_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("domino_py.cli.loading.load_model", lambda *_: (tiny_model(), tiny_tokenizer()))
    monkeypatch.setattr("domino_py.bench.workloads.WORKLOADS", tuple(SMALL))
    arguments = ["--quick", "--no-peers", "--workload", "phone", "--workload", "enum", "--show", "--out", str(tmp_path)]
    assert cli.run(arguments) == 0
    printed = capsys.readouterr().out
    assert "telephone-number regex" in printed and "naive masking, prompt 1" in printed
    assert json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))["n_rounds"] == 1
    assert "## enum schema" in (tmp_path / "bench.md").read_text(encoding="utf-8")


def test_command_refuses_unknown_names_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidOption, match="phone"):
        cli.run(["--workload", "fone"])
    with pytest.raises(InvalidOption, match="wall, cpu"):
        cli.run(["--clock", "sun"])
    assert cli.run(["--no-such-option"]) == 2
    assert cli.run(["--help"]) == 0 and "--quick" in capsys.readouterr().out


def _ids(mask: Any, vocabulary: Vocabulary) -> set[int]:
    return {t for t in range(vocabulary.n_rows) if int(mask[t >> 5]) >> (t & 31) & 1}
