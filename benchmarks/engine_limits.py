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
        matcher.configuration.mask_row = None


def measure_fill(vocabulary: Vocabulary, n_threads: int, n_rounds: int = 200) -> None:
    rows = rows_of(vocabulary, 64)
    expected = np.stack([matcher.mask() for matcher in rows])
    out = np.zeros_like(expected)
    times: dict[str, list[float]] = {}
    for _ in range(n_rounds):  # by turns, so that a busy moment of the machine meets all
        for n in (1, n_threads):
            drop_kept(rows)
            out[:] = 0
            started = time.perf_counter()
            fill(rows, out, n)
            times.setdefault(f"dropped, {n} threads", []).append(time.perf_counter() - started)
            assert np.array_equal(out, expected)
        started = time.perf_counter()
        fill(rows, out)
        times.setdefault("kept", []).append(time.perf_counter() - started)
    print("\n| 64 rows | best us | median us |\n|---|--:|--:|")
    for name, found in times.items():
        print(f"| {name} | {1e6 * min(found):.0f} | {1e6 * float(np.median(found)):.0f} |")
    one, several = times["dropped, 1 threads"], times[f"dropped, {n_threads} threads"]
    print(f"\n{n_threads} threads: {min(one) / min(several):.2f} times as fast, best against best")


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
warm_up()
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
