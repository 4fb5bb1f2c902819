"""The ways to constrain a model that this library has itself: free text, naive masks, exact masks, and drafts.

Each method turns prompt ids into a `Run`. All run in this library's own loop, so what differs is what the name says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from domino_py.bench.naive import NaiveCompiled, compile_naive
from domino_py.bench.results import Run
from domino_py.bench.workloads import Workload
from domino_py.compilation import compiled_for
from domino_py.constraints.base import Constraint
from domino_py.generation import generate
from domino_py.prompts import prompts_to_ids
from domino_py.results import GenerationResult
from speculative.drafts.memory import DraftMemory, memory_of, set_memory
from speculative.loop import DecodeOptions, RowRequest, decode
from tokenizer_align.compiled import Compiled
from tokenizer_align.errors import DominoError
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["Exact", "Free", "Method", "Naive", "Setting", "Unsupported", "count_passes", "own_methods", "prompt_ids_of"]


class Unsupported(DominoError):
    """A method cannot do a workload; the bench says so and goes on."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all methods share: the model, its tokenizer, the vocabulary made of them, and the clock in seconds."""

    model: Any
    tokenizer: Any
    vocabulary: Vocabulary
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def of(cls, model: Any, tokenizer: Any, clock: Callable[[], float] = time.perf_counter) -> Setting:
        return cls(model, tokenizer, Vocabulary.from_tokenizer(tokenizer, model=model), clock)


def prompt_ids_of(setting: Setting, workload: Workload, question: str) -> list[int]:
    """The chat's tokens; without a chat template, those of its texts one after the other."""
    chat: Any = workload.messages(question)
    if not getattr(setting.tokenizer, "chat_template", None):
        chat = "\n\n".join(message["content"] for message in chat) + "\n\n"
    (ids,), _ = prompts_to_ids(chat, setting.tokenizer, setting.vocabulary.n_rows)
    return list(ids)


class Method(Protocol):
    """One way to write a legal text."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...

    def prepare(self, workload: Workload) -> None:
        """Do what is done once a constraint (compiling, indexing); not timed with the texts. Raises Unsupported."""
        ...

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        """Write one text, greedily, of at most workload.max_new_tokens tokens."""
        ...


@contextmanager
def count_passes(model: Any) -> Iterator[list[int]]:
    """Count calls of the model's forward in `[0]`, whoever makes them."""
    counter = [0]

    def count(*_: Any) -> None:
        counter[0] += 1

    handle = model.register_forward_pre_hook(count)
    try:
        yield counter
    finally:
        handle.remove()


class Free:
    """No constraint and no end: exactly as many tokens as asked for. The measure of all times."""

    name = "unconstrained"
    title = "unconstrained"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def run(self, prompt_ids: list[int], n_tokens: int) -> Run:
        times: list[float] = []
        clock = self._setting.clock
        request = RowRequest(prompt_ids, None, max_new_tokens=n_tokens, eos_token_ids=())
        with count_passes(self._setting.model) as passes:
            started = clock()

            def note(_: int, ids: list[int]) -> None:
                times.extend([clock() - started] * len(ids))

            (result,) = decode(
                self._setting.model, self._setting.vocabulary, [request], DecodeOptions(speculate=False), note
            )
            elapsed = clock() - started
        return Run(tuple(result.token_ids), elapsed, passes[0], token_times_s=tuple(times))


class Naive:
    """Naive masking: see `domino_py.bench.naive`."""

    name = "naive"
    title = "naive masking"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._compiled: dict[str, NaiveCompiled] = {}

    def prepare(self, workload: Workload) -> None:
        compiled = compile_naive(workload, self._setting.vocabulary)
        compiled.matcher().mask()
        self._compiled[workload.name] = compiled

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        # measure="full" makes a mask at every step, also where the model's own choice is legal.
        options = DecodeOptions(speculate=False, measure="full")
        vocabulary, clock = self._setting.vocabulary, self._setting.clock
        request = RowRequest(
            prompt_ids,
            self._compiled[workload.name],
            max_new_tokens=workload.max_new_tokens,
            eos_token_ids=vocabulary.eos_token_ids,
        )
        with count_passes(self._setting.model) as passes:
            started = clock()
            (result,) = decode(self._setting.model, vocabulary, [request], options)
            elapsed = clock() - started
        chose_end = result.finish_reason == "stop"
        return Run(tuple(result.token_ids), elapsed, passes[0], mask_s=result.statistics.mask_s, chose_end=chose_end)


class Exact:
    """`domino.generate` with or without drafts, as a user calls it.

    Before every text what is remembered of the constraint is what it was after `prepare`: nothing (its first use), or
    with `practises` what the workload's practice questions left, so that no answer is drafted from itself.
    """

    def __init__(
        self, setting: Setting, name: str, title: str, speculate: Literal["auto"] | bool, *, practises: bool = False
    ) -> None:
        self.name = name
        self.title = title
        self._setting = setting
        self._speculate = speculate
        self._practises = practises
        self._constraints: dict[str, Constraint] = {}
        self._memories: dict[str, DraftMemory] = {}

    def prepare(self, workload: Workload) -> None:
        constraint = workload.constraint()
        self._constraints[workload.name] = constraint
        self._compiled(workload).matcher().mask()
        self._memories[workload.name] = DraftMemory()
        if self._practises:
            for question in workload.practice:
                self.run(workload, prompt_ids_of(self._setting, workload, question))
                self._memories[workload.name] = memory_of(self._compiled(workload))

    def _compiled(self, workload: Workload) -> Compiled:
        return compiled_for(self._constraints[workload.name], self._setting.vocabulary)

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        setting, clock = self._setting, self._setting.clock
        set_memory(self._compiled(workload), self._memories[workload.name].copy())
        with count_passes(setting.model) as passes:
            started = clock()
            result: GenerationResult = generate(
                setting.model,
                setting.tokenizer,
                prompt_ids,
                self._constraints[workload.name],
                max_new_tokens=workload.max_new_tokens,
                do_sample=False,
                speculate=self._speculate,
            )
            elapsed = clock() - started
        report = result.report
        return Run(
            result.token_ids,
            elapsed,
            passes[0],
            mask_s=report.mask_s,
            n_drafted=report.n_drafted,
            n_accepted=report.n_accepted,
            chose_end=result.finish_reason == "stop",
        )


def own_methods(setting: Setting) -> list[Method]:
    """Naive masking, exact masks without drafts, and ours."""
    return [
        Naive(setting),
        Exact(setting, "exact", "exact masks, no drafts", speculate=False),
        Exact(setting, "domino", "domino", speculate="auto"),
        Exact(setting, "domino-later", "domino, later uses", speculate="auto", practises=True),
        Exact(setting, "domino-always", "domino, always drafts", speculate=True),
    ]
