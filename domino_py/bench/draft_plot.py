"""Speed-up against the share of forced bytes, as one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from domino_py.bench.report import Results
from tokenizer_align.errors import MissingPackage

__all__ = ["draw_drafts"]

_SHOWN = {"exact": "no drafts", "all": "first use", "all-later": "later uses"}
_MARKS = {"exact": ("x", "0.5"), "all": ("o", "C0"), "all-later": ("s", "C1")}


def draw_drafts(results: Results, path: Path) -> None:
    """Write a PNG with one point a prompt, named by workload. Raises MissingPackage without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("matplotlib", "the plot of domino bench") from error

    figure = Figure(figsize=(8.5, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    axis: Any = figure.subplots()
    named: dict[tuple[str, int], list[tuple[float, float]]] = {}  # prompts of a workload that lie apart by themselves
    for method, label in _SHOWN.items():
        points = _points(results, method)
        mark, colour = _MARKS[method]
        axis.scatter([x for x, _, _ in points], [y for _, y, _ in points], marker=mark, color=colour, label=label, s=34)
        for x, y, workload in points:
            named.setdefault((workload, round(x / 4)), []).append((x, y))
    for (workload, _), places in named.items():
        x = sum(place[0] for place in places) / len(places)
        axis.annotate(
            workload,
            (x, max(place[1] for place in places)),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color="0.25",
        )
    axis.axhline(1.0, color="0.4", linewidth=0.8)
    axis.set_xlim(-4, 104)
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.margins(y=0.12)
    axis.set_xlabel("share of bytes that the constraint determines alone or up to layout, %")
    axis.set_ylabel("speed-up of decoding over unconstrained")
    axis.set_title(
        f"{results.model}, {results.dtype}, {results.machine['torch threads']} thread, greedy, "
        f"{results.clock} time; one point a prompt",
        fontsize=9,
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=150)


def _points(results: Results, method: str) -> list[tuple[float, float, str]]:
    """(forced bytes in percent, speed-up, workload) of each prompt."""
    return [
        (100 * share, 1 / ratio, cell.workload)
        for cell in results.cells
        if cell.method == method and not cell.failure
        for share, ratio in zip(cell.forced_shares, cell.decode_ratios, strict=True)
        if share is not None and ratio > 0
    ]
