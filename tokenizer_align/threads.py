"""A few threads that wait for kernels to run: handing one a call costs a few microseconds, starting one a hundred."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

Call = tuple[Callable[..., object], tuple[Any, ...], "SimpleQueue[BaseException | None]"]


class _Workers:
    """Threads of this process, as many as were ever wanted at once."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Call] = SimpleQueue()
        self.lock = threading.Lock()
        self.n_threads = 0

    def ensure(self, n: int) -> None:
        with self.lock:
            while self.n_threads < n:
                self.n_threads += 1
                threading.Thread(target=self._work, name=f"domino-masks-{self.n_threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            function, arguments, done = self.calls.get()
            try:
                function(*arguments)
                done.put(None)
            except BaseException as error:
                done.put(error)


_workers = _Workers()


def n_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(function: Callable[..., object], calls: Sequence[tuple[Any, ...]]) -> None:
    """Call a function that releases the interpreter lock, once with each tuple of arguments, all at the same time.

    Raises what a call raised, after all have ended.
    """
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    if len(calls) > 1:
        _workers.ensure(min(len(calls) - 1, n_cores()))
        for arguments in calls[1:]:
            _workers.calls.put((function, arguments, done))
    try:
        function(*calls[0])
    finally:
        errors = [done.get() for _ in calls[1:]]
    for error in errors:
        if error is not None:
            raise error


def _begin_anew() -> None:
    """Threads do not live on in a forked process."""
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
