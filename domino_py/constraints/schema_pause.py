"""A pause of Python's cyclic garbage collector while a schema is built.

Building makes hundreds of thousands of small objects that are kept; that sets off collections over everything the
process holds (with a model's libraries loaded 80 to 240 ms each, more than most schemas take), and frees nothing.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_n_inside = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """No automatic collections inside the block; blocks of several threads may overlap."""
    global _n_inside, _was_enabled
    with _lock:
        if _n_inside == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0 and _was_enabled:
                gc.enable()
