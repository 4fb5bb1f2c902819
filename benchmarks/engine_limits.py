"""What the engine holds and how it scales: memory over many constraints, a batch on several threads, a fresh process.

    python benchmarks/engine_limits.py memory [--constraints 10000] [--vocabulary deepseek]
    python benchmarks/engine_limits.py fill [--threads 2]
    python benchmarks/engine_limits.py start

memory: compiles different schemas, makes the masks of a text under each, drops them; resident memory on the way. fill:
the masks of 64 different rows in one call, kept masks dropped before each call, on one thread and on several, compared.
start: a fresh process from its first import to the first mask of a flat schema and to the mask inside a string.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import domino_py as domino
from domino_py.bench.machine import describe_machine, versions_of
from tokenizer_align import kernels
from tokenizer_align.fill import fill
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary


def resident_mb() -> float:
    """Resident memory of this process; NaN where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError):
        return float("nan")


def drawn_schema(seed: int) -> dict[str, Any]:
    """A schema that shares no key with those of other seeds."""
    draw = random.Random(seed)
    kinds: list[dict[str, Any]] = [
        {"type": "string"},
        {"type": "integer", "minimum": seed % 50},
        {"type": "string", "maxLength": draw.randrange(1, 200)},
        {"enum": [f"v{seed}_{n}" for n in range(draw.randrange(2, 20))]},
        {"type": "array", "items": {"type": "number"}},
        {"type": "object", "properties": {f"in{seed}_{n}": {"type": "boolean"} for n in range(4)}},
        {"type": "string", "pattern": f"^[a-z]{{2,{seed % 30 + 3}}}-[0-9]+$"},
    ]
    properties = {f"key_{seed}_{n}": draw.choice(kinds) for n in range(draw.randrange(2, 8))}
    return {"type": "object", "properties": properties, "required": list(properties)[:3]}


def measure_memory(vocabulary: Vocabulary, n_constraints: int) -> None:
    print("\n| constraints | resident MB | states | bytes held by kind | s |\n|--:|--:|--:|---|--:|")
    started = time.perf_counter()
    marks = {1, 10, 50, 100, 300, *range(1000, n_constraints + 1, 1000), n_constraints}
    for i in range(1, n_constraints + 1):
        compiled = domino.compile(domino.json_schema(drawn_schema(i)), vocabulary, tokenization="any")
        matcher = compiled.matcher()
        for byte in matcher.shortest_completion()[:30]:
            matcher.mask()
            matcher.advance(vocabulary.ids_by_bytes[bytes([byte])][0])
        if i in marks:
            gc.collect()
            figures = compiled.counters()
            held = ", ".join(
                f"{key[6:]} {value / 1e6:.1f}" for key, value in figures.items() if key.startswith("bytes_")
            )
            print(
                f"| {i} | {resident_mb():.0f} | {figures['states']} | {held} | {time.perf_counter() - started:.0f} |",
                flush=True,
            )


def rows_of(vocabulary: Vocabulary, n_rows: int) -> list[Matcher]:
    """Texts at different places under different schemas."""
    rows: list[Matcher] = []
    for seed in range(1, n_rows + 1):
        matcher = domino.compile(domino.json_schema(drawn_schema(seed)), vocabulary, tokenization="any").matcher()
        text = matcher.shortest_completion()
        for byte in text[: seed % len(text)]:
            matcher.advance(vocabulary.ids_by_bytes[bytes([byte])][0])
        rows.append(matcher)
    return rows


def drop_kept(rows: list[Matcher]) -> None:
    for matcher in rows:
        matcher.compiled.kept.drop()
        matcher.compiled.engine.rows.drop()
        matcher.configuration.mask_row = None


