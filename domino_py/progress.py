"""A progress bar over records, on the terminal or in a notebook; nothing where there is neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")


def progress_over(outcomes: Iterator[T], source: Iterable[Any], *, shown: bool) -> Iterator[T]:
    """Hand the outcomes on, and count them on a bar. `source` gives the total, if it knows it."""
    if not shown:
        yield from outcomes
        return
    from rich import progress as rp
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield from outcomes
        return
    total = len(source) if isinstance(source, Sized) else None
    times = (rp.TimeElapsedColumn(), rp.TimeRemainingColumn())
    failed = 0
    with rp.Progress(
        rp.TextColumn("{task.description}"), rp.BarColumn(), rp.MofNCompleteColumn(), *times, console=console
    ) as bar:
        task = bar.add_task("records", total=total)
        for outcome in outcomes:
            failed += getattr(outcome, "failure", None) is not None
            bar.update(task, advance=1, description="records" if not failed else f"records ({failed} failed)")
            yield outcome
