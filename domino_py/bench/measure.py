"""Run every method on every workload, interleaved, and put the numbers together.

A busy or throttled machine changes speed within seconds, so methods take turns prompt by prompt, each round in another
order, and a method's time is only ever compared with free generation in the same round. Outputs are greedy, so they are
judged once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from domino_py.bench.methods import Free, Method, Setting, prompt_ids_of
from domino_py.bench.quality import Judge
from domino_py.bench.results import Cell, Quality, Run, Timing, cell_of
from domino_py.bench.workloads import Workload

__all__ = ["Plan", "measure", "n_steps_of", "time_of"]

OnStep = Callable[[str], None]
FREE_NAME = Free.name


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `n_prompts`: the first so many prompts of a workload, None for all."""

    workloads: Sequence[Workload]
    methods: Sequence[Method]
    n_rounds: int = 1
    n_prompts: int | None = None

    def questions(self, workload: Workload) -> tuple[str, ...]:
        return workload.questions[: self.n_prompts]


def n_steps_of(plan: Plan) -> int:
    """How often `measure` calls its `on_step`."""
    return sum(len(plan.questions(w)) * plan.n_rounds * (len(plan.methods) + 1) for w in plan.workloads)


def measure(setting: Setting, plan: Plan, on_step: OnStep = lambda _: None) -> list[Cell]:
    """All cells, by workload and method; unconstrained generation comes first of each workload.

    A method that fails on a workload gets a cell with the reason; the others go on.
    """
    judge = Judge(setting)
    cells: list[Cell] = []
    for workload in plan.workloads:
        cells += _Workbench(setting, judge, workload, plan, on_step).cells()
    return cells


@dataclass(slots=True)
class _Lane:
    """One method on one workload: its runs by round, and why it stopped if it did."""

    method: Method
    prepare_s: float = 0.0
    rounds: list[list[Run]] = field(default_factory=list)
    failure: str = ""


class _Workbench:
    """One workload with all methods."""

    def __init__(self, setting: Setting, judge: Judge, workload: Workload, plan: Plan, on_step: OnStep) -> None:
        self._setting, self._judge, self._workload, self._on_step = setting, judge, workload, on_step
        self._n_rounds = plan.n_rounds
        self._free = Free(setting)
        self._free_rounds: list[list[Run]] = []
        self._alone_rounds: list[list[float]] = []  # seconds of the prompts' own passes
        self._prompts = [prompt_ids_of(setting, workload, question) for question in plan.questions(workload)]
        self._lanes = [_Lane(method) for method in plan.methods]

    def cells(self) -> list[Cell]:
        for lane in self._lanes:
            self._prepare(lane)
        for round_index in range(self._n_rounds):
            self._round(round_index)
        return [self._free_cell(), *(self._cell(lane) for lane in self._lanes)]

    def _prepare(self, lane: _Lane) -> None:
        started = time.perf_counter()
        try:
            lane.method.prepare(self._workload)
        except Exception as error:  # a method that cannot do this is a result
            lane.failure = _reason(error)
        lane.prepare_s = time.perf_counter() - started

    def _round(self, round_index: int) -> None:
        order = list(self._lanes)
        if round_index % 2:
            order.reverse()
        for lane in order:
            lane.rounds.append([])
        free: list[Run] = []
        alone: list[float] = []
        for prompt_ids in self._prompts:
            alone.append(self._free.run(prompt_ids, 1).elapsed_s)
            # In the first round nobody knows yet how many tokens the methods write, so free generation comes last.
            free_first = round_index % 2 == 1
            if free_first:
                free.append(self._run_free(prompt_ids, len(free)))
            for lane in order:
                self._run(lane, prompt_ids)
            if not free_first:
                free.append(self._run_free(prompt_ids, len(free)))
        self._free_rounds.append(free)
        self._alone_rounds.append(alone)

    def _run(self, lane: _Lane, prompt_ids: list[int]) -> None:
        if not lane.failure:
            try:
                lane.rounds[-1].append(lane.method.run(self._workload, prompt_ids))
            except Exception as error:
                lane.failure = _reason(error)
        self._on_step(f"{self._workload.title}: {lane.method.title}")

    def _run_free(self, prompt_ids: list[int], prompt_index: int) -> Run:
        """Free generation of as many tokens as the longest output for this prompt, naive masking's left out.

        Naive masking tends to write to the limit, which would double the time of the whole bench; its time is compared
        with that of the free text's tokens continued.
        """
        lengths = [
            runs[prompt_index].n_decided
            for lane in self._lanes
            for runs in lane.rounds
            if len(runs) > prompt_index and not lane.failure and (lane.method.name != "naive" or len(self._lanes) == 1)
        ]
        run = self._free.run(prompt_ids, max([1, *lengths]))
        self._on_step(f"{self._workload.title}: {self._free.title}")
        return run

    def _cell(self, lane: _Lane) -> Cell:
        if lane.failure:
            return Cell(self._workload.name, lane.method.name, failure=lane.failure)
        timings = [
            [
                Timing(run.elapsed_s, time_of(free_run, run.n_decided), prompt_s)
                for run, free_run, prompt_s in zip(runs, free, alone, strict=True)
            ]
            for runs, free, alone in zip(lane.rounds, self._free_rounds, self._alone_rounds, strict=True)
        ]
        qualities = self._qualities([run.token_ids for run in lane.rounds[0]])
        return cell_of(self._workload.name, lane.method.name, lane.rounds, qualities, timings, lane.prepare_s)

    def _free_cell(self) -> Cell:
        """Free texts up to where the model would have ended, so that their legality and perplexity mean something."""
        ends = set(self._setting.vocabulary.eos_token_ids)
        texts = []
        for run in self._free_rounds[0]:
            ids = run.token_ids
            n_before_end = next((i for i, token in enumerate(ids) if token in ends), len(ids))
            texts.append(ids[:n_before_end])
        timings = [
            [Timing(run.elapsed_s, run.elapsed_s, prompt_s) for run, prompt_s in zip(free, alone, strict=True)]
            for free, alone in zip(self._free_rounds, self._alone_rounds, strict=True)
        ]
        return cell_of(
            self._workload.name, FREE_NAME, self._free_rounds, self._qualities(texts), timings, prepare_s=0.0
        )

    def _qualities(self, outputs: Sequence[tuple[int, ...]]) -> list[Quality]:
        return [
            self._judge.judge(self._workload, prompt_ids, ids)
            for prompt_ids, ids in zip(self._prompts, outputs, strict=True)
        ]


def time_of(free: Run, n_tokens: int) -> float:
    """How long free generation took for the first n tokens; what it did not write goes on at its mean pace."""
    times = free.token_times_s
    n_beyond = n_tokens - len(times)
    if n_beyond <= 0:
        return times[max(n_tokens, 1) - 1]
    pace = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else times[0]
    return times[-1] + n_beyond * pace


def _reason(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
