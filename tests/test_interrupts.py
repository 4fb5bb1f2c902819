"""An interrupt at any moment (Ctrl-C) leaves an engine that gives right masks, and nobody waiting for ever."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from types import FrameType

import numpy as np
import pytest

from tests.test_fill import EXPRESSIONS, TEXTS, mask_alone, read, small_engine
from tests.test_threads import VOCABULARY
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import alt, lit
from tokenizer_align.fill import fill
from tokenizer_align.threads import _Call
from tokenizer_align.walkers import Held
from tokenizer_align.warm_up import warm_up

N_INTERRUPTS = 3000 if os.environ.get("DOMINO_SLOW") else 150
WAIT_S = 30


class Interrupt(BaseException):
    """What the signal handler raises."""


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Signals raise `Interrupt` in this test."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        pytest.skip("signals with a timer are needed")

    def interrupt(number: int, frame: FrameType | None) -> None:
        while frame is not None:  # one that comes late, when the test is over, is nobody's
            if frame.f_code.co_filename == __file__:
                raise Interrupt
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def fill_all(engine: Engine) -> np.ndarray:
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    out = np.zeros((len(TEXTS), compiled[0].n_words), np.uint32)
    fill([read(compiled[which], tokens) for which, tokens in TEXTS], out, 2)
    return out


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # interrupts within callbacks
def test_an_engine_works_on_after_interrupts_at_any_moment(interrupts: None) -> None:
    warm_up()  # an interrupt while a kernel is compiled is Numba's affair
    expected = np.stack([mask_alone(which, tokens) for which, tokens in TEXTS])
    engine, draw, stop = small_engine(), random.Random(1), threading.Event()
    n_rounds = [0]

    def walking() -> None:
        """Another thread. What it meets half built may make a call fail; it must not wait for ever."""
        while not stop.is_set():
            which, tokens = TEXTS[n_rounds[0] % len(TEXTS)]
            n_rounds[0] += 1
            with contextlib.suppress(Exception):
                read(Compiled(EXPRESSIONS[which](), VOCABULARY, engine=engine), tokens).mask()

    other = threading.Thread(target=walking, daemon=True)
    other.start()
    kept: list[BaseException] = []  # tracebacks hold what was under way
    n_hit = 0
    for n in range(N_INTERRUPTS):
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 0.03))
            if n % 3 == 0:
                engine.drop_states()
            out = fill_all(engine)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert np.array_equal(out, expected)
        except Interrupt as error:
            n_hit += 1
            kept.append(error)
        with contextlib.suppress(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, 0)
    done = threading.Event()
    last: list[np.ndarray] = []

    def after() -> None:
        engine.drop_states()
        last.append(fill_all(engine))
        last.append(fill_all(engine))
        done.set()

    threading.Thread(target=after, daemon=True).start()
    assert done.wait(WAIT_S), "the engine waits for a walk that was interrupted"
    stop.set()
    other.join(WAIT_S)
    assert not other.is_alive()
    assert all(np.array_equal(out, expected) for out in last)
    assert n_hit > N_INTERRUPTS // 10


def test_what_holds_is_seen_as_long_as_it_holds() -> None:
    held = Held()
    assert not held.is_held()
    with memoryview(held.buffer) as view:
        assert held.is_held()
        other = view[:]
    assert held.is_held()
    other.release()
    assert not held.is_held()
    assert not held.is_held()


def test_what_stands_side_by_side_is_even_again_after_an_interrupt() -> None:
    engine = small_engine()
    expected = fill_all(engine)
    tables, automaton = engine.tables, engine.automaton
    with contextlib.suppress(Interrupt), engine.lock, engine.changing():
        tables.state_kind.reserve(2)  # as where states, keys, nodes and instances are made, and an interrupt comes
        tables.key_child.reserve(3)
        tables.trie_byte.reserve(1)
        automaton.objects.situations.append(None)  # type: ignore[arg-type]
        raise Interrupt
    with engine.lock, engine.changing():
        automaton.code_of(alt(lit(b"xy"), lit(b"z")))
    assert len({pool.n for pool in tables._state_pools} | {len(automaton.exprs)}) == 1
    assert np.array_equal(fill_all(engine), expected)


def test_who_waits_is_not_lost_by_an_interrupt_when_the_wait_is_over() -> None:
    call = _Call(lambda: None, (), memoryview(bytearray(1)))
    lock, ended = call._end, []

    class Interrupted:
        """A lock that is taken, and then the interrupt comes."""

        def acquire(self) -> None:
            lock.acquire()
            raise Interrupt

        def release(self) -> None:
            lock.release()

    def waiting() -> None:
        with contextlib.suppress(Interrupt):
            call.wait()
        ended.append(True)

    call._end = Interrupted()  # type: ignore[assignment]
    threading.Timer(0.05, call.run).start()
    other = threading.Thread(target=waiting, daemon=True)
    other.start()
    other.join(WAIT_S)
    assert ended


def test_no_generation_begins_while_another_thread_waits_to_change_something() -> None:
    engine = small_engine()
    fill_all(engine)
    with memoryview(engine.walkers._waiting.buffer):
        assert not engine.drop_states()
    assert engine.drop_states()
