"""What `domino bench --drafts` found: speed-up, passes and accepted drafts by draft source and workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from domino_py.bench.report import Results, heading, table_line
from domino_py.bench.results import Cell

__all__ = ["Table", "drafts_as_markdown", "print_drafts", "tables_of"]

PUBLISHED = (
    "Published for DOMINO (arXiv 2403.06988; models of 7 and 13 billion weights on a GPU): almost twice as fast as "
    "unconstrained decoding at best, about 1.8 times on schema-driven JSON, about as fast on free JSON and C."
)
NOTES = (
    "Speed-up: the time of unconstrained generation of as many tokens (a chosen end is one) in this library's loop "
    "over the method's, without the prompt's own pass, measured alone, on both sides; in brackets the whole call. "
    "Above 1 is faster. Medians over rounds of sums over prompts.",
    "First use: nothing is remembered of the constraint. Later uses: after other texts were written under it "
    "(the workload's practice questions), none of them the one that is asked for.",
    'Drafts are as wide as pays by what passes cost here (`speculate="auto"`). "As wide as on an accelerator" takes '
    "passes for nearly flat instead, so only its passes mean something.",
    "transformers' own drafts (prompt look-up, assisted) are without constraint; its rows write what the model says, "
    "which need not be legal.",
    "forced: share of the text's bytes that the constraint determines alone, or up to layout.",
    PUBLISHED,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A heading, column heads, and rows of text."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(results: Results) -> list[Table]:
    """The tables, methods down and workloads across."""
    found = [
        _table(results, "speed-up of decoding (of the whole call)", _speed_up),
        _table(results, "passes per token", lambda cell: _number(cell.passes_per_token)),
        _table(results, "drafted tokens accepted", _accepted),
        _by_source(results, "all", "accepted by source, all together, first use"),
        _by_source(results, "all-later", "accepted by source, all together, later uses"),
        _table(results, "outputs that are legal", lambda cell: f"{cell.n_matching}/{cell.n_outputs}"),
    ]
    return [one for one in found if one.rows]


def drafts_as_markdown(results: Results) -> str:
    """A document with all tables."""
    lines = ["# domino bench --drafts", "", *heading(results)]
    lines += [f"* {note}" for note in NOTES]
    lines += [f"* left out: {name}: {reason}" for name, reason in results.absent.items()]
    lines += [f"* {name}: {title}" for name, title in results.workloads.items()]
    for cell in results.cells:
        if cell.failure:
            lines.append(f"* {results.methods[cell.method]} on {cell.workload}: {cell.failure}")
    for table in tables_of(results):
        lines += ["", f"## {table.title}", "", table_line(table.heads)]
        lines += [table_line(["---"] + ["--:"] * (len(table.heads) - 1)), *map(table_line, table.rows)]
    return "\n".join(lines) + "\n"


def print_drafts(console: Any, results: Results) -> None:
    """Print the tables."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    for table in tables_of(results):
        shown = RichTable(box=box.SIMPLE_HEAD, title=table.title, title_justify="left", title_style="bold")
        for place, head in enumerate(table.heads):
            shown.add_column(head, justify="right" if place else "left", no_wrap=True)
        for row in table.rows:
            shown.add_row(*map(Text, row))
        console.print(shown)
    for cell in results.cells:
        if cell.failure:
            console.print(Text(f"{results.methods[cell.method]} on {cell.workload}: {cell.failure}", style="dim"))
    for name, reason in results.absent.items():
        console.print(Text(f"left out: {name}: {reason}", style="dim"))
    console.print(Text(PUBLISHED, style="dim"))


def _table(results: Results, title: str, show: Callable[[Cell], str]) -> Table:
    cells = {(cell.workload, cell.method): cell for cell in results.cells}
    rows = []
    if title.startswith("speed-up"):
        rows.append(("forced", *(_forced(cells, workload) for workload in results.workloads)))
    for method, name in results.methods.items():
        row = tuple(_shown(cells.get((workload, method)), show) for workload in results.workloads)
        if any(one != "-" for one in row):
            rows.append((name, *row))
    return Table(title, ("method", *results.workloads), tuple(rows))


def _by_source(results: Results, method: str, title: str) -> Table:
    cells = {cell.workload: cell for cell in results.cells if cell.method == method}
    sources = dict.fromkeys(name for cell in cells.values() for name in cell.by_source)
    rows = [
        (source, *(_pair(cells[name].by_source.get(source)) if name in cells else "-" for name in results.workloads))
        for source in sources
    ]
    return Table(title, ("source", *results.workloads), tuple(rows))


def _forced(cells: dict[tuple[str, str], Cell], workload: str) -> str:
    shares = list(_shares(cell for (name, method), cell in cells.items() if name == workload and method == "exact"))
    return f"{100 * fmean(shares):.0f} %" if shares else "-"


def _shares(cells: Iterator[Cell]) -> Iterator[float]:
    for cell in cells:
        yield from (share for share in cell.forced_shares if share is not None)


def _shown(cell: Cell | None, show: Callable[[Cell], str]) -> str:
    return "-" if cell is None or cell.failure else show(cell)


def _speed_up(cell: Cell) -> str:
    if not cell.decode_ratio or not cell.time_ratio:
        return "-"
    return f"{1 / cell.decode_ratio:.2f} ({1 / cell.time_ratio:.2f})"


def _accepted(cell: Cell) -> str:
    return _pair((cell.n_accepted, cell.n_drafted)) if cell.n_drafted else "-"


def _pair(counts: Sequence[int] | None) -> str:
    return "-" if counts is None else f"{counts[0]}/{counts[1]}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
