"""Does the canonical judge say what re-encoding says, and what does it cost?

    DOMINO_SLOW=1 python benchmarks/canonical.py [--tokenizer smollm2 gemma3 mistral mon ...] [--texts 3000]

Texts: JSON in three layouts, code, prose, Chinese, emoji, digits, runs of blanks, hard ones; each with its own tokens
and with five kinds of damage (splits, joins, moved boundaries, left-out merges, other ids). "wrong" counts sequences
judged otherwise than re-encoding does. Times are processor time: "rules" reads merges, "pairs" and "splits" make the
tables (splits again: from the disk cache); a step is one token judged, new or known; a row is `Pairs.bad_right`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

HEAD = (
    "| tokenizer | canonical | damaged | wrong | rules s | pairs s | splits s | again s | step new µs | known µs"
    " | row p50 / p99 µs | encode µs/token |"
)


def measure(name: str, n_texts: int) -> str:
    """One row of the table."""
    from tests.canonical_texts import DAMAGES, canonical_texts
    from tests.real.tokenizers import real_tokenizer, real_vocabulary
    from tokenizer_align.cache import ArrayCache
    from tokenizer_align.canonical.judge import CanonicalJudge
    from tokenizer_align.canonical.pairs import Pairs
    from tokenizer_align.canonical.pre_tokens import PreTokens
    from tokenizer_align.tokenizers import open_tokenizer

    vocabulary = real_vocabulary(name)
    rules, encode = vocabulary.rules, vocabulary.encode
    if rules is None or encode is None:
        raise SystemExit(f"{name} has no rules or no encoder")
    judge = CanonicalJudge(rules, vocabulary)  # compiles the kernels
    table = open_tokenizer(real_tokenizer(name)).read()
    rules_s = _seconds(lambda: table.rules and table.rules())
    pairs_s = _seconds(lambda: rules.family != "unigram" and Pairs(rules, vocabulary.token_bytes, vocabulary.n_rows))
    with tempfile.TemporaryDirectory() as folder:
        cache = ArrayCache("pre-tokens", 0, Path(folder))
        splits_s = _seconds(lambda: PreTokens.for_rules(rules, vocabulary.token_bytes, cache))
        again_s = _seconds(lambda: PreTokens.for_rules(rules, vocabulary.token_bytes, cache))

    draw = random.Random(0)
    sequences: list[tuple[list[int], bool]] = []
    encode_s, n_encoded = 0.0, 0
    for text in canonical_texts(n_texts):
        data = vocabulary.decode(encode(text)).decode("utf-8", "ignore")
        started = time.thread_time()
        ids = encode(data)
        encode_s += time.thread_time() - started
        n_encoded += len(ids)
        if ids and vocabulary.decode(ids).decode() == data:
            damaged = [damage(ids, vocabulary, draw) for damage in DAMAGES]
            sequences += [(ids, True), *((other, other == ids) for other in damaged)]
    n_steps = sum(len(ids) for ids, _ in sequences)
    n_wrong, new_s = 0, time.thread_time()
    for ids, expected in sequences:
        n_wrong += judge.is_canonical(ids) != expected
    new_s = time.thread_time() - new_s
    known_s, n_known = _known(judge, [ids for ids, expected in sequences if expected])
    n_good = sum(expected for _, expected in sequences)
    cells = [
        *(name, f"{n_good:,}", f"{len(sequences) - n_good:,}", str(n_wrong)),
        *(f"{rules_s:.2f}", f"{pairs_s:.2f}", f"{splits_s:.1f}", f"{again_s:.3f}"),
        *(f"{new_s / n_steps * 1e6:.1f}", f"{known_s / n_known * 1e6:.2f}"),
        _rows(judge.pairs, vocabulary.token_bytes, draw),
        f"{encode_s / n_encoded * 1e6:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _known(judge: Any, sequences: list[list[int]]) -> tuple[float, int]:
    """Processor time and steps of judging some canonical sequences that have been judged just before."""
    some = sequences[:200]
    for ids in some:
        judge.is_canonical(ids)
    started = time.thread_time()
    for _ in range(5):
        for ids in some:
            judge.is_canonical(ids)
    return time.thread_time() - started, 5 * sum(map(len, some))


def _rows(pairs: Any, token_bytes: tuple[bytes | None, ...], draw: random.Random) -> str:
    if pairs is None:
        return "–"
    times = []
    for token in draw.sample([i for i, data in enumerate(token_bytes) if data], 2000):
        started = time.perf_counter()
        pairs.bad_right(token)
        times.append((time.perf_counter() - started) * 1e6)
    return f"{statistics.median(times):.0f} / {sorted(times)[int(len(times) * 0.99)]:.0f}"


def _seconds(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started


def main() -> None:
    import pytest

    from domino_py.bench.machine import describe_machine, versions_of

    names = ["smollm2", "llama3", "qwen3.6", "deepseek", "tekken", "gemma3", "mistral", "mon"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", nargs="+", default=names)
    parser.add_argument("--texts", type=int, default=3000)
    options = parser.parse_args()
    machine = {**describe_machine(), **versions_of()}
    print(", ".join(f"{key} {value}" for key, value in machine.items()), "\n")
    print(HEAD + "\n|---|" + "--:|" * (HEAD.count("|") - 2))
    for name in options.tokenizer:
        try:
            print(measure(name, options.texts), flush=True)
        except pytest.skip.Exception as skipped:
            print(f"left out: {name}: {skipped}", file=sys.stderr)


if __name__ == "__main__":
    main()
