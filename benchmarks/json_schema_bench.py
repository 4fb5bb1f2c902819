"""How much of JSONSchemaBench compiles and is decided right, and how long the first mask and every further one take.

    python benchmarks/json_schema_bench.py --data PATH [--sample 300] [--tokenizer smollm2] [--json FILE]

PATH: a folder of MaskBench's files, or a git directory of the repository guidance-ai/jsonschemabench. Instances are
written as MaskBench's runner writes them (`json.dumps`, blanks after commas and colons, raw UTF-8). Without
`--tokenizer` texts are judged by the slow recognizer; with it also token by token through the matcher, and TTFM (schema
to first mask) and TBM (a mask and an advance) are timed. A schema that no value satisfies counts as compiled where the
data has no valid instance. Time limits interrupt Python code, one schema at a time. Times are the wall's or, where it
was less, the processor's: on a busy machine others' work does not count.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import domino_py as domino
from benchmarks.json_schema_data import Case, Source, read_cases, sample
from domino_py.bench.machine import describe_machine, versions_of
from domino_py.constraints.base import Constraint
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.errors import DominoError, EmptyLanguage
from tokenizer_align.vocabulary import Vocabulary


@dataclass
class Outcome:
    """What became of one schema. `refused`: keywords or the error's name; `wrong`: instances decided wrong."""

    name: str
    split: str
    n_valid: int = 0
    n_invalid: int = 0
    compiled: bool = False
    refused: list[str] = field(default_factory=list)
    message: str = ""
    wrong: list[dict[str, Any]] = field(default_factory=list)
    compile_s: float = 0.0
    ttfm_s: float | None = None
    tbm_us: list[float] = field(default_factory=list)

    @property
    def is_correct(self) -> bool:
        return self.compiled and not self.wrong


