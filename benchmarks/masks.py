"""How long a mask and an advance take, steady and cold, at three sizes of vocabulary, beside other engines.

    python benchmarks/masks.py [--vocabulary smollm2 ...] [--rounds 20] [--no-peers] [--json FILE]

Each text is read token by token: mask, check the token's bit, advance. "first mask": building and compiling the
constraint, and its first mask; the engine has seen the constraints above it, and nothing before the first one. "cold":
the first time through the texts. "steady": every later time. A text that an engine refuses is counted in "refused"; it
is then read up to there.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import domino_py as domino
from domino_py.bench.machine import describe_machine, versions_of
from domino_py.constraints.base import Constraint
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary


@dataclass(frozen=True)
class Case:
    """A constraint for all engines (a schema, a pattern, or neither: any JSON), and legal texts."""

    name: str
    texts: tuple[str, ...]
    schema: Any = None
    pattern: str | None = None

    def constraint(self) -> Constraint:
        if self.pattern is not None:
            return domino.regex(self.pattern)
        return domino.json() if self.schema is None else domino.json_schema(self.schema)


class Runner(Protocol):
    """One engine with one compiled constraint."""

    def start(self) -> None:
        """Begin a text."""
        ...

    @property
    def mask(self) -> Callable[[], Any]: ...
    @property
    def advance(self) -> Callable[[int], object]: ...


Make = Callable[[Case], Runner]


@dataclass(frozen=True)
class Row:
    """Times of one engine on one case: ms for the first mask, µs a token else."""

    vocabulary: str
    n_rows: int
    case: str
    engine: str
    n_tokens: int
    n_refused: int
    first_mask_ms: float
    cold_mean: float
    cold_p99: float
    cold_max: float
    steady_mean: float
    steady_p50: float
    steady_p99: float


class DominoRunner:
    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self.start()

    def start(self) -> None:
        matcher = self._compiled.matcher()
        self.mask: Callable[[], Any] = matcher.mask
        self.advance: Callable[[int], object] = matcher.advance


class LLGuidanceRunner:
    def __init__(self, tokenizer: Any, grammar: str, n_rows: int) -> None:
        import llguidance

        self._new: Callable[[], Any] = lambda: llguidance.LLMatcher(tokenizer, grammar)
        self._bits = np.zeros((n_rows + 31) // 32, np.int32)
        self.start()

    def start(self) -> None:
        matcher, bits = self._new(), self._bits
        place, n_bytes = bits.ctypes.data, bits.nbytes

        def mask() -> Any:
            matcher.unsafe_compute_mask_ptr(place, n_bytes)
            return bits

        self.mask: Callable[[], Any] = mask
        self.advance: Callable[[int], object] = matcher.consume_token


class XGrammarRunner:
    def __init__(self, compiled: Any, n_rows: int) -> None:
        import xgrammar

        self._new: Callable[[], Any] = lambda: xgrammar.GrammarMatcher(compiled)
        self._bits = xgrammar.allocate_token_bitmask(1, n_rows)
        self.start()

    def start(self) -> None:
        matcher, bits = self._new(), self._bits
        view = bits.numpy()[0]

        def mask() -> Any:
            matcher.fill_next_token_bitmask(bits)
            return view

        self.mask: Callable[[], Any] = mask
        self.advance: Callable[[int], object] = matcher.accept_token


def domino_engine(vocabulary: Vocabulary, tokenizer: Any) -> Make:
    engine = Engine(vocabulary)
    return lambda case: DominoRunner(Compiled(case.constraint().expression, vocabulary, engine=engine))


def llguidance_engine(vocabulary: Vocabulary, tokenizer: Any) -> Make:
    import llguidance
    import llguidance.hf

    ends = list(vocabulary.eos_token_ids)
    reader = llguidance.hf.from_tokenizer(tokenizer, n_vocab=vocabulary.n_rows, eos_token=ends)

    def make(case: Case) -> Runner:
        matcher = llguidance.LLMatcher
        if case.pattern is not None:
            grammar = matcher.grammar_from_regex(case.pattern)
        else:
            grammar = matcher.grammar_from_json_schema(json.dumps(case.schema if case.schema is not None else {}))
        return LLGuidanceRunner(reader, grammar, vocabulary.n_rows)

    return make


def xgrammar_engine(vocabulary: Vocabulary, tokenizer: Any) -> Make:
    import xgrammar

    info = xgrammar.TokenizerInfo.from_huggingface(
        tokenizer, vocab_size=vocabulary.n_rows, stop_token_ids=list(vocabulary.eos_token_ids)
    )
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def make(case: Case) -> Runner:
        if case.pattern is not None:
            compiled = compiler.compile_regex(case.pattern)
        elif case.schema is None:
            compiled = compiler.compile_builtin_json_grammar()
        else:
            compiled = compiler.compile_json_schema(json.dumps(case.schema))
        return XGrammarRunner(compiled, vocabulary.n_rows)

    return make


ENGINES: dict[str, Callable[[Vocabulary, Any], Make]] = {
    "domino": domino_engine,
    "llguidance": llguidance_engine,
    "xgrammar": xgrammar_engine,
}

_PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "role": {"enum": ["admin", "editor", "viewer"]},
        "active": {"type": "boolean"},
    },
    "required": ["name", "age", "role", "active"],
    "additionalProperties": False,
}
_PEOPLE = {
    "type": "object",
    "properties": {"team": {"type": "string"}, "members": {"type": "array", "items": _PERSON}},
    "required": ["team", "members"],
    "additionalProperties": False,
}
_LONG = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 5000}},
    "required": ["text"],
    "additionalProperties": False,
}
_PERSON_TEXTS = (
    '{"name": "Ada Lovelace", "age": 36, "role": "admin", "active": true}',
    '{\n  "name": "Jörg Müller-Lüdenscheidt",\n  "age": 7,\n  "role": "viewer",\n  "active": false\n}',
    '{"name": "王小明", "age": 58, "role": "editor", "active": true}',
)
_BOOK = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "pages": {"type": "integer"},
        "language": {"enum": ["en", "fr", "de", "zh"]},
        "price": {"type": "number"},
    },
    "required": ["title", "language"],
    "additionalProperties": False,
}
_BOOK_TEXTS = (
    '{"title": "Middlemarch", "pages": 880, "language": "en", "price": 12.5}',
    '{"language": "fr", "title": "La Peste"}',
)
_PROSE = (
    "The committee met on Tuesday and agreed, after a long debate, to postpone the vote. Several members noted that "
    "the figures (see appendix) did not add up; others said they were in a hurry. The next meeting is on 14 March."
)
CASES = (
    Case(
        "any JSON",
        (
            *_PERSON_TEXTS,
            '{"id": 17, "tags": ["a", "b c", ""], "geo": {"lat": -12.5, "lon": 1.3e2}, "ok": null, "n": [[1, 2], [3]]}',
            '[\n    {"title": "On the road", "pages": 307, "in print": true},\n    {"title": "Ulysses"}\n]',
        ),
    ),
    Case("flat schema", _PERSON_TEXTS, schema=_PERSON),
    Case("another flat schema", _BOOK_TEXTS, schema=_BOOK),
    Case(
        "nested schema",
        tuple(
            json.dumps({"team": "Blue", "members": [json.loads(text)] * 2}, ensure_ascii=False)
            for text in _PERSON_TEXTS
        ),
        schema=_PEOPLE,
    ),
    Case("maxLength 5000", (json.dumps({"text": _PROSE}), json.dumps({"text": "Ja. " + _PROSE[40:]})), schema=_LONG),
    Case(
        "e-mail regex",
        ("ada.lovelace@example.com", "j_mueller+lists@mail.uni-hamburg.de", "x@y.io"),
        pattern=r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*\.[a-zA-Z]{2,10}",
    ),
)


def measure(name: str, vocabulary: Vocabulary, case: Case, engine: str, make: Make, n_rounds: int) -> Row:
    """Time one engine on one case."""
    assert vocabulary.encode is not None
    texts = [vocabulary.encode(text) for text in case.texts]
    started = time.perf_counter()
    runner = make(case)
    runner.start()
    runner.mask()
    first_mask_ms = 1e3 * (time.perf_counter() - started)
    times: list[list[float]] = []
    n_refused = 0
    gc.disable()
    for _ in range(n_rounds + 1):
        times.append([])
        n_refused = sum(not _read(runner, ids, times[-1]) for ids in texts)
    gc.enable()
    cold, steady = 1e6 * np.array(times[0]), 1e6 * np.array([t for one in times[1:] for t in one])
    return Row(
        name,
        vocabulary.n_rows,
        case.name,
        engine,
        len(times[0]),
        n_refused,
        first_mask_ms,
        float(cold.mean()),
        float(np.percentile(cold, 99)),
        float(cold.max()),
        float(steady.mean()),
        float(np.percentile(steady, 50)),
        float(np.percentile(steady, 99)),
    )


def _read(runner: Runner, ids: Sequence[int], times: list[float]) -> bool:
    """Read a text; note the time of each mask and advance. Whether it was accepted."""
    runner.start()
    for token_id in ids:
        started = time.perf_counter()
        mask = runner.mask()
        masked = time.perf_counter()
        if not int(mask[token_id >> 5]) >> (token_id & 31) & 1:
            return False
        again = time.perf_counter()
        runner.advance(token_id)
        times.append(time.perf_counter() - again + masked - started)
    return True


def load(name: str) -> tuple[Any, Vocabulary]:
    """A real tokenizer and its vocabulary."""
    from tests.real.tokenizers import real_tokenizer, real_vocabulary

    return real_tokenizer(name), real_vocabulary(name)


def main() -> None:
    import pytest

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vocabulary", nargs="+", default=["smollm2", "deepseek", "gemma3"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    machine = {**describe_machine(), **versions_of("llguidance", "xgrammar")}
    print(", ".join(f"{key} {value}" for key, value in machine.items()), "\n")
    print("| vocabulary | constraint | engine | tokens | refused | first mask ms | cold mean / p99 / max µs "
          "| steady mean / p50 / p99 µs |\n|---|---|---|--:|--:|--:|--:|--:|")  # fmt: skip
    for name in options.vocabulary:
        try:
            tokenizer, vocabulary = load(name)
        except pytest.skip.Exception as skipped:
            print(f"left out: {name}: {skipped}", file=sys.stderr)
            continue
        warm_up(vocabulary)
        for engine, prepare in ENGINES.items():
            if engine != "domino" and options.no_peers:
                continue
            try:
                make = prepare(vocabulary, tokenizer)
            except ImportError as error:
                print(f"left out: {engine}: {error}", file=sys.stderr)
                continue
            for case in CASES:
                row = measure(name, vocabulary, case, engine, make, options.rounds)
                rows.append(row)
                print(_line(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=2))


def warm_up(vocabulary: Vocabulary) -> None:
    """Load or compile the kernels and import the front ends, which is done once a process."""
    assert vocabulary.encode is not None
    make = domino_engine(vocabulary, None)
    for case in (
        Case("", ("{}",), schema={"type": "object", "properties": {"a": {"enum": ["b"]}, "c": {"maxLength": 9}}}),
        Case("", ("ab",), pattern="(a|b)+"),
    ):
        _read(make(case), vocabulary.encode(case.texts[0]), [])


def _line(row: Row) -> str:
    return (
        f"| {row.vocabulary} {row.n_rows:,} | {row.case} | {row.engine} | {row.n_tokens} | {row.n_refused} "
        f"| {row.first_mask_ms:.2f} | {row.cold_mean:.1f} / {row.cold_p99:.0f} / {row.cold_max:.0f} "
        f"| {row.steady_mean:.2f} / {row.steady_p50:.2f} / {row.steady_p99:.1f} |"
    )


if __name__ == "__main__":
    main()
