"""The masks of many running texts in one call, written into one array and spread over the cores.

Rows whose configuration keeps its mask are copied. The others are walked in one kernel call a thread, which releases
the interpreter lock; what they ask for is built in between, and the rows that asked are walked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .errors import DeadEnd, InvalidOption
from .threads import n_cores, side_by_side

if TYPE_CHECKING:
    from .compiled import Configuration
    from .engine import Engine
    from .matcher import Matcher

BLOCK_BYTES = 120_000  # glibc maps what is larger
MIN_ROWS_A_THREAD = 4  # waking a thread costs as much as some walks


def fill(matchers: Sequence[Matcher], out: npt.NDArray[Any], n_threads: int | None = None) -> None:
    """Write the masks of running texts into `out`, one row each, as their `mask()` says.

    Args:
        matchers: of one or of several compiled constraints over one vocabulary.
        out: uint32 or int32[n_matchers, n_words] (or more words; those stay as they are); every row contiguous.
        n_threads: at most so many; None: the number of cores.

    Raises:
        InvalidOption: an array of another shape or type, or matchers of several vocabularies.
        DeadEnd: as `mask()`, where nothing is legal.
    """
    if not matchers:
        return
    compiled = matchers[0].compiled
    rows = _rows_of(out, len(matchers), compiled.n_words)
    if any(matcher.compiled.engine is not compiled.engine for matcher in matchers):
        raise InvalidOption("matchers", "the matchers of one call must belong to one vocabulary.")
    missing: dict[Configuration, int] = {}
    again: list[tuple[int, Matcher]] = []
    for row, matcher in enumerate(matchers):
        here = matcher.configuration
        if here.mask_row is not None and not matcher.is_finished:
            rows[row] = here.mask_row
        elif here in missing or matcher.is_finished or not here.compiled.shares_rows or here.compiled.tracks:
            again.append((row, matcher))
        else:
            missing[here] = row
    if missing:
        compiled.engine.tidy()
        with compiled.engine.in_use:
            empty = _make_rows(compiled.engine, missing, rows, n_threads)
        if empty >= 0:
            raise DeadEnd(matchers[empty].text_bytes())
    for row, matcher in again:
        rows[row] = matcher.mask()


def _rows_of(out: npt.NDArray[Any], n_rows: int, n_words: int) -> npt.NDArray[np.uint32]:
    """The part of the array that is written, as uint32[n_rows, n_words]."""
    is_right = isinstance(out, np.ndarray) and out.ndim == 2 and out.dtype in (np.uint32, np.int32)
    if not is_right or out.shape[0] < n_rows or out.shape[1] < n_words or out.strides[1] != 4:
        shown = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InvalidOption("out", f"out is {shown}; it must be uint32[{n_rows}, {n_words}], each row contiguous.")
    if not out.flags.writeable:
        raise InvalidOption("out", "out cannot be written to.")
    return out.view(np.uint32)[:n_rows, :n_words]


def _make_rows(
    engine: Engine, missing: dict[Configuration, int], rows: npt.NDArray[np.uint32], n_threads: int | None
) -> int:
    """Make the masks of configurations that keep none, keep them, and copy each into its row.

    Returns a row without legal tokens, or -1.
    """
    walked: list[Configuration] = []
    heads: list[tuple[int, int]] = []
    starts = [0]
    for here, row in missing.items():
        kept = here.compiled.kept_row(here)
        if kept is not None:
            rows[row] = kept
        else:
            walked.append(here)
            heads += here.clamped
            starts.append(len(heads))
    n = len(walked)
    if not n:
        return -1
    addresses = np.empty((n, 2), np.int64)
    made = _new_rows(n, engine.n_words, addresses)
    addresses[:, 1] = rows.ctypes.data + rows.strides[0] * np.array([missing[here] for here in walked])
    complete = np.array([here.complete for here in walked], np.uint8)
    results = np.full(n, -1, np.int64)
    shared = (np.array(heads, np.int64).reshape(-1, 2), np.array(starts), addresses)
    _walk_all(engine, shared, (complete, engine.end_ids, results), n_threads)
    for here, mask in zip(walked, (row for block in made for row in block), strict=True):
        here.compiled.keep_row(here, mask)
    empty = np.flatnonzero(results == k.EMPTY)
    return missing[walked[empty[0]]] if len(empty) else -1


def _new_rows(n: int, n_words: int, addresses: npt.NDArray[np.int64]) -> list[npt.NDArray[np.uint32]]:
    """Read-only blocks of n rows together, and where each row stands.

    A block is too small to be mapped by itself: first touches of fresh pages would cost as much as the walks.
    """
    rows_a_block = max(1, BLOCK_BYTES // (4 * n_words))
    blocks = []
    for first in range(0, n, rows_a_block):
        block = np.empty((min(rows_a_block, n - first), n_words), np.uint32)
        addresses[first : first + len(block), 0] = block.ctypes.data + 4 * n_words * np.arange(len(block))
        block.flags.writeable = False
        blocks.append(block)
    return blocks


def _walk_all(engine: Engine, shared: tuple[Any, ...], ends: tuple[Any, ...], n_threads: int | None) -> None:
    """Walk until every row is whole, with as many threads as pay."""
    starts, results = shared[1], ends[2]
    n_rows, n_heads = len(results), int(np.diff(starts).max())
    left = np.arange(n_rows)
    n_rounds = 0
    while len(left):
        n_parts = max(1, min(n_threads or n_cores(), len(left) // MIN_ROWS_A_THREAD))
        taken = engine.walkers.take(engine.tables, n_heads, n_parts)
        try:
            begun = np.zeros(1, np.int64)
            jobs = [(walker.ctx, *shared, left, begun, *ends) for walker in taken]
            side_by_side(k.walk_rows, jobs)
            wanted = list(dict.fromkeys(what for walker in taken for what in walker.wanted()))
            n_rounds += len(left)
            left = np.flatnonzero((results != k.OK) & (results != k.EMPTY))
            if (results[left] == k.NEED_ROOM).any():
                for walker in taken:
                    walker.grow()
        finally:
            engine.walkers.give(taken)
        if wanted:
            engine.make(wanted)
    engine.count_walks(n_rows, n_rounds)
