"""What size costs: schemas with thousands of values, keys, characters, items, definitions and levels beside a flat one.

    python benchmarks/json_schema_sizes.py [--tokenizer smollm2] [--rounds 20]

Targets: every schema compiles in under 100 ms, and its masks take at most three times the flat schema's. Steady masks
(every state known) are compared with the flat schema's; cold ones, made when a text first comes by, with the flat
schema's cold ones and with a small schema of the same shape that reads the same text, so that both meet as many new
states. Each measurement has an engine of its own that has read a text of another flat schema before. Each text is also
judged by the slow recognizer.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import domino_py as domino
from benchmarks.json_schema_bench import Stopwatch, load_vocabulary, read_tokens
from domino_py.bench.machine import describe_machine, versions_of
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary


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


FEW_KEYS = (3, 399, 0, 17, 200, 151)
OTHER = (
    closed({"title": STRING, "year": INTEGER, "open": {"type": "boolean"}}),
    {"title": TEXT, "year": 7, "open": True},
)
SMALL: dict[str, Any] = {  # of the same shape, for the same text
    "flat": CASES["flat"][0],
    "enum of 5,000": {"enum": [f"value number {i}" for i in range(4_320, 4_323)]},
    "400 optional keys": closed({f"key{i}": INTEGER for i in FEW_KEYS}),
    "maxLength 100,000": {"type": "string", "maxLength": 2_000},
    "maxItems 10,000": {"type": "array", "items": INTEGER, "maxItems": 100},
    "one item of 10,000": {"type": "array", "contains": {"const": 7}, "maxItems": 100},
    "200 definitions": {
        "$ref": "#/$defs/d0",
        "$defs": {
            f"d{i}": closed({"a": {"$ref": f"#/$defs/d{(i + 1) % 5}"}, "b": {"$ref": "#/$defs/d4"}}) for i in range(5)
        },
    },
    "50 levels": nested(50)[0],
    "oneOf of 200": {
        "oneOf": [closed({"kind": {"const": f"k{i}"}, "value": INTEGER}, required=["kind"]) for i in (122, 123, 124)]
    },
}


def measure(vocabulary: Vocabulary, schema: Any, value: Any, n_rounds: int) -> dict[str, Any]:
    """Compile a schema and read the text of a value: cold once, then steadily."""
    engine = Engine(vocabulary)
    read_tokens(Compiled(domino.json_schema(OTHER[0]).expression, vocabulary, engine=engine), json.dumps(OTHER[1]), [])
    watch = Stopwatch()
    constraint = domino.json_schema(schema)
    compile_s = watch.elapsed_s
    watch = Stopwatch()
    compiled = Compiled(constraint.expression, vocabulary, engine=engine)
    compiled.matcher().mask()
    first_s = watch.elapsed_s
    text = json.dumps(value)
    rounds: list[list[float]] = []
    ok = constraint.matches(text)
    for _ in range(n_rounds):
        rounds.append([])
        ok = read_tokens(compiled, text, rounds[-1]) and ok
    steady = np.concatenate(rounds[1:])
    return {"ok": ok, "compile_s": compile_s, "first_s": first_s, "cold": np.array(rounds[0]), "steady": steady}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", default="smollm2")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    print(", ".join(f"{key} {value}" for key, value in {**describe_machine(), **versions_of()}.items()), "\n")
    vocabulary = load_vocabulary(options.tokenizer)
    gc.collect()
    gc.freeze()
    heads = (
        "compile ms",
        "first mask ms",
        "cold mean, p50 / p99 µs",
        "to flat",
        "to small",
        "steady p50 / p99 µs",
    )
    print(f"| schema | ok | tokens | {' | '.join(heads)} | to flat |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    flat = flat_cold = 0.0
    for name in ("warm-up", *CASES):
        schema, value = CASES["flat" if name == "warm-up" else name]
        found = measure(vocabulary, schema, value, options.rounds)
        small = measure(vocabulary, SMALL.get(name, schema), value, 2)["cold"].mean()
        cold, steady = found["cold"], found["steady"]
        if name == "flat":
            flat, flat_cold = float(np.median(steady)), float(cold.mean())
        if name != "warm-up":
            spread = f"{cold.mean():.0f}, {np.median(cold):.1f} / {np.percentile(cold, 99):.0f}"
            kept = f"{np.median(steady):.2f} / {np.percentile(steady, 99):.1f}"
            row = (name, "ok" if found["ok"] else "WRONG", len(cold), f"{1e3 * found['compile_s']:.1f}")
            ratios = (
                *(f"{cold.mean() / other:.1f}" for other in (flat_cold, small)),
                kept,
                f"{np.median(steady) / flat:.1f}",
            )
            print("|", " | ".join(map(str, (*row, f"{1e3 * found['first_s']:.1f}", spread, *ratios))), "|", flush=True)


if __name__ == "__main__":
    main()
