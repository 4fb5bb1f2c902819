"""What size costs: schemas with thousands of values, keys, characters, items, definitions and levels beside a flat one.

    python benchmarks/json_schema_sizes.py [--tokenizer smollm2] [--rounds 20]

Targets: every schema compiles in under 100 ms, and its masks take at most three times the flat schema's (steady, p50).
Each text is also judged by the slow recognizer; "ok" says that both take it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import domino_py as domino
from benchmarks.json_schema_bench import load_vocabulary, read_tokens
from domino_py.bench.machine import describe_machine, versions_of
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def nested(n_levels: int) -> tuple[Any, Any]:
    """A schema and a value, so many objects inside each other."""
    schema: Any = {"type": "integer"}
    value: Any = 1
    for _ in range(n_levels):
        schema, value = closed({"inner": schema}, required=["inner"]), {"inner": value}
    return schema, value


TEXT = "The committee met on Tuesday and agreed, after a long debate, to postpone the vote. " * 3
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
DEFINITIONS = {
    f"d{i}": closed({"a": {"$ref": f"#/$defs/d{(7 * i + 1) % 200}"}, "b": {"$ref": f"#/$defs/d{(3 * i + 2) % 200}"}})
    for i in range(200)
}
CASES: dict[str, tuple[Any, Any]] = {
    "flat": (closed({"name": STRING, "age": INTEGER, "ok": {"type": "boolean"}}), {"name": TEXT, "age": 3, "ok": True}),
    "enum of 5,000": ({"enum": [f"value number {i}" for i in range(5_000)]}, "value number 4321"),
    "400 optional keys": (
        closed({f"key{i}": INTEGER for i in range(400)}),
        {f"key{i}": i for i in (3, 399, 0, 17, 200, 151)},
    ),
    "maxLength 100,000": ({"type": "string", "maxLength": 100_000}, TEXT),
    "maxItems 10,000": ({"type": "array", "items": INTEGER, "maxItems": 10_000}, list(range(60))),
    "one item of 10,000": ({"type": "array", "contains": {"const": 7}, "maxItems": 10_000}, list(range(60))),
    "200 definitions": ({"$ref": "#/$defs/d0", "$defs": DEFINITIONS}, {"a": {"b": {"a": {}}}, "b": {}}),
    "50 levels": nested(50),
    "oneOf of 200": (
        {"oneOf": [closed({"kind": {"const": f"k{i}"}, "value": INTEGER}, required=["kind"]) for i in range(200)]},
        {"kind": "k123", "value": 5},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", default="smollm2")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in {**describe_machine(), **versions_of()}.items()), "\n")
    engine = Engine(load_vocabulary(options.tokenizer))
    print("| schema | ok | tokens | compile ms | first mask ms | cold p50 / p99 µs | steady p50 / p99 µs | to flat |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    flat = 0.0
    for name, (schema, value) in [("warm-up", CASES["flat"]), *CASES.items()]:
        text = json.dumps(value)
        began = time.process_time()  # of the processor, so that a busy machine does not count
        constraint = domino.json_schema(schema)
        compiled_s = time.process_time() - began
        started = time.perf_counter()
        compiled = Compiled(constraint.expression, engine.vocabulary, engine=engine)
        compiled.matcher().mask()
        first_s = time.perf_counter() - started
        rounds: list[list[float]] = []
        ok = constraint.matches(text)
        for _ in range(options.rounds):
            rounds.append([])
            ok = read_tokens(compiled, text, rounds[-1]) and ok
        cold, steady = np.array(rounds[0]), np.concatenate(rounds[1:])
        flat = float(np.percentile(steady, 50)) if name == "flat" else flat
        if name != "warm-up":
            print(
                f"| {name} | {'ok' if ok else 'WRONG'} | {len(cold)} | {1e3 * compiled_s:.1f} | {1e3 * first_s:.1f} "
                f"| {np.percentile(cold, 50):.1f} / {np.percentile(cold, 99):.0f} | {np.percentile(steady, 50):.2f} / "
                f"{np.percentile(steady, 99):.1f} | {np.percentile(steady, 50) / flat:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
