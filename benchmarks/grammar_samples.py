"""Do texts that a real model samples under the ready grammars read as what they are meant to be? 200 of each grammar.

    python benchmarks/grammar_samples.py [--n 200] [--kinds sql,xml] [--out FILE] [--stop-after 280]

Judges: sqlglot for SQL, `ast` for Python's expressions, the standard library for XML, evaluation for arithmetic, a
regular expression for each chess move. Every text is sampled at temperature 1 with a seed of its own and must end
within --tokens. Finished texts are kept in --out (JSON lines); a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tempfile
import time
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import domino_py as domino
from domino_py.bench.machine import describe_machine, versions_of

TOPICS = (
    "orders", "customers", "planets", "songs", "trains", "invoices", "students", "recipes", "flights", "birds",
    "books", "sensors", "rivers", "players", "rooms", "tickets", "loans", "cameras", "farms", "cities",
)  # fmt: skip
_MOVE = re.compile(r"(?:[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|(?:[a-h]x)?[a-h](?:[2-7]|[18]=[QRBN])|O-O(?:-O)?)[+#]?")


def read_sql(text: str) -> None:
    import sqlglot

    if not isinstance(sqlglot.parse_one(text), sqlglot.exp.Query):
        raise ValueError("not a query")


def read_python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # such as 1 is 2, which is legal
        ast.parse(text, mode="eval")


def read_xml(text: str) -> None:
    ElementTree.fromstring(text)


def read_arithmetic(text: str) -> None:
    """Raises ZeroDivisionError where the value does not exist."""
    if not isinstance(eval(text, {"__builtins__": {}}), int | float):
        raise ValueError("not a number")


def read_chess(text: str) -> None:
    words = text.split(" ")
    if words[-1] in ("1-0", "0-1", "1/2-1/2"):
        words.pop()
    moves = [word for word in words if not re.fullmatch(r"[1-9][0-9]{0,2}\.", word)]
    wrong = [move for move in moves if not _MOVE.fullmatch(move)]
    if wrong or not moves or not words[0].endswith("."):
        raise ValueError(f"no moves: {wrong}")


@dataclass(frozen=True)
class Kind:
    """A ready grammar, what the model is asked, and who reads the answer (an exception: it cannot be read)."""

    constraint: domino.Constraint
    question: str
    read: Callable[[str], None]


KINDS = {
    "sql": Kind(domino.grammars.sql, "Write one SQL query about {topic}. Only SQL.", read_sql),
    "python": Kind(
        domino.grammars.python_expression, "Write a Python expression that filters a list of {topic}.", read_python
    ),
    "xml": Kind(
        domino.grammars.xml({"doc": ["lang"], "item": ["id"], "name": [], "note": []}, root="doc"),
        "Describe two {topic} as an XML document.",
        read_xml,
    ),
    "arithmetic": Kind(
        domino.grammars.arithmetic,
        "Write a sum that works out the price of some {topic}. Only the sum.",
        read_arithmetic,
    ),
    "chess": Kind(domino.grammars.chess, "Write the first moves of a game of chess between two {topic}.", read_chess),
}


def sample(model: Any, tokenizer: Any, name: str, seeds: list[int], n_tokens: int) -> list[dict[str, Any]]:
    """One line of the log for each seed."""
    kind = KINDS[name]
    chats = [[{"role": "user", "content": kind.question.format(topic=TOPICS[seed % len(TOPICS)])}] for seed in seeds]
    results = domino.generate(
        model, tokenizer, chats, kind.constraint, max_new_tokens=n_tokens, do_sample=True, seed=seeds[0], progress=False
    )
    lines = []
    for seed, result in zip(seeds, results, strict=True):
        problem = "" if kind.constraint.matches(result.text) else "does not match its grammar"
        try:
            kind.read(result.text)
        except ZeroDivisionError:
            problem = problem or "division by zero"
        except Exception as error:  # whatever a reader raises is its verdict
            problem = problem or f"{type(error).__name__}: {error}"[:200]
        lines.append(
            {"kind": name, "seed": seed, "text": result.text, "problem": problem,
             "n_tokens": len(result.token_ids), "finish_reason": result.finish_reason}
        )  # fmt: skip
    return lines


def finished(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """What earlier runs wrote; a half-written last line is left out."""
    found = {}
    for text in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        found[line["kind"], line["seed"]] = line
    return found


def report(lines: list[dict[str, Any]], kinds: list[str]) -> None:
    print("| grammar | texts | read | divide by zero | cannot be read | ended by the model | tokens: mean / max |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in kinds:
        own = [line for line in lines if line["kind"] == name]
        if not own:
            continue
        zero = sum(line["problem"] == "division by zero" for line in own)
        bad = [line for line in own if line["problem"] not in ("", "division by zero")]
        sizes = [line["n_tokens"] for line in own]
        by_model = sum(line["finish_reason"] == "stop" for line in own)
        print(f"| {name} | {len(own)} | {len(own) - zero - len(bad)} | {zero} | {len(bad)} | {by_model} "
              f"| {sum(sizes) / len(sizes):.0f} / {max(sizes)} |")  # fmt: skip
        for line in bad[:5]:
            print(f"  {line['text']!r}: {line['problem']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="texts of each grammar")
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--tokens", type=int, default=40, help="max_new_tokens")
    parser.add_argument("--batch", type=int, default=10, help="texts in one batch")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "domino-grammar-samples.jsonl")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds; run again to go on")
    options = parser.parse_args()
    started, done = time.monotonic(), finished(options.out)
    wanted = [(name, at) for at in range(0, options.n, options.batch) for name in options.kinds]
    model, tokenizer = domino.load_default()
    with options.out.open("a", encoding="utf-8") as log:
        for name, at in wanted:
            seeds = list(range(at, min(at + options.batch, options.n)))
            if all((name, seed) in done for seed in seeds):
                continue
            if time.monotonic() - started > options.stop_after:
                break
            for line in sample(model, tokenizer, name, seeds, options.tokens):
                log.write(json.dumps(line) + "\n")
                done[name, line["seed"]] = line
            log.flush()
            print(f"\r{len(done)} texts, {time.monotonic() - started:.0f} s", end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    print(describe_machine(), versions_of("sqlglot"))
    report(list(done.values()), options.kinds)


if __name__ == "__main__":
    main()
