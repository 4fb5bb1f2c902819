"""The masks of many running texts in one call, written into one array and spread over the cores.

One pass over the rows copies kept masks and collects the heads of all others in one array; rows with the same heads are
one. These are walked in one kernel call a thread, which releases the interpreter lock and writes into the array itself;
what they ask for is built in between, and the rows that asked are walked again.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .errors import DeadEnd, InvalidOption
from .less_words import is_begun
from .shared_rows import Reads
from .threads import n_cores, side_by_side

if TYPE_CHECKING:
    from .compiled import Configuration
    from .engine import Engine
    from .matcher import Matcher

Heads = tuple[tuple[int, int], ...]
MIN_ROWS_A_THREAD = 4  # waking a thread costs as much as some walks
RESULT = 3  # the place of a job where its result stands
NOTHING: npt.NDArray[np.int64] = np.zeros((0, 6), np.int64)


def fill(matchers: Sequence[Matcher], out: npt.NDArray[Any], n_threads: int | None = None) -> None:
    """Write the masks of running texts into `out`, one row each, as their `mask()` says.

    Args:
        matchers: of one or of several compiled constraints over one vocabulary.
        out: uint32 or int32[n_matchers, n_words] (or more words; those stay as they are); every row contiguous. A
            NumPy array, or a torch tensor in the memory of the CPU.
        n_threads: at most so many; None: the number of cores.

    Raises:
        InvalidOption: an array of another shape or type, or matchers of several vocabularies.
        DeadEnd: as `mask()`, where nothing is legal.
    """
    if not matchers:
        return
    compiled = matchers[0].compiled
    rows = _rows_of(out, len(matchers), compiled.n_words)
    engine = compiled.engine
    engine.tidy()
    with engine.in_use:
        batch = _sort(engine, matchers, rows)
        if batch.places:
            n_empty = _walk_all(engine, batch, n_threads)
            batch.share(engine)
            if n_empty:
                at = int(np.flatnonzero(batch.jobs[:, RESULT] == k.EMPTY)[0])
                raise DeadEnd(matchers[batch.places[at]].text_bytes())
    for row in batch.alone:
        rows[row] = matchers[row].mask()


def _rows_of(out: npt.NDArray[Any], n_rows: int, n_words: int) -> npt.NDArray[np.uint32]:
    """The part of the array that is written, as uint32[n_rows, n_words]."""
    if not isinstance(out, np.ndarray) and hasattr(out, "numpy"):
        try:
            out = out.numpy()
        except (TypeError, RuntimeError) as error:
            raise InvalidOption("out", f"out must lie in the memory of the CPU: {error}") from error
    is_right = isinstance(out, np.ndarray) and out.ndim == 2 and out.dtype in (np.uint32, np.int32)
    if not is_right or out.shape[0] < n_rows or out.shape[1] < n_words or out.strides[1] != 4:
        shown = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InvalidOption("out", f"out is {shown}; it must be uint32[{n_rows}, {n_words}], each row contiguous.")
    if not out.flags.writeable:
        raise InvalidOption("out", "out cannot be written to.")
    return out.view(np.uint32)[:n_rows, :n_words]


class _Batch:
    """What is to be done for the rows of one call.

    rows: what is written. alone: rows that are made one by one. places: rows that are walked, each for its own heads;
    heads (int64[n, 2]) and jobs (int64[n_walked, 6]) are what the kernel takes. same: (row, walked row with the same
    heads). again: (row, configuration) of masks to keep.
    """

    def __init__(self, rows: npt.NDArray[np.uint32]) -> None:
        self.rows = rows
        self.alone: list[int] = []
        self.places: list[int] = []
        self.same: list[tuple[int, int]] = []
        self.again: list[tuple[int, Configuration]] = []
        self.n_heads = 0  # the most that a row has
        self.heads = self.jobs = NOTHING

    def share(self, engine: Engine) -> None:
        """Copy masks to the other rows with the same heads, and keep those that were asked for before."""
        for row, first in self.same:
            self.rows[row] = self.rows[first]
        places = {row: place for place, row in enumerate(self.places)} | {row: -1 for row, _ in self.same}
        for row, here in self.again:
            if places[row] >= 0:
                reads = Reads(int(self.jobs[places[row], 4]), bool(self.jobs[places[row], 5]))
                with engine.lock:
                    mask = engine.rows.keep(here.clamped, self.rows[row].copy(), reads)
                here.compiled.hold_row(here, mask)


def _sort(engine: Engine, matchers: Sequence[Matcher], rows: npt.NDArray[np.uint32]) -> _Batch:
    """Copy the masks that are kept; the rest is left to do."""
    batch = _Batch(rows)
    alone, places, same, again = batch.alone, batch.places, batch.same, batch.again
    walked: dict[Heads, int] = {}
    less_at = engine.automaton.less_at
    flat: list[int] = []
    jobs: list[int] = []
    first, most, address, stride, kept = 0, 0, rows.ctypes.data, rows.strides[0], engine.rows
    with engine.lock:
        for row, matcher in enumerate(matchers):
            here = matcher.configuration
            compiled = here.compiled
            if compiled.engine is not engine:
                if compiled.vocabulary != engine.vocabulary or compiled.engine.key == engine.key:
                    raise InvalidOption("matchers", "the matchers of one call must belong to one vocabulary.")
                alone.append(row)  # the vocabulary's other engine: of constraints with markers, or without
                continue
            if matcher.is_finished or (here.mask_row is None and not compiled.is_one_walk):
                alone.append(row)
            elif here.mask_row is not None:
                rows[row] = here.mask_row
            else:
                heads = here.clamped
                found = kept.find(heads)
                if found is not None:
                    rows[row] = found
                    compiled.hold_row(here, found)
                    continue
                if less_at and any(is_begun(less_at, code) for code, _ in heads):
                    alone.append(row)
                    continue
                if kept.was_asked_for(heads):
                    again.append((row, here))
                place = walked.setdefault(heads, row)
                if place != row:
                    same.append((row, place))
                    continue
                n = len(heads)
                places.append(row)
                jobs += (first, n, address + row * stride, k.NEED_BUILD, 0, 0)
                first += n
                if n > most:
                    most = n
                for head in heads:
                    flat += head
    if places:
        batch.n_heads = most
        batch.heads = np.frombuffer(array("q", flat), np.int64).reshape(-1, 2)
        batch.jobs = np.frombuffer(array("q", jobs), np.int64).reshape(-1, 6)
    return batch


def _walk_all(engine: Engine, batch: _Batch, n_threads: int | None) -> int:
    """Walk from all heads into their rows, with as many threads as pay. Returns how many have no legal token."""
    n_left, n_rounds, n_empty, n_cores_used = len(batch.places), 0, 0, n_threads or n_cores()
    while n_left:
        n_rounds += n_left
        n_parts = max(1, min(n_cores_used, n_left // MIN_ROWS_A_THREAD))
        held, taken = engine.walkers.take(engine.tables, batch.n_heads, n_parts)
        wanted: list[int] = []
        with held:
            progress = np.zeros(k.N_PROGRESS, np.int64)
            before = [int(walker.counts[k.NODES_VISITED]) for walker in taken]
            calls = [(walker.ctx, batch.heads, batch.jobs, progress, engine.end_ids) for walker in taken]
            side_by_side(k.walk_rows, calls, held, (taken, batch))
            n_left, n_empty = int(progress[k.ROWS_LEFT]), n_empty + int(progress[k.ROWS_EMPTY])
            if n_left:
                wanted = list(dict.fromkeys(what for walker in taken for what in walker.wanted()))
                if (batch.jobs[:, RESULT] == k.NEED_ROOM).any():
                    for walker in taken:
                        walker.grow()
            shaped = [
                (int(w.counts[k.SHAPED]), int(w.counts[k.NODES_VISITED]) - n)
                for w, n in zip(taken, before, strict=True)
            ]
        engine.walkers.give(*taken)
        if wanted:
            engine.make(wanted)
        for what, n_visits in shaped:
            if what:
                engine.shape_walks.note(engine, what, n_visits)
    engine.count_walks(len(batch.places), n_rounds)
    return n_empty
