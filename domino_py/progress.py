"""A progress bar over texts, on the terminal or in a notebook; nothing where there is neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Protocol

__all__ = ["Progress", "progress_bar"]


class Progress(Protocol):
    """What is told while texts are written."""

    def finished(self, *, failed: bool = False) -> None:
        """One more text is done."""

    def wrote(self, n_tokens: int) -> None:
        """So many more tokens of texts that are not done yet."""


class _Silent:
    def finished(self, *, failed: bool = False) -> None:
        pass

    def wrote(self, n_tokens: int) -> None:
        pass


class _Bar:
    def __init__(self, bar: Any, task: Any, what: str) -> None:
        self._bar, self._task, self._what = bar, task, what
        self._n_failed = self._n_tokens = 0

    def finished(self, *, failed: bool = False) -> None:
        self._n_failed += failed
        self._bar.update(self._task, advance=1, description=self._text())

    def wrote(self, n_tokens: int) -> None:
        self._n_tokens += n_tokens
        self._bar.update(self._task, description=self._text())

    def _text(self) -> str:
        failed = f" ({self._n_failed} failed)" if self._n_failed else ""
        return f"{self._what}{failed}, {self._n_tokens:,} tokens"


@contextmanager
def progress_bar(source: Iterable[Any], what: str = "records", *, shown: bool = True) -> Iterator[Progress]:
    """A bar that counts finished texts and written tokens. `source` gives the total, if it knows it."""
    from rich.console import Console

    console = Console(stderr=True) if shown else None
    if console is None or not (console.is_terminal or console.is_jupyter):
        yield _Silent()
        return
    from rich import progress as rp

    total = len(source) if isinstance(source, Sized) else None
    times = (rp.TimeElapsedColumn(), rp.TimeRemainingColumn())
    columns = (rp.TextColumn("{task.description}"), rp.BarColumn(), rp.MofNCompleteColumn(), *times)
    with rp.Progress(*columns, console=console) as bar:
        yield _Bar(bar, bar.add_task(what, total=total), what)
