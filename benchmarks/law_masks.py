"""What a law of tokenization costs: masks and steps under "any", "aligned" and "canonical", warm and cold.

Texts of a schema are run through the matcher by their canonical tokens: mask, look at the bit, advance. The first time
is cold (a new constraint; each law finds warm what those before it share with it), the second steady; then come other
texts of the schema. Times are of the thread, in microseconds; every mask is checked to hold the next token. Tokenizers
are those of the tests.

    python -m benchmarks.law_masks smollm2 gemma3
"""

from __future__ import annotations

import argparse
import json
import random
import time

import numpy as np

import domino_py as domino
from tests.real.tokenizers import real_vocabulary
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.engines import engine_for
from tokenizer_align.vocabulary import Vocabulary

LAWS = ("any", "aligned", "canonical")
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "kind": {"enum": ["positive", "negative", "neutral"]},
        "notes": {"type": "array", "items": {"type": "string"}},
        "sub": {"type": "object", "properties": {"ok": {"type": "boolean"}, "x": {"type": ["number", "null"]}}},
    },
    "required": ["name", "age"],
}
WORDS = [
    "Ada",
    "Lovelace",
    "wrote",
    "program,",
    "in",
    "1843:",
    "naïve,",
    "東京",
    "and",
    "😀;",
    "it's",
    "\\",
    "/",
    "odd.",
]


def texts(n: int, seed: int = 0) -> list[str]:
    """Documents of the schema, compact and spaced by turns."""
    rng = random.Random(seed)
    made = []
    for i in range(n):
        value = {
            "name": " ".join(rng.choices(WORDS, k=3)),
            "age": rng.randrange(100),
            "kind": rng.choice(SCHEMA["properties"]["kind"]["enum"]),  # type: ignore[index]
            "notes": [" ".join(rng.choices(WORDS, k=rng.randrange(1, 12))) for _ in range(rng.randrange(3))],
            "sub": {"ok": rng.random() < 0.5, "x": rng.choice([None, 1.5, -3])},
        }
        indent = 2 if i % 3 == 2 else None
        made.append(json.dumps(value, ensure_ascii=False, indent=indent, separators=(",", ":") if i % 3 == 0 else None))
    return made


def run(compiled: Compiled, documents: list[list[int]]) -> tuple[list[float], int]:
    """Seconds of each step, and how many masks did not hold the next token."""
    steps, n_wrong = [], 0
    for ids in documents:
        matcher = compiled.matcher()
        for token in ids:
            started = time.thread_time_ns()
            mask = matcher.mask()
            legal = mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1)
            if legal:
                matcher.advance(token)
            steps.append((time.thread_time_ns() - started) / 1000)
            if not legal:
                n_wrong += 1
                break
    return steps, n_wrong


def shares(values: list[float]) -> str:
    return " / ".join(f"{np.percentile(values, q):.1f}" for q in (50, 90, 99, 100))


def measure(name: str, vocabulary: Vocabulary, n_texts: int) -> None:
    assert vocabulary.encode is not None
    documents = [vocabulary.encode(text) for text in texts(n_texts)]
    expression = domino.json_schema(SCHEMA).expression
    engine = engine_for(vocabulary)
    started = time.process_time()
    survival_for(engine)
    print(f"{name}, {vocabulary.n_rows} rows: tables in {time.process_time() - started:.2f} s")
    for law in LAWS:
        run(compile_expression(expression, vocabulary, law), documents[:1])  # kernels are compiled or loaded here
    for law in LAWS:
        compiled = compile_expression(expression, vocabulary, law)
        cold, n_wrong = run(compiled, documents)
        steady = min((run(compiled, documents)[0] for _ in range(3)), key=sum)
        new, n_wrong_new = run(compiled, [vocabulary.encode(text) for text in texts(n_texts, seed=1)])
        print(
            f"  {law:9} p50/90/99/max: cold {shares(cold)}, steady {shares(steady)} (mean {np.mean(steady):.2f}), "
            f"other texts {shares(new)} (mean {np.mean(new):.2f}) µs; {len(cold)} and {len(new)} steps, "
            f"{n_wrong + n_wrong_new} without the next token"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["smollm2"])
    parser.add_argument("--texts", type=int, default=60)
    options = parser.parse_args()
    for name in options.names:
        measure(name, real_vocabulary(name), options.texts)


if __name__ == "__main__":
    main()
