"""The bench's results as a terminal table, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from domino_py.bench.results import Cell

__all__ = [
    "Results",
    "as_json",
    "as_markdown",
    "columns_of",
    "heading",
    "joined",
    "print_results",
    "read_results",
    "table_line",
]

HEADS = (
    "method",
    "legal",
    "valid",
    "tokens",
    "passes",
    "passes/token",
    "time ratio",
    "decode ratio",
    "ppl/byte",
    "non-canon",
    "gap (nats)",
    "mask ms/token",
    "drafts",
)
WIDE = 130  # columns of a terminal that shows everything
LEFT_OUT_IF_NARROW = ("valid", "passes", "drafts")
NOTES = (
    "legal: outputs that the library's slow recognizer accepts; valid: that jsonschema (or `re`) accepts.",
    "passes: calls of the model, the prompt's included.",
    "time ratio: time over that of unconstrained generation of the same number of tokens (a chosen end is one) in the "
    "same round, the prompt's pass included in both; median over rounds (lowest-highest of all rounds and prompts).",
    "decode ratio: the same without the prompt's own pass, which is measured alone, on both sides.",
    "domino: on a constraint's first use; later uses: after four other texts were written under it.",
    "ppl/byte (perplexity), gap: under the unconstrained model; gap = log P(the text's canonical tokens) - log P(its "
    "tokens).",
    "mask ms/token: of peers, their whole logits processor. drafts: accepted of drafted.",
    "The unconstrained row runs past its end to the length of the longest output (naive masking's left out); its text "
    "is judged up to its end.",
)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything a bench found out."""

    model: str
    dtype: str
    machine: dict[str, str | int]
    versions: dict[str, str]
    workloads: dict[str, str]  # name -> title
    methods: dict[str, str]  # name -> title
    n_rounds: int
    cells: Sequence[Cell]
    absent: dict[str, str] = field(default_factory=dict)  # peer -> why it was left out
    elapsed_s: float = 0.0
    clock: str = "wall"
    kind: str = "methods"  # or "drafts": which question was asked


def columns_of(cell: Cell, title: str, *, spread: bool = True) -> tuple[str, ...]:
    """One table row; with `spread`, the lowest and highest time ratio too."""
    extremes = ""
    if spread and len(cell.time_ratios) > 1 and cell.method != "unconstrained":
        extremes = f" ({min(cell.time_ratios):.2f}-{max(cell.time_ratios):.2f})"
    return (
        title,
        f"{cell.n_matching}/{cell.n_outputs}",
        f"{cell.n_valid}/{cell.n_outputs}",
        str(cell.n_tokens),
        str(cell.forward_passes),
        _number(cell.passes_per_token, 2),
        _number(cell.time_ratio, 2) + extremes,
        _number(cell.decode_ratio, 2),
        _number(cell.perplexity_per_byte, 3),
        _number(cell.noncanonical_tokens, 0),
        _number(cell.alignment_gap, 2),
        _number(cell.mask_ms_per_token, 3),
        f"{cell.n_accepted}/{cell.n_drafted}" if cell.n_drafted else "-",
    )


def as_markdown(results: Results) -> str:
    """A document with one table a workload."""
    lines = ["# domino bench", "", *heading(results)]
    lines += [f"* {note}" for note in NOTES]
    lines += [f"* left out: {name}: {reason}" for name, reason in results.absent.items()]
    for name, title in results.workloads.items():
        lines += ["", f"## {title}", "", table_line(HEADS), table_line(["---"] + ["--:"] * (len(HEADS) - 1))]
        for cell in results.cells:
            if cell.workload == name:
                lines.append(table_line(_row(cell, results)))
    return "\n".join(lines) + "\n"


def heading(results: Results) -> list[str]:
    """Model, rounds, machine and versions, as paragraphs."""
    facts = {**results.machine, **results.versions}
    return [
        f"{results.model}, {results.dtype}, greedy, {_count(results.n_rounds, 'round')}, {results.clock} time.",
        "",
        ", ".join(f"{name} {value}" for name, value in facts.items()) + ".",
        "",
    ]


def as_json(results: Results) -> str:
    """Every number and every output, unrounded."""
    return json.dumps(
        {
            "model": results.model,
            "dtype": results.dtype,
            "n_rounds": results.n_rounds,
            "elapsed_s": results.elapsed_s,
            "clock": results.clock,
            "kind": results.kind,
            "machine": results.machine,
            "versions": results.versions,
            "workloads": results.workloads,
            "methods": results.methods,
            "absent": results.absent,
            "cells": [cell.to_dict() for cell in results.cells],
        },
        indent=2,
        ensure_ascii=False,
    )


def read_results(text: str) -> Results:
    """What `as_json` wrote."""
    found = json.loads(text)
    cells = [Cell(**{name: _hashable(value) for name, value in one.items()}) for one in found.pop("cells")]
    return Results(**found, cells=cells)


def joined(parts: Sequence[Results]) -> Results:
    """Runs of one model on one machine, each with other workloads or methods, as one. Raises ValueError."""
    first = parts[0]
    for part in parts:
        if (part.kind, part.model, part.dtype, part.clock) != (first.kind, first.model, first.dtype, first.clock):
            raise ValueError("these runs asked other questions, or are of other models, precisions or clocks")
    return replace(
        first,
        workloads={name: title for part in parts for name, title in part.workloads.items()},
        methods={name: title for part in parts for name, title in part.methods.items()},
        versions={name: version for part in parts for name, version in part.versions.items()},
        absent={name: reason for part in parts for name, reason in part.absent.items()},
        cells=[cell for part in parts for cell in part.cells],
        elapsed_s=sum(part.elapsed_s for part in parts),
    )


def _hashable(value: Any) -> Any:
    """Lists as the tuples that they were."""
    if isinstance(value, dict):
        return {name: _hashable(one) for name, one in value.items()}
    return tuple(_hashable(one) for one in value) if isinstance(value, list) else value


def print_results(console: Any, results: Results, *, show: bool) -> None:
    """Print the tables, and with `show` every method's outputs."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for name, title in results.workloads.items():
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
        places = [i for i, head in enumerate(HEADS) if console.width >= WIDE or head not in LEFT_OUT_IF_NARROW]
        for place in places:
            head = HEADS[place].replace(" ", "\n").replace("/", "\n/").replace("-", "-\n") if place else HEADS[place]
            table.add_column(head, justify="right" if place else "left", no_wrap=True)
        mine = [cell for cell in results.cells if cell.workload == name]
        for cell in mine:
            row = columns_of(cell, results.methods[cell.method], spread=console.width >= WIDE)
            if not cell.failure:
                table.add_row(*(Text(row[i]) for i in places), style="bold" if cell.method == "domino" else "")
        console.print(table)
        for cell in mine:
            if cell.failure:
                console.print(Text(f"{results.methods[cell.method]}: {cell.failure}", style="dim"))
        if show:
            for cell in mine:
                for number, text in enumerate(cell.texts, 1):
                    console.print(Text(f"{results.methods[cell.method]}, prompt {number}", style="cyan"))
                    console.print(Text(text))
                    console.print()
    for name, reason in results.absent.items():
        console.print(Text(f"left out: {name}: {reason}", style="dim"))


def _row(cell: Cell, results: Results) -> Sequence[str]:
    title = results.methods[cell.method]
    if cell.failure:
        return [f"{title}: {cell.failure}", *["-"] * (len(HEADS) - 1)]
    return columns_of(cell, title)


def table_line(parts: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
