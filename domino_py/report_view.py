"""How a report looks: in a terminal (Rich), as plain text, and in a notebook (HTML)."""

from __future__ import annotations

import html
import io
import math
from typing import Any

from domino_py.report import LAWS, Intervention, Report

_SHOWN = 12
_ADVICE = 3  # disagreements shown, the costliest


def lines_of(report: Report) -> list[tuple[str, str]]:
    """(name, value) of every number that was measured, in reading order."""
    tokens = f"{report.n_tokens} for {report.n_bytes} bytes, after a prompt of {report.n_prompt_tokens}"
    if report.n_texts != 1:
        tokens = f"{report.n_texts} texts, {tokens}"
    if report.finish_reason:
        tokens += f"; ended: {report.finish_reason}"
    way = "greedy" if report.greedy else f"sampled, seed {report.seed}"
    found = [
        ("tokens", tokens),
        ("law", f"{report.law}, {way}: {LAWS.get(report.law, 'several')}"),
        ("passes", _passes(report)),
    ]
    if report.drafted:
        found.append(("drafts", _drafts(report)))
    found.append(("time", _time(report)))
    if report.law != "model" and report.projection_tax_low is not None:
        found.append(("projection tax", _tax(report)))
    if report.logprob is not None:
        found.append(("log-probability", _nats(report.logprob)))
    if report.perplexity_per_token is not None and report.perplexity_per_byte is not None:
        value = f"{report.perplexity_per_token:.3f} a token, {report.perplexity_per_byte:.3f} a byte"
        found.append(("perplexity", f"{value}, under the unconstrained model"))
    if report.noncanonical_tokens is not None:
        gap = "" if report.alignment_gap is None else f"; alignment gap {_nats(report.alignment_gap)}"
        counts = f"{report.noncanonical_tokens} non-canonical of {report.n_tokens} tokens{_places(report)}{gap}"
        counts += f"; {report.n_taken_back} taken back" if report.n_taken_back else ""
        found.append(("tokenization", f"{report.tokenization}: {counts}"))
    found.append(("interventions", str(report.n_interventions)))
    found.extend(("disagreement", str(one)) for one in report.disagreements[:_ADVICE] if one.hint or one.is_split)
    found.extend(("note", note) for note in report.notes)
    return found


def as_renderable(report: Report) -> Any:
    """A Rich group: the table of numbers, then where the constraint fought the model."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    numbers = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    numbers.add_column(style="bold", no_wrap=True)
    numbers.add_column()
    for name, value in lines_of(report):
        numbers.add_row(name, Text(value))
    if not report.interventions:
        return numbers
    return Group(numbers, Text(), interventions_table(report))


def interventions_table(report: Report, limit: int = _SHOWN) -> Any:
    """A Rich table of the costliest interventions, in order of steps."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = _costliest(report.interventions, limit)
    count = f"{len(shown)} of {report.n_interventions}" if len(shown) < report.n_interventions else str(len(shown))
    table = Table(
        title=f"Where the constraint fought the model ({count})",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name, justify in (
        ("step", "right"),
        ("after", "right"),
        ("it wanted", "left"),
        ("it got", "left"),
        ("nats", "right"),
    ):
        table.add_column(name, justify=justify, no_wrap=name in ("step", "nats"))  # type: ignore[arg-type]
    for one in shown:
        cells = (_tail(one.before), visible(one.wanted), visible(one.got), _cost(one))
        table.add_row(str(one.step), *(Text(cell) for cell in cells))
    return table


def as_text(report: Report, width: int = 120) -> str:
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False).print(as_renderable(report))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def as_html(report: Report) -> str:
    """A table for notebooks; everything that comes from a model or a caller is escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(n)}</th><td style='text-align:left'>{html.escape(v)}</td></tr>"
        for n, v in lines_of(report)
    )
    parts = [f"<table>{rows}</table>"]
    shown = _costliest(report.interventions, _SHOWN)
    if shown:
        head = "".join(f"<th>{name}</th>" for name in ("step", "after", "it wanted", "it got", "nats"))
        body = "".join(
            "<tr>"
            + f"<td>{one.step}</td>"
            + "".join(
                f"<td style='text-align:left'><code>{html.escape(cell)}</code></td>"
                for cell in (_tail(one.before), visible(one.wanted), visible(one.got))
            )
            + f"<td>{html.escape(_cost(one))}</td></tr>"
            for one in shown
        )
        parts.append(f"<p><b>Where the constraint fought the model</b></p><table><tr>{head}</tr>{body}</table>")
    return "".join(parts)


def visible(text: str) -> str:
    """Text on one line, its line ends and blanks at the edges made visible."""
    shown = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in shown)
    left = len(shown) - len(shown.lstrip(" "))
    right = len(shown) - len(shown.rstrip(" ")) if shown.strip(" ") else 0
    return "␣" * left + shown[left : len(shown) - right] + "␣" * right


def _tail(text: str, length: int = 28) -> str:
    shown = visible(text)
    return shown if len(shown) <= length else "…" + shown[1 - length :]


def _costliest(interventions: tuple[Intervention, ...], limit: int) -> list[Intervention]:
    order = sorted(range(len(interventions)), key=lambda i: -(interventions[i].cost or 0.0))[:limit]
    return [interventions[i] for i in sorted(order)]


def _places(report: Report) -> str:
    """Where the non-canonical tokens are, the first few."""
    if not report.noncanonical_at:
        return ""
    shown = ", ".join(map(str, report.noncanonical_at[:8])) + (", …" if len(report.noncanonical_at) > 8 else "")
    return f" (at token {shown})"


def _passes(report: Report) -> str:
    per_pass = report.tokens_per_pass
    count = str(report.forward_passes) if report.n_texts == 1 else f"{report.forward_passes}, counted for each text"
    return count + ("" if per_pass is None else f", {per_pass:.2f} tokens a pass")


def _drafts(report: Report) -> str:
    parts = [f"{name} {report.accepted.get(name, 0)} of {count}" for name, count in report.drafted.items()]
    return f"{report.n_accepted} of {report.n_drafted} accepted ({', '.join(parts)})"


def _time(report: Report) -> str:
    return f"{seconds(report.total_s)}: model {seconds(report.model_s)}, masks {seconds(report.mask_s)}"


def seconds(value: float) -> str:
    if value < 0.001:
        return f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"


def _nats(value: float) -> str:
    return f"{value:.2f} nats".replace("inf", "∞")


def _tax(report: Report) -> str:
    low, high = report.projection_tax_low or 0.0, report.projection_tax_high
    if report.projection_tax is not None:
        return f"{_nats(report.projection_tax)}{_each(report.projection_tax, report.n_tokens)}"
    return f"at least {_nats(low)}" + ("" if high is None else f", at most {_nats(high)} (measure='full' tells)")


def _each(value: float, n_tokens: int) -> str:
    return "" if not n_tokens or math.isinf(value) else f", {value / n_tokens:.3f} a token"


def _cost(one: Intervention) -> str:
    if one.cost is None:
        return "to end in time" if one.because == "budget" else ""
    cost = "∞" if math.isinf(one.cost) else f"{one.cost:.2f}"
    return f"{cost} (to end in time)" if one.because == "budget" else cost