def measure_fill(vocabulary: Vocabulary, n_threads: int, n_rounds: int = 400) -> None:
    """One call on one and on several threads, by turns.

    On a busy machine the wall says little, so the processor time is shown too: outside the kernel, in the kernel (all
    threads), and `path`, what the call takes where every thread has a core: the first and a share of the second,
    since threads take one row at a time.
    """
    rows = rows_of(vocabulary, 64)
    expected = np.stack([matcher.mask() for matcher in rows])
    out = np.zeros_like(expected)
    walked_s: list[float] = []
    kernel = kernels.walk_rows

    def timed(*arguments: Any) -> None:
        started = time.thread_time()
        kernel(*arguments)
        walked_s.append(time.thread_time() - started)

    figures: dict[int, list[tuple[float, float, float, float]]] = {1: [], n_threads: []}
    kernels.walk_rows = timed  # type: ignore[assignment]
    try:
        for _ in range(n_rounds):
            for n in figures:
                drop_kept(rows)
                out[:] = 0
                walked_s.clear()
                wall_s, cpu_s = time.perf_counter(), time.process_time()
                fill(rows, out, n)
                wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
                assert np.array_equal(out, expected)
                if len(walked_s) == n:  # else a thread had not begun when nothing was left
                    serial_s = cpu_s - sum(walked_s)
                    figures[n].append((wall_s, serial_s, sum(walked_s), serial_s + sum(walked_s) / n))
    finally:
        kernels.walk_rows = kernel
    print("\n| 64 rows, none kept, best (median) us | calls | wall | outside the kernel | in the kernel | path |")
    print("|---|--:|--:|--:|--:|--:|")
    for n, found in figures.items():
        shown = [f"{1e6 * min(each):.0f} ({1e6 * float(np.median(each)):.0f})" for each in zip(*found, strict=True)]
        print(f"| {n} threads | {len(found)} | {' | '.join(shown)} |")
    one, several = (np.array(figures[n]) for n in (1, n_threads))
    for name, at in (("wall", 0), ("path", 3)):
        best, median = (float(of(one[:, at]) / of(several[:, at])) for of in (np.min, np.median))
        print(f"{n_threads} threads, {name}: {best:.2f} times as fast, best against best; medians {median:.2f}")


_FRESH = """
import time
started = time.perf_counter(), time.process_time()
def note(what):
    wall_s, cpu_s = time.perf_counter() - started[0], time.process_time() - started[1]
    print(f"| {{what}} | {{1000 * wall_s:.0f}} | {{1000 * cpu_s:.0f}} |")
from tests.real.tokenizers import real_tokenizer, real_vocabulary
real_tokenizer({name!r})
note("the tokenizer itself, with its library")
started = time.perf_counter(), time.process_time()
import numpy, numba
import domino_py as domino
note("imports")
vocabulary = real_vocabulary({name!r})
note("vocabulary")
from tokenizer_align.warm_up import warm_up
warm_up(laws=False)
note("kernels")
schema = {{"type": "object", "properties": {{"a": {{"type": "string"}}}}, "required": ["a"]}}
matcher = domino.compile(domino.json_schema(schema), vocabulary, tokenization="any").matcher()
note("compiled")
matcher.mask()
note("first mask")
for byte in b'{{"a":"':
    matcher.advance(vocabulary.ids_by_bytes[bytes([byte])][0])
matcher.mask()
note("mask inside a string")
"""


def measure_start(name: str) -> None:
    for attempt in ("caches as they are", "warm"):
        print(f"\n| {attempt} | wall ms | CPU ms |\n|---|--:|--:|", flush=True)
        root = str(Path(__file__).resolve().parent.parent)
        subprocess.run(
            [sys.executable, "-c", _FRESH.format(name=name)], check=True, env={**os.environ, "PYTHONPATH": root}
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["memory", "fill", "start"])
    parser.add_argument("--vocabulary", default="deepseek")
    parser.add_argument("--constraints", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in {**describe_machine(), **versions_of()}.items()))
    if chosen.what == "start":
        measure_start(chosen.vocabulary)
        return
    from tests.real.tokenizers import real_vocabulary

    vocabulary = real_vocabulary(chosen.vocabulary)
    if chosen.what == "memory":
        measure_memory(vocabulary, chosen.constraints)
    else:
        measure_fill(vocabulary, chosen.threads)


if __name__ == "__main__":
    main()
