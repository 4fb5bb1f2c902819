"""What cold masks cost under a law of tokenization, by kind of constraint.

Each kind begins with a new engine (what lies on disk is read, kernels are compiled before) and runs every constraint's
texts once through a matcher by their canonical tokens: mask, look at the bit, advance. Times are of the thread, in
microseconds; a step is the mask and the advance. Every mask is checked to hold the next token. Tokenizers are those of
the tests; with --data, schemas of JSONSchemaBench with their valid instances are a kind too.

    python -m benchmarks.law_cold smollm2 --laws aligned canonical
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import domino_py as domino
from benchmarks.json_schema_data import Source, read_cases, sample
from benchmarks.law_masks import SCHEMA, WORDS, texts
from domino_py.bench.workloads import WORKLOADS
from tests.real.tokenizers import real_vocabulary
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.compiled import compile_expression
from tokenizer_align.engines import engine_for
from tokenizer_align.errors import DominoError
from tokenizer_align.vocabulary import Vocabulary

Kind = Iterator[tuple[domino.Constraint, list[str]]]
SEPARATORS = [(",", ":"), (", ", ": ")]


def schema_kind(schema: Any, make: Callable[[random.Random], Any], n: int = 20) -> Kind:
    """One schema with documents, compact and spaced by turns."""
    rng = random.Random(1)
    made = [json.dumps(make(rng), ensure_ascii=False, separators=SEPARATORS[i % 2]) for i in range(n)]
    yield domino.json_schema(schema), made


def free_strings() -> Kind:
    yield domino.json_schema(SCHEMA), texts(20)


def short_strings() -> Kind:
    for limit in (8, 24, 200):
        field = {"type": "string", "maxLength": limit}
        schema = {
            "type": "object",
            "properties": {"name": field, "notes": {"type": "array", "items": field}, "note": field | {"minLength": 2}},
            "required": ["name", "note"],
            "additionalProperties": False,
        }

        def make(rng: random.Random, limit: int = limit) -> Any:
            some = [" ".join(rng.choices(WORDS, k=5))[:limit].rstrip("\\") for _ in range(3)]
            return {"name": some[0], "notes": some[:2], "note": some[2]}

        yield from schema_kind(schema, make, 8)


def patterns() -> Kind:
    properties = {
        "date": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "id": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4,6}$"},
        "slug": {"type": "string", "pattern": "^[a-z][a-z0-9-]{1,30}$"},
        "mail": {"type": "string", "format": "email"},
        "word": {"type": "string", "pattern": "^[A-Za-z ]+$", "maxLength": 40},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}

    def make(rng: random.Random) -> Any:
        words = rng.choices(["red", "lamp", "quick", "theory", "ground", "zero"], k=2)
        return {
            "date": f"20{rng.randrange(10, 99)}-0{rng.randrange(1, 9)}-1{rng.randrange(10)}",
            "id": f"{rng.choice(['ABC', 'XYZ', 'QRT'])}-{rng.randrange(1000, 999999)}",
            "slug": "-".join(words),
            "mail": f"{words[0]}.{words[1]}@example.org",
            "word": " ".join(words).title(),
        }

    yield from schema_kind(schema, make)


def records() -> Kind:
    item = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["positive", "negative", "neutral", "not sure"]},
            "score": {"type": "integer", "minimum": 0, "maximum": 100},
            "ratio": {"type": "number"},
            "ok": {"type": ["boolean", "null"]},
        },
        "required": ["kind", "score"],
        "additionalProperties": False,
    }
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item, "maxItems": 5}}}

    def make(rng: random.Random) -> Any:
        kinds = item["properties"]["kind"]["enum"]  # type: ignore[index]
        return {
            "items": [
                {"kind": rng.choice(kinds), "score": rng.randrange(101), "ratio": rng.random(), "ok": None}
                for _ in range(rng.randrange(4))
            ]
        }

    yield from schema_kind(schema, make)


def workloads() -> Kind:
    for workload in WORKLOADS:
        yield workload.constraint(), [answer for _, answer in workload.examples]


def any_json() -> Kind:
    yield domino.json(), texts(10)


REGEXES = {
    r"\d{4}-\d{2}-\d{2}": ["2024-01-31", "1999-12-09"],
    r"[A-Z][a-z]+( [A-Z][a-z]+){1,2}": ["Ada Lovelace", "Ludwig Van Beethoven"],
    r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,4}": ["ada@example.org", "jo.smith+x@mail.co"],
    r"\(\d{3}\) \d{3}-\d{4}": ["(555) 010-9999"],
    r"(yes|no|maybe)(, because [a-zA-Z ,']{5,80}\.)?": ["yes", "no, because it's cold, and late."],
    r"#[0-9a-f]{6}": ["#00ff7f"],
    r"[01]{8}( [01]{8})*": ["01101100 11110000"],
    r"(\w+ ){3}\w+": ["one two three four", "naïve Zoë went away"],
    r"https?://[a-z]+(\.[a-z]+)+(/[a-z0-9_-]*)*": ["https://example.org/a/b_c", "http://docs.python.org/"],
    r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?": ["-12.5e10", "0"],
    r"SELECT [a-z_]+(, [a-z_]+)* FROM [a-z_]+( WHERE [a-z_]+ = '[^']*')?;": ["SELECT a, bc FROM t WHERE x = 'y z';"],
    r"[^\n]{1,60}\n": ["A line of text, that ends.\n"],
    r"(\d{1,3}\.){3}\d{1,3}": ["192.168.0.1"],
    r"[A-Za-z]{1,12}": ["Hello", "abracadabra"],
}
LONG_LETTERS = {
    "[a-z]{2,20}": ["hello", "pneumonoultramicrosc"],
    "[a-z]{20}": ["pneumonoultramicrosc"],
    "[a-z]{300}": ["thequickbrownfoxjumpsoverthelazydog" * 9][:1],
}
LONG_LETTERS["[a-z]{300}"] = [LONG_LETTERS["[a-z]{300}"][0][:300]]


def regexes() -> Kind:
    for pattern, some in REGEXES.items():
        yield domino.regex(pattern), some


def long_letters() -> Kind:
    for pattern, some in LONG_LETTERS.items():
        yield domino.regex(pattern), some


def choices() -> Kind:
    sets = [
        ["yes", "no", "maybe"],
        ["positive", "negative", "neutral", "mixed"],
        ["The lamp is broken.", "The lamp works.", "There is no lamp."],
        [f"item-{i}" for i in range(200)],
        [f"{a}{b}" for a, b in itertools.product(["pre", "un", "re", "dis"], ["do", "play", "cover", "view", "heat"])],
    ]
    for one in sets:
        yield domino.choice(one), one[:5]


def bench_kind(place: Path, n: int) -> Kind:
    source = Source(place)
    for case in read_cases(source, sample(source.names(), n, 5)):
        valid = [one.value for one in case.instances if one.valid][:2]
        try:
            made = [
                json.dumps(value, ensure_ascii=False, separators=SEPARATORS[i % 2]) for i, value in enumerate(valid)
            ]
            if made:
                yield domino.json_schema(case.schema), made
        except (DominoError, UnicodeEncodeError):
            continue


KINDS: dict[str, Callable[[], Kind]] = {
    "free strings": free_strings,
    "maxLength": short_strings,
    "patterns": patterns,
    "records": records,
    "workloads": workloads,
    "any JSON": any_json,
    "regexes": regexes,
    "choices": choices,
    "long letters": long_letters,
}


class Times:
    """Microseconds of one kind's steps."""

    def __init__(self) -> None:
        self.masks: list[float] = []
        self.steps: list[float] = []
        self.worst: tuple[float, str] = (0.0, "")
        self.n_wrong = self.n_constraints = 0

    def run(self, constraint: domino.Constraint, some: list[str], vocabulary: Vocabulary, law: str) -> None:
        assert vocabulary.encode is not None
        compiled = compile_expression(constraint.expression, vocabulary, law)
        self.n_constraints += 1
        for text in some:
            ids = vocabulary.encode(text)
            if vocabulary.decode(ids) != text.encode():
                continue
            matcher = compiled.matcher()
            for at, token in enumerate(ids):
                started = time.thread_time_ns()
                mask = matcher.mask()
                masked = time.thread_time_ns()
                legal = mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1)
                if legal:
                    matcher.advance(token)
                ended = time.thread_time_ns()
                self.masks.append((masked - started) / 1000)
                self.steps.append((ended - started) / 1000)
                if self.steps[-1] > self.worst[0]:
                    self.worst = self.steps[-1], f"{vocabulary.decode(ids[:at])[-40:]!r} {vocabulary.decode([token])!r}"
                if not legal:
                    self.n_wrong += 1
                    break

    def line(self) -> str:
        def of(values: list[float]) -> str:
            return " / ".join(f"{np.percentile(values, q):,.0f}" for q in (50, 90, 99, 100))

        n_slow = sum(one > 2000 for one in self.masks)
        return (
            f"{self.n_constraints:4} constraints, {len(self.steps):5} steps: mask {of(self.masks)}, "
            f"step {of(self.steps)}; "
            f"{n_slow} masks over 2 ms; sum {sum(self.steps) / 1e6:.2f} s; {self.n_wrong} wrong; worst {self.worst[1]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["smollm2"])
    parser.add_argument("--laws", nargs="+", default=["aligned", "canonical"])
    parser.add_argument("--kinds", nargs="+", default=None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--schemas", type=int, default=60)
    options = parser.parse_args()
    kinds = dict(KINDS)
    if options.data:
        kinds["JSONSchemaBench"] = lambda: bench_kind(options.data, options.schemas)
    if options.kinds:
        kinds = {name: make for name, make in kinds.items() if name in options.kinds}
    for name in options.names:
        vocabulary = real_vocabulary(name)
        engine = engine_for(vocabulary)
        started = time.process_time()
        rules = survival_for(engine).kept_with  # kept for all engines
        print(f"{name}, {vocabulary.n_rows} rows: tables in {time.process_time() - started:.2f} s", flush=True)
        for law in options.laws:  # kernels are compiled or loaded here
            for constraint in (
                domino.json_schema(SCHEMA),
                domino.regex("[a-z]{9}(ab|cd)+"),
                domino.choice(["a", "bc"]),
            ):
                Times().run(constraint, texts(3), vocabulary, law)
        del engine
        for law in options.laws:
            every = Times()
            for kind, make in kinds.items():
                gc.collect()
                times = Times()
                engine = engine_for(vocabulary)
                for constraint, some in make():
                    times.run(constraint, some, vocabulary, law)
                del engine
                print(f"  {law:9} {kind:15} {times.line()}", flush=True)
                every.masks += times.masks
                every.steps += times.steps
            print(f"  {law:9} {'all':15} {every.line()}", flush=True)
        del rules


if __name__ == "__main__":
    main()
