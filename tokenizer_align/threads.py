"""A few threads that wait for kernels to run: handing one a call costs a few microseconds, starting one a hundred."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any


class _Call:
    """A call that waits for a thread. Whoever takes it first runs it, or drops it."""

    def __init__(
        self, function: Callable[..., object], arguments: tuple[Any, ...], held: memoryview, of: object = None
    ) -> None:
        self.function, self.arguments, self.held, self.of = function, arguments, held, of
        self.error: BaseException | None = None
        self._taken, self._end, self._has_ended = threading.Lock(), threading.Lock(), False
        self._end.acquire()

    def take(self) -> bool:
        return self._taken.acquire(blocking=False)

    def run(self) -> None:
        try:
            with self.held[:]:
                self.function(*self.arguments)
        except BaseException as error:
            self.error = error
        finally:
            self.drop()
            self._has_ended = True
            self._end.release()

    def drop(self) -> None:
        self.arguments, self.of = (), None

    def wait(self) -> None:
        """Wait until it has ended, interrupts or not; raises the last of them then."""
        interrupt: BaseException | None = None
        while not self._has_ended:  # an interrupt may come when the lock is just taken: whose it is says nothing
            try:
                self._end.acquire()
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt


class _Workers:
    """Threads of this process, as many as were ever wanted at once."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[_Call] = SimpleQueue()
        self.lock = threading.Lock()
        self.n_threads = 0

    def ensure(self, n: int) -> None:
        with self.lock:
            while self.n_threads < n:
                self.n_threads += 1
                threading.Thread(target=self._work, name=f"domino-masks-{self.n_threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            call = self.calls.get()
            if call.take():
                call.run()


_workers = _Workers()


def n_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(
    function: Callable[..., object], calls: Sequence[tuple[Any, ...]], held: memoryview, of: object = None
) -> None:
    """Call a function that releases the interpreter lock, once with each tuple of arguments, at the same time.

    The calls share their work: where this thread comes back before another has begun, that one is left out, so that
    nobody waits for a busy machine to find a core. Raises what a call raised, after all have ended. `held` and what
    `of` owns are held until each call ends, even if an interrupt ends this function before.
    """
    others = [_Call(function, arguments, held, of) for arguments in calls[1:]]
    try:
        if others:
            _workers.ensure(min(len(others), n_cores()))
            for call in others:
                _workers.calls.put(call)
        function(*calls[0])
    finally:
        for call in others:
            if call.take():
                call.drop()
            else:
                call.wait()
    for call in others:
        if call.error is not None:
            raise call.error


def _begin_anew() -> None:
    """Threads do not live on in a forked process."""
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
