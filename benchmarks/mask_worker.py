"""One engine in a process of its own, so that a schema can be given up in time and memory is counted for each engine.

A job is a task and its texts as token ids. The text of the constraint is compiled up to the first mask (TTFM), then
every text is read token by token: mask, the token's bit, advance (TBM: mask and advance together). A call costs the
lesser of its wall time and the process's processor time, so that a pause of the machine is not charged to an engine.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import random
import resource
import sys
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.mask_engines import ENGINES, Make, Runner, Task, Unsupported

START_LIMIT_S = 300.0


@dataclass(frozen=True)
class Job:
    """Texts to read under a task. `n_warm`: how often they are read again; `n_twin`: positions to check bit for bit."""

    task: Task
    texts: tuple[tuple[int, ...], ...]
    n_warm: int = 1
    n_twin: int = 0


@dataclass
class Measured:
    """What one engine made of a job. Times in µs, TTFM in ms; `error`: why it could not (compile, or go on)."""

    error: str = ""
    ttfm_ms: float = 0.0
    first_us: list[float] = field(default_factory=list)
    warm_us: list[float] = field(default_factory=list)
    again_ttfm_ms: float = 0.0  # the same task compiled once more
    again_us: list[float] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)
    twin_checked: int = 0
    twin_differs: list[str] = field(default_factory=list)


def measure(job: Job, make: Make, end_ids: tuple[int, ...], engine: str) -> Measured:
    """Compile a task and read its texts, all within this process."""
    result = Measured()
    gc.collect()
    gc.disable()
    try:
        result.ttfm_ms, runner = _compile(job.task, make)
        result.accepted = [_read(runner, ids, end_ids, result.first_us) for ids in job.texts]
        for _ in range(job.n_warm):
            for ids in job.texts:
                _read(runner, ids, end_ids, result.warm_us)
        result.again_ttfm_ms, again = _compile(job.task, make)
        for ids in job.texts:
            _read(again, ids, end_ids, result.again_us)
        if engine == "domino" and job.n_twin:
            _check_twin(runner, job, result)
    except Unsupported as error:
        result.error = f"unsupported: {error}"
    except Exception as error:  # a refusal or a crash of an engine is a result here
        result.error = f"{type(error).__name__}: {error}"[:300]
    finally:
        gc.enable()
    return result


def _compile(task: Task, make: Make) -> tuple[float, Runner]:
    """ms up to the first mask, and the runner."""
    cpu, wall = time.process_time(), time.perf_counter()
    runner = make(task)
    runner.start()
    runner.mask()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return 1e3 * min(wall, cpu), runner


def _read(runner: Runner, ids: tuple[int, ...], end_ids: tuple[int, ...], times_us: list[float]) -> bool:
    """Whether the text is legal token by token and complete at its end; notes the time of each mask and advance."""
    runner.start()
    mask, advance, now, used = runner.mask, runner.advance, time.perf_counter, time.process_time
    for token in ids:
        cpu = used()
        start = now()
        row = mask()
        masked = now()
        is_legal = int(row[token >> 5]) >> (token & 31) & 1
        if not is_legal:
            times_us.append(1e6 * min(masked - start, used() - cpu))
            return False
        again = now()
        advance(token)
        wall = now() - again + masked - start
        times_us.append(1e6 * min(wall, used() - cpu))
    row = mask()
    return any(int(row[token >> 5]) >> (token & 31) & 1 for token in end_ids)


def _check_twin(runner: Any, job: Job, result: Measured) -> None:
    """Compare masks with those of the plain-Python twin, at some positions of the texts."""
    from benchmarks.mask_twin import differs_from_twin

    choose = random.Random(job.task.name)
    for _ in range(job.n_twin):
        ids = choose.choice(job.texts) if job.texts else ()
        ids = ids[: choose.randrange(len(ids) + 1)]
        matcher = runner.compiled.matcher()
        for token in ids:
            if not matcher.accepts(token):
                break
            matcher.advance(token)
        result.twin_checked += 1
        if differs_from_twin(runner.compiled, matcher.configuration):
            result.twin_differs.append(repr(matcher))


# --- the process ------------------------------------------------------------------------------------------------------


def load(name: str) -> tuple[Any, Any]:
    """A real tokenizer and its vocabulary."""
    from tests.real.tokenizers import real_tokenizer, real_vocabulary

    return real_tokenizer(name), real_vocabulary(name)


def _serve(connection: Connection, engine: str, tokenizer_name: str) -> None:
    """The worker's main loop: a job in, a `Measured` out, until None comes."""
    logging.getLogger("domino_py").setLevel(logging.ERROR)  # what the schemas of the data misspell
    tokenizer, vocabulary = load(tokenizer_name)
    try:
        make = ENGINES[engine](vocabulary, tokenizer)
    except ImportError as error:
        connection.send(f"left out: {engine}: {error}")
        return
    for task in (
        Task("", schema='{"type": "object", "properties": {"a": {"enum": ["b"]}, "c": {"maxLength": 9}}}'),
        Task("", schema='{"properties": {"d": {"format": "date"}, "e": {"pattern": "^a"}, "f": {"minimum": 2}}}'),
        Task("", pattern="(a|b)+"),
        Task("", gbnf='root ::= "a" root | "b"', lark='start: "a" start | "b"'),
    ):
        _compile(task, make)[1].start()  # what is loaded once a process
    connection.send(peak_mb())
    while (job := connection.recv()) is not None:
        connection.send((measure(job, make, tuple(vocabulary.eos_token_ids), engine), peak_mb()))


def peak_mb() -> float:
    """The most memory that this process ever held. Linux keeps it in /proc; what `getrusage` says there includes what
    the parent held when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line[:6] == "VmHWM:")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Worker:
    """The parent's end of a worker. `start_mb`: its memory when its vocabulary was prepared; `peak_mb`: the most so
    far, over all restarts."""

    def __init__(self, engine: str, tokenizer_name: str, limit_s: float) -> None:
        self.engine, self.tokenizer_name, self.limit_s = engine, tokenizer_name, limit_s
        self.start_mb = self.peak_mb = 0.0
        self._process: Any = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.engine, self.tokenizer_name), daemon=True)
        self._process.start()
        theirs.close()
        ready = self._connection.recv() if self._connection.poll(START_LIMIT_S) else "left out: it does not start"
        if isinstance(ready, str):
            self.stop()
            raise ImportError(ready)
        self.start_mb = ready

    def run(self, job: Job) -> Measured:
        """The engine's answer; an error where it took too long or died, and then a fresh process for the next job."""
        try:
            self._connection.send(job)
            if self._connection.poll(self.limit_s):
                measured, peak = self._connection.recv()
                self.peak_mb = max(self.peak_mb, peak)
                return measured  # type: ignore[no-any-return]
            error = "out of time"
        except (EOFError, OSError):
            error = "the process died"
        self.stop()
        self._start()
        return Measured(error=error)

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()
