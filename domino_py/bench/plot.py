"""The bench's results as one picture: passes, time and perplexity by workload and method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from domino_py.bench.report import Results
from domino_py.bench.results import Cell
from tokenizer_align.errors import MissingPackage

__all__ = ["draw"]

_PANELS = (
    ("passes_per_token", "forward passes per token"),
    ("time_ratio", "time / unconstrained time"),
    ("perplexity_per_byte", "perplexity per byte"),
)
_BAR = 0.8  # share of a workload's height that its bars fill


def draw(results: Results, path: Path) -> None:
    """Write a PNG. Raises MissingPackage without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("matplotlib", "the plot of domino bench") from error

    names = list(results.methods)
    workloads = list(results.workloads)
    cells = {(cell.workload, cell.method): cell for cell in results.cells}
    figure = Figure(figsize=(13, 1.2 + 0.24 * len(names) * len(workloads)), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(1, len(_PANELS), sharey=True)
    height = _BAR / max(len(names), 1)
    for axis, (number, title) in zip(axes, _PANELS, strict=True):
        for row, name in enumerate(names):
            values = [_value(cells.get((workload, name)), number) for workload in workloads]
            places = [index + row * height for index in range(len(workloads))]
            bars = axis.barh(places, values, height=height, label=results.methods[name], color=f"C{row % 10}")
            axis.bar_label(bars, [f"{v:.2f}" if v else "" for v in values], padding=2, fontsize=7)
        axis.set_title(title, fontsize=10)
        if number != "perplexity_per_byte":
            axis.axvline(1.0, color="0.4", linewidth=0.8)
        axis.margins(x=0.12)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks([index + (_BAR - height) / 2 for index in range(len(workloads))])
    axes[0].set_yticklabels(list(results.workloads.values()))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=150)


def _value(cell: Cell | None, number: str) -> float:
    value = None if cell is None else getattr(cell, number)
    return 0.0 if value is None else float(value)
