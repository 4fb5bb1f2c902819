"""MaskBench's method: how long masks take and whether they are right, beside llguidance and xgrammar, in one run.

    python benchmarks/mask_bench.py --data PATH [--sample 200] [--tokenizer deepseek] [--engines domino,llguidance]
    python benchmarks/mask_bench.py --fixed [--tokenizer smollm2 deepseek gemma3] [--rounds 20]

PATH: a folder of MaskBench's files or a git directory of guidance-ai/jsonschemabench. Engines take turns schema by
schema, each in a process of its own, with the same token ids: mask, the token's bit, advance. TTFM: the schema's text
to the first mask, the vocabulary prepared. TBM: a mask and its advance, "first": as the process meets the text,
"warm": once more, "again": after the same schema was compiled anew. See `mask_worker.py` for the clock.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.json_schema_data import Case, Source, read_cases, sample
from benchmarks.mask_engines import ENGINES, Task
from benchmarks.mask_fixed import FIXED
from benchmarks.mask_worker import Job, Measured, Worker, load
from domino_py.bench.machine import describe_machine, versions_of

N_FIRST_SHOWN = 15
Results = dict[str, Measured]  # by engine


def percentiles(values: Sequence[float], at: Iterable[float]) -> str:
    """A few percentiles in one cell; 100 is the greatest."""
    return " / ".join(_number(float(np.percentile(values, q))) for q in at) if len(values) else "-"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def times(values: Sequence[float]) -> str:
    """mean / p50 / p90 / p99 / p99.9 / max."""
    return f"{_number(float(np.mean(values)))} / {percentiles(values, (50, 90, 99, 99.9, 100))}" if values else "-"


def start_workers(names: Sequence[str], tokenizer: str, limit_s: float) -> dict[str, Worker]:
    workers = {}
    for name in names:
        try:
            workers[name] = Worker(name, tokenizer, limit_s)
        except ImportError as error:
            print(error, file=sys.stderr)
    return workers


def in_turns(workers: dict[str, Worker], job: Job, turn: int) -> Results:
    """One job through all engines, another one first each time."""
    names = list(workers)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    return {name: workers[name].run(job) for name in names}


# --- JSONSchemaBench --------------------------------------------------------------------------------------------------


def run_sample(options: argparse.Namespace, tokenizer: str) -> dict[str, Any]:
    """All sampled schemas through all engines; prints the tables."""
    encode = load(tokenizer)[1].encode
    source = Source(options.data)
    names = sample(source.names(), options.sample or None, options.seed)
    workers = start_workers(options.engines, tokenizer, options.limit)
    cases, results = list(read_cases(source, names)), []
    for turn, case in enumerate(cases):
        if sys.stderr.isatty():
            print(f"\r{turn + 1}/{len(cases)} {case.name[:60]:60}", end="", file=sys.stderr)
        texts = tuple(tuple(encode(json.dumps(i.value, ensure_ascii=False))) for i in case.instances)
        job = Job(Task(case.name, schema=json.dumps(case.schema)), texts, n_twin=options.check_twin)
        results.append(in_turns(workers, job, turn))
    print(f"\n### {tokenizer}, {len(cases)} schemas\n")
    print_correctness(cases, results, workers)
    print_times("all schemas that the engine compiles", results, list(workers), lambda name, one: not one[name].error)
    print_times(
        "schemas that all engines compile",
        results,
        list(workers),
        lambda _, one: not any(measured.error for measured in one.values()),
    )
    if options.check_twin:
        print_twin(results)
    for worker in workers.values():
        worker.stop()
    return {case.name: {n: asdict(m) for n, m in one.items()} for case, one in zip(cases, results, strict=True)}


def print_correctness(cases: list[Case], results: list[Results], workers: dict[str, Worker]) -> None:
    """Compiled, fully correct, wrong instances, memory."""
    print(
        "| engine | compiled | fully correct | valid rejected | invalid accepted | out of time | MB prepared / peak |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, worker in workers.items():
        compiled = right = rejected = accepted = 0
        for case, one in zip(cases, results, strict=True):
            measured = one[name]
            if measured.error:  # a schema that no value satisfies may be refused
                is_empty = "EmptyLanguage" in measured.error and not any(i.valid for i in case.instances)
                compiled += is_empty
                right += is_empty
                continue
            pairs = list(zip(case.instances, measured.accepted, strict=True))
            rejected += sum(i.valid and not took for i, took in pairs)
            accepted += sum(took and not i.valid for i, took in pairs)
            compiled += 1
            right += all(took == i.valid for i, took in pairs)
        slow = sum(one[name].error == "out of time" for one in results)
        print(
            f"| {name} | {compiled / len(cases):.1%} | {right / len(cases):.1%} | {rejected} | {accepted} | {slow} "
            f"| {worker.start_mb:.0f} / {worker.peak_mb:.0f} |"
        )


def print_times(title: str, results: list[Results], names: list[str], counts: Callable[[str, Results], bool]) -> None:
    """TTFM and TBM of each engine over the results that count for it."""
    print(f"\n{title}:\n\n| engine | schemas | tokens | TTFM ms 50 / 90 / 99 / max | TTFM again ", end="")
    print("| TBM µs mean / 50 / 90 / 99 / 99.9 / max | TBM warm | TBM again |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in names:
        chosen = [one[name] for one in results if counts(name, one)]
        first, warm, again = ([t for m in chosen for t in getattr(m, k)] for k in ("first_us", "warm_us", "again_us"))
        at = (50, 90, 99, 100)
        ttfm = [percentiles(values, at) for values in ([m.ttfm_ms for m in chosen], [m.again_ttfm_ms for m in chosen])]
        cells = [name, str(len(chosen)), str(len(first)), *ttfm, times(first), times(warm), times(again)]
        print(f"| {' | '.join(cells)} |")


def print_twin(results: list[Results]) -> None:
    found = [one["domino"] for one in results if "domino" in one]
    differs = [text for measured in found for text in measured.twin_differs]
    print(f"\nplain-Python twin: {sum(m.twin_checked for m in found)} masks compared, {len(differs)} differ")
    for text in differs[:N_FIRST_SHOWN]:
        print(f"  {text}")


# --- fixed constraints ------------------------------------------------------------------------------------------------


def run_fixed(options: argparse.Namespace, tokenizer: str) -> dict[str, Any]:
    """The fixed constraints through all engines; prints a table."""
    encode = load(tokenizer)[1].encode
    workers = start_workers(options.engines, tokenizer, max(options.limit, 120.0))
    print(f"\n### {tokenizer}, fixed constraints\n\n| constraint | engine | tokens | refused texts ", end="")
    print(
        "| TTFM ms first / again | cold µs mean / 99 / max | steady µs mean / 50 / 99 |\n|---|---|--:|--:|--:|--:|--:|"
    )
    found: dict[str, Any] = {}
    for turn, case in enumerate(FIXED):
        job = Job(case.task, tuple(tuple(encode(text)) for text in case.texts), options.rounds, options.check_twin)
        results = in_turns(workers, job, turn)
        found[case.task.name] = {name: asdict(measured) for name, measured in results.items()}
        for name in workers:
            print(f"| {case.task.name} | {name} | {_fixed_cells(results[name])} |", flush=True)
        if options.check_twin:
            print_twin([results])
    for worker in workers.values():
        worker.stop()
    return found


def _fixed_cells(measured: Measured) -> str:
    if measured.error:
        return f"- | {measured.error.splitlines()[0][:60]} | - | - | -"
    cold, steady = measured.first_us, measured.warm_us
    return (
        f"{len(cold)} | {sum(not accepted for accepted in measured.accepted)} "
        f"| {_number(measured.ttfm_ms)} / {_number(measured.again_ttfm_ms)} "
        f"| {_number(float(np.mean(cold)))} / {percentiles(cold, (99, 100))} "
        f"| {_number(float(np.mean(steady)))} / {percentiles(steady, (50, 99))}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder or git directory of JSONSchemaBench")
    parser.add_argument("--fixed", action="store_true", help="the fixed constraints")
    parser.add_argument("--sample", type=int, default=200, help="schemas in all (0: every one)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokenizer", nargs="+", default=["deepseek"], help="smollm2, deepseek, gemma3, …")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES))
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a schema and engine")
    parser.add_argument("--rounds", type=int, default=20, help="how often fixed texts are read once more")
    parser.add_argument("--check-twin", type=int, nargs="?", const=1, default=0, metavar="N",
                        help="compare N masks a constraint with the plain-Python twin")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write everything measured here")
    options = parser.parse_args()
    if not options.data and not options.fixed:
        parser.error("give --data PATH, or --fixed, or both")
    machine = {**describe_machine(), **versions_of("llguidance", "xgrammar")}
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    written: dict[str, Any] = {"machine": machine}
    for tokenizer in options.tokenizer:
        if options.fixed:
            written[f"fixed {tokenizer}"] = run_fixed(options, tokenizer)
        if options.data:
            written[f"sample {tokenizer}"] = run_sample(options, tokenizer)
    if options.json:
        options.json.write_text(json.dumps(written))


if __name__ == "__main__":
    main()
