"""How long it takes until work can begin: importing, reading a tokenizer, reading it again, making its engine.

    python benchmarks/prepare.py [--vocabulary smollm2 deepseek gemma3] [--repeat 3]

Imports are timed in fresh processes. "read": a tokenizer's bytes worked out and tested, without any cache; "again": the
same from the disk cache; "trie" and "engine": what the first compiled constraint of a process adds.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

IMPORTS = {
    "import domino_py": "import domino_py",
    "domino.json()": "import domino_py as domino; domino.json()",
    "domino.compile": "import domino_py as domino; domino.compile",
    "domino.generate": "import domino_py as domino; domino.generate",
}
HEAVY = ("torch", "transformers", "numba")


def time_imports(n_repeat: int) -> None:
    """Print the best of some fresh processes, less that of a process that does nothing, and what was loaded."""
    empty = min(_process("pass")[0] for _ in range(n_repeat))
    print("| statement | s | loads |\n|---|--:|---|")
    for title, statement in IMPORTS.items():
        runs = [_process(statement) for _ in range(n_repeat)]
        print(f"| `{title}` | {min(run[0] for run in runs) - empty:.2f} | {runs[0][1] or 'none of them'} |", flush=True)


def _process(statement: str) -> tuple[float, str]:
    code = f"{statement}\nimport sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return time.perf_counter() - started, done.stdout.strip()


def time_tokenizers(names: list[str], n_repeat: int) -> None:
    """Print the best of some readings of each tokenizer."""
    import pytest

    from tests.real.tokenizers import real_tokenizer, real_vocabulary
    from tokenizer_align.cache import ArrayCache
    from tokenizer_align.engine import Engine
    from tokenizer_align.trie import build_trie
    from tokenizer_align.vocabulary import Vocabulary

    print("\n| tokenizer | rows | read s | again s | trie s | engine s |\n|---|--:|--:|--:|--:|--:|")
    for name in names:
        try:
            tokenizer, known = real_tokenizer(name), real_vocabulary(name)
        except pytest.skip.Exception as skipped:
            print(f"left out: {name}: {skipped}", file=sys.stderr)
            continue

        def read(
            cache: ArrayCache | None, tokenizer: Any = tokenizer, known: Vocabulary = known
        ) -> Callable[[], Vocabulary]:
            # A vocabulary is kept in memory as long as its tokenizer object; a copy is another object.
            return lambda: Vocabulary.from_tokenizer(
                copy.copy(tokenizer), n_rows=known.n_rows, eos_token_ids=known.eos_token_ids, cache=cache
            )

        with tempfile.TemporaryDirectory() as folder:
            cache = ArrayCache("vocabularies", 0, Path(folder))
            first = _best(read(None), 1)
            read(cache)()
            again = _best(read(cache), n_repeat)
        trie = _best(lambda known=known: build_trie(known.token_bytes), n_repeat)  # type: ignore[misc]
        _ = known.trie
        engine = _best(lambda known=known: Engine(known), n_repeat)  # type: ignore[misc]
        print(f"| {name} | {known.n_rows:,} | {first:.2f} | {again:.3f} | {trie:.3f} | {engine:.3f} |", flush=True)


def _best(action: Callable[[], object], n_repeat: int) -> float:
    times = []
    for _ in range(n_repeat):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    from domino_py.bench.machine import describe_machine, versions_of

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vocabulary", nargs="+", default=["smollm2", "deepseek", "gemma3"])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    machine = {**describe_machine(), **versions_of()}
    print(", ".join(f"{key} {value}" for key, value in machine.items()), "\n")
    time_imports(options.repeat)
    time_tokenizers(options.vocabulary, options.repeat)


if __name__ == "__main__":
    main()
