"""The engines that `mask_bench.py` sets side by side: a task is compiled, then read text by text through a runner.

Peers run with their default options, except that xgrammar compiles with one thread, as all others do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from tokenizer_align.vocabulary import Vocabulary


@dataclass(frozen=True)
class Task:
    """One constraint for all engines. One of these is given; none of them: any JSON."""

    name: str
    schema: str | None = None  # the text of a JSON Schema
    pattern: str | None = None  # a regular expression
    words: tuple[str, ...] = ()  # a choice
    gbnf: str | None = None  # a grammar in two notations, for engines that read one of them only
    lark: str | None = None


class Unsupported(Exception):
    """The engine has no way to say this kind of constraint."""


class Runner(Protocol):
    """A compiled task. `start` begins a text and sets `mask` (uint32 words, as int32 or uint32) and `advance`."""

    mask: Callable[[], Any]
    advance: Callable[[int], object]

    def start(self) -> None: ...


Make = Callable[[Task], Runner]


class DominoRunner:
    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled

    def start(self) -> None:
        self.matcher = self.compiled.matcher()
        self.mask: Callable[[], Any] = self.matcher.mask
        self.advance: Callable[[int], object] = self.matcher.advance


def domino_engine(vocabulary: Vocabulary, tokenizer: Any) -> Make:
    import domino_py as domino
    from tokenizer_align.compiled import Compiled
    from tokenizer_align.engine import Engine
    from tokenizer_align.warm_up import warm_up

    warm_up(laws=False)
    engine = Engine(vocabulary)

    def constraint(task: Task) -> Any:
        if task.pattern is not None:
            return domino.regex(task.pattern)
        if task.words:
            return domino.choice(list(task.words))
        if task.gbnf is not None:
            if not hasattr(domino, "grammar"):
                raise Unsupported("no grammars")
            return domino.grammar(task.gbnf, syntax="gbnf", start="root")
        return domino.json() if task.schema is None else domino.json_schema(task.schema)

    def make(task: Task) -> Runner:
        return DominoRunner(Compiled(constraint(task).expression, vocabulary, engine=engine))

    return make


class LLGuidanceRunner:
    def __init__(self, new: Callable[[], Any], n_rows: int) -> None:
        self._first: Any = new()
        self._bits = np.zeros((n_rows + 31) // 32, np.int32)
        if self._first.is_error():
            raise ValueError(self._first.get_error())

    def start(self) -> None:
        matcher, bits = self._first.deep_copy(), self._bits
        place, n_bytes = bits.ctypes.data, bits.nbytes

        def mask() -> Any:
            matcher.unsafe_compute_mask_ptr(place, n_bytes)
            return bits

        self.mask: Callable[[], Any] = mask
        self.advance: Callable[[int], object] = matcher.consume_token


def llguidance_engine(vocabulary: Vocabulary, tokenizer: Any) -> Make:
    import llguidance
    import llguidance.hf

    ends = list(vocabulary.eos_token_ids)
    reader = llguidance.hf.from_tokenizer(tokenizer, n_vocab=vocabulary.n_rows, eos_token=ends)

    def make(task: Task) -> Runner:
        matcher = llguidance.LLMatcher
        if task.pattern is not None:
            grammar = matcher.grammar_from_regex(task.pattern)
        elif task.words:
            grammar = matcher.grammar_from_lark("start: " + " | ".join(json.dumps(word) for word in task.words))
        elif task.lark is not None:
            grammar = matcher.grammar_from_lark(task.lark)
        else:
            grammar = matcher.grammar_from_json_schema(task.schema or "{}")
        return LLGuidanceRunner(lambda: matcher(reader, grammar, log_level=0), vocabulary.n_rows)

    return make


class XGrammarRunner:
    def __init__(self, compiled: Any, n_rows: int) -> None:
        import xgrammar

        self._new: Callable[[], Any] = lambda: xgrammar.GrammarMatcher(compiled)
        self._bits = xgrammar.allocate_token_bitmask(1, n_rows)

    def start(self) -> None:
        matcher, bits = self._new(), self._bits
        view = bits.numpy()[0]

        def mask() -> Any:
            if not matcher.fill_next_token_bitmask(bits):
                view[:] = -1  # it says so, and writes nothing, where every token is legal
            return view

        self.mask: Callable[[], Any] = mask
        self.advance: Callable[[int], object] = matcher.accept_token


def xgrammar_engine(vocabulary: Vocabulary, tokenizer: Any) -> Make:
    import xgrammar

    info = xgrammar.TokenizerInfo.from_huggingface(
        tokenizer, vocab_size=vocabulary.n_rows, stop_token_ids=list(vocabulary.eos_token_ids)
    )
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def make(task: Task) -> Runner:
        if task.pattern is not None:
            compiled = compiler.compile_regex(task.pattern)
        elif task.words:
            words = " | ".join(json.dumps(word) for word in task.words)
            compiled = compiler.compile_grammar(f"root ::= {words}")
        elif task.gbnf is not None:
            compiled = compiler.compile_grammar(task.gbnf)
        elif task.schema is None:
            compiled = compiler.compile_builtin_json_grammar()
        else:
            compiled = compiler.compile_json_schema(task.schema)
        return XGrammarRunner(compiled, vocabulary.n_rows)

    return make


ENGINES: dict[str, Callable[[Vocabulary, Any], Make]] = {
    "domino": domino_engine,
    "llguidance": llguidance_engine,
    "xgrammar": xgrammar_engine,
}