class OutOfTime(Exception):
    """The time limit of one schema is over."""


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raises OutOfTime inside the block after so many seconds."""

    def stop(*_: object) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


class Stopwatch:
    """Seconds since it was made, by the wall or by the processor, whichever is less."""

    def __init__(self) -> None:
        self.wall, self.processor = time.perf_counter(), time.process_time()

    @property
    def elapsed_s(self) -> float:
        return min(time.perf_counter() - self.wall, time.process_time() - self.processor)


def judge(case: Case, build: Callable[[Any], Constraint], engine: Engine | None, limit_s: float) -> Outcome:
    """Compile one schema and decide all its instances."""
    n_valid = sum(instance.valid for instance in case.instances)
    outcome = Outcome(case.name, case.split, n_valid, len(case.instances) - n_valid)
    try:
        with time_limit(limit_s):
            _judge_within(case, build, engine, outcome)
    except OutOfTime:
        outcome.refused.append("out of time")
        outcome.compiled = False
    except Exception as error:  # a crash is a result like any other here
        outcome.refused.append(f"crash: {type(error).__name__}")
        outcome.message = repr(error)[:300]
        outcome.compiled = False
    return outcome


def _judge_within(case: Case, build: Callable[[Any], Constraint], engine: Engine | None, outcome: Outcome) -> None:
    watch = Stopwatch()
    try:
        constraint = build(case.schema)
        outcome.compile_s = watch.elapsed_s
        compiled = None if engine is None else Compiled(constraint.expression, engine.vocabulary, engine=engine)
        if compiled is not None:
            compiled.matcher().mask()
            outcome.ttfm_s = watch.elapsed_s
    except EmptyLanguage as error:
        outcome.compiled = not outcome.n_valid
        outcome.refused = [] if outcome.compiled else ["EmptyLanguage"]
        outcome.message = str(error)[:300]
        return
    except DominoError as error:
        outcome.compile_s = watch.elapsed_s
        problems = getattr(error, "problems", ())
        outcome.refused = sorted({problem.keyword or "(combined)" for problem in problems}) or [type(error).__name__]
        outcome.message = str(error)[:600]
        return
    outcome.compiled = True
    for i, instance in enumerate(case.instances):
        text = json.dumps(instance.value, ensure_ascii=False)
        ways = {"text": constraint.matches(text)}
        if compiled is not None:
            ways["tokens"] = read_tokens(compiled, text, outcome.tbm_us)
        if any(accepted != instance.valid for accepted in ways.values()):
            outcome.wrong.append({"test": i, "valid": instance.valid, "description": instance.description, **ways})


def read_tokens(compiled: Compiled, text: str, times_us: list[float]) -> bool:
    """Whether the matcher takes the text token by token; notes the time of each mask with its advance."""
    vocabulary = compiled.vocabulary
    assert vocabulary.encode is not None
    matcher = compiled.matcher()
    for token_id in vocabulary.encode(text):
        watch = Stopwatch()
        mask = matcher.mask()
        if not int(mask[token_id >> 5]) >> (token_id & 31) & 1:
            return False
        matcher.advance(token_id)
        times_us.append(1e6 * watch.elapsed_s)
    return matcher.is_complete()


def tabulate(outcomes: list[Outcome]) -> Table:
    """The figures per split."""
    table = Table(title="JSONSchemaBench")
    table.add_column("split")
    heads = ("schemas", "compiled", "correct", "valid rejected", "invalid accepted", "compile ms 50 / 99 / max")
    for head in (*heads, "TTFM ms 50 / 90 / 99 / max", "TBM µs 50 / 90 / 99 / max"):
        table.add_column(head, justify="right")
    splits = sorted({outcome.split for outcome in outcomes})
    for title, members in [(s, [o for o in outcomes if o.split == s]) for s in splits] + [("all", outcomes)]:
        wrong = [one for outcome in members for one in outcome.wrong]
        table.add_row(
            title,
            str(len(members)),
            f"{sum(o.compiled for o in members)} ({sum(o.compiled for o in members) / len(members):.1%})",
            f"{sum(o.is_correct for o in members)} ({sum(o.is_correct for o in members) / len(members):.1%})",
            str(sum(one["valid"] for one in wrong)),
            str(sum(not one["valid"] for one in wrong)),
            quantiles([1e3 * o.compile_s for o in members], (50, 99, 100)),
            quantiles([1e3 * o.ttfm_s for o in members if o.ttfm_s is not None], (50, 90, 99, 100)),
            quantiles([t for o in members for t in o.tbm_us], (50, 90, 99, 100)),
        )
    return table


def quantiles(values: list[float], at: tuple[int, ...]) -> str:
    return " / ".join(f"{np.percentile(values, q):,.1f}" for q in at) if values else "-"


def load_vocabulary(name: str) -> Vocabulary:
    """A real vocabulary as the tests know it."""
    from tests.real.tokenizers import real_vocabulary

    return real_vocabulary(name)


def build_with(arguments: list[str]) -> Callable[[Any], Constraint]:
    """The front end with options given as `name=value` (values are JSON, or else text)."""
    options: dict[str, Any] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        try:
            options[name] = json.loads(value)
        except json.JSONDecodeError:
            options[name] = value
    return lambda schema: domino.json_schema(schema, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder or git directory")
    parser.add_argument("--sample", type=int, default=300, help="schemas in all (0: every one)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", action="append", help="only this split; repeat the option")
    parser.add_argument("--tokenizer", help="smollm2, deepseek, gemma3, …: also token by token")
    parser.add_argument("--option", action="append", default=[], help="name=value for json_schema(); repeat the option")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a schema")
    parser.add_argument("--show", type=int, default=20, help="how many failures to print")
    parser.add_argument("--json", type=Path, help="write every outcome here")
    options = parser.parse_args()
    source = Source(options.data)
    names = sample(source.names(), options.sample or None, options.seed)
    if options.split:
        names = [name for name in names if any(f"/{split}" in f"/{name}" for split in options.split)]
    console = Console()
    machine = {**describe_machine(), **versions_of()}
    console.print(", ".join(f"{key} {value}" for key, value in machine.items()))
    engine = None
    build = build_with(options.option)
    if options.tokenizer:
        engine = Engine(load_vocabulary(options.tokenizer))
        Compiled(build({}).expression, engine.vocabulary, engine=engine).matcher().mask()
        gc.collect()
        gc.freeze()  # what the libraries around hold is not searched again and again while schemas are timed
    cases = track(read_cases(source, names), total=len(names), console=console, description="schemas")
    outcomes = [judge(case, build, engine, options.limit) for case in cases]
    report(console, outcomes, options.show)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "outcomes": [asdict(o) for o in outcomes]}))


def report(console: Console, outcomes: list[Outcome], n_shown: int) -> None:
    """Print the figures, the reasons of refusals, and some failures."""
    console.print(tabulate(outcomes))
    for reason, count in Counter(reason for o in outcomes for reason in o.refused).most_common():
        console.print(f"refused {count:5d}  {reason}", markup=False)
    for outcome in [o for o in outcomes if not o.is_correct][:n_shown]:
        console.print(f"{outcome.name}: {outcome.message or outcome.wrong}"[:400], markup=False)


if __name__ == "__main__":
    main()
