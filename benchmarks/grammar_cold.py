"""How long do masks take where a grammar's states are met for the first time, over many texts?

    python benchmarks/grammar_samples.py --out FILE        # a real model writes the texts
    python benchmarks/grammar_cold.py FILE [--kinds sql,arithmetic] [--tokenizer deepseek]

"new": masks that this process had not made before. "step": mask and advance of every token, in the order of the texts.
"again": the same once more. A call costs the lesser of its wall time and its thread's processor time. Each grammar has
an engine of its own whose kernels are loaded and whose vocabulary is prepared; the first mask includes compiling.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.grammar_samples import KINDS, finished
from benchmarks.mask_worker import load
from domino_py.bench.machine import describe_machine
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.warm_up import warm_up


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """µs, and what the call gave."""
    used, now = time.thread_time(), time.perf_counter()
    answer = call()
    wall = time.perf_counter() - now
    return 1e6 * min(wall, time.thread_time() - used), answer


def read(compiled: Compiled, texts: list[list[int]]) -> tuple[list[float], list[float]]:
    """µs of masks that are new, and of every step."""
    new, steps = list[float](), list[float]()
    for ids in texts:
        matcher = compiled.matcher()
        for token in ids:
            is_new = matcher.configuration.mask_row is None
            masked, _ = timed(matcher.mask)
            advanced, _ = timed(lambda matcher=matcher, token=token: matcher.advance(token))  # type: ignore[misc]
            steps.append(masked + advanced)
            if is_new:
                new.append(masked)
    return new, steps


def shown(values: list[float]) -> str:
    """mean / p50 / p99 / max."""
    return " / ".join(f"{value:,.1f}" for value in (np.mean(values), *np.percentile(values, (50, 99, 100))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path, help="what grammar_samples.py wrote")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["arithmetic", "sql"])
    parser.add_argument("--tokenizer", default="deepseek")
    options = parser.parse_args()
    tokenizer, vocabulary = load(options.tokenizer)
    lines = finished(options.samples).values()
    warm_up()
    print(describe_machine())
    print("| grammar | texts | tokens | first mask ms | new masks | µs mean / p50 / p99 / max | step | again |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in options.kinds:
        texts = [tokenizer.encode(line["text"]) for line in lines if line["kind"] == name]
        expr, engine = KINDS[name].constraint.expression, Engine(vocabulary)
        gc.collect()
        gc.disable()
        compiling, compiled = timed(lambda expr=expr, engine=engine: Compiled(expr, vocabulary, engine=engine))  # type: ignore[misc]
        first, _ = timed(compiled.matcher().mask)
        new, steps = read(compiled, texts)
        _, again = read(compiled, texts)
        gc.enable()
        print(f"| {name} | {len(texts)} | {len(steps)} | {(compiling + first) / 1e3:.2f} | {len(new)} | {shown(new)} "
              f"| {shown(steps)} | {shown(again)} |")  # fmt: skip


if __name__ == "__main__":
    main()
