"""`domino bench`: the command's options, progress, and files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokenizer_align.errors import InvalidOption, MissingPackage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from domino_py.bench.measure import OnStep, Plan
    from domino_py.bench.methods import Method, Setting
    from domino_py.bench.report import Results

__all__ = ["run"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
_QUICK_PROMPTS = 1


def run(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; the exit code. Raises DominoError for wrong use."""
    command = typer.main.get_command(app)
    try:
        command.main(list(arguments), prog_name="domino bench")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="One prompt a workload: some minutes on a CPU.")] = False,
    drafts: Annotated[
        bool, typer.Option("--drafts", help="What each draft source brings, alone and together.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, help="How often everything is timed.")] = 1,
    workload: Annotated[list[str] | None, typer.Option(help="Only this workload; repeat the option.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only this method; repeat the option.")] = None,
    peers: Annotated[bool, typer.Option("--peers/--no-peers", help="Run other libraries where installed.")] = True,
    show: Annotated[bool, typer.Option("--show", help="Print what every method wrote.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for bench.md, bench.json and bench.png.")] = Path("bench-results"),
    model: Annotated[str | None, typer.Option("--model", "-m", help="Folder or hub name; default: embedded.")] = None,
    dtype: Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")] = "auto",
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    clock: Annotated[str, typer.Option(help="wall, or cpu: processor time, for a busy machine.")] = "wall",
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1,
    assistant: Annotated[str | None, typer.Option(help="--drafts: a smaller model of the same tokenizer.")] = None,
    join: Annotated[
        list[Path] | None, typer.Option(help="Join what runs wrote to these folders; runs nothing.")
    ] = None,
) -> None:
    """Compare with other ways to constrain a model on fixed workloads: speed, passes, perplexity, tokenization."""
    import torch
    from rich.console import Console

    from domino_py.bench.measure import Plan
    from domino_py.bench.methods import Setting
    from domino_py.bench.report import WIDE, joined, read_results
    from domino_py.bench.sweep import DRAFT_WORKLOADS
    from domino_py.bench.workloads import WORKLOADS, workload_named
    from domino_py.cli.loading import load_model

    console = Console()
    if not console.is_terminal:
        console = Console(width=3 * WIDE // 2 if drafts or join else WIDE)  # a file has no width
    if join:
        parts = [read_results((folder / "bench.json").read_text(encoding="utf-8")) for folder in join]
        _write(joined(parts), out, console, show=show)
        return
    of_all = DRAFT_WORKLOADS if drafts else WORKLOADS
    chosen = [workload_named(name, of_all) for name in workload] if workload else list(of_all)
    torch.set_num_threads(threads)
    if clock not in CLOCKS:
        raise InvalidOption(clock, f"--clock {clock}: one of {', '.join(CLOCKS)} was expected.", CLOCKS)
    setting = Setting.of(*load_model(model, dtype, device), CLOCKS[clock])
    find = partial(_draft_methods, assistant=assistant, dtype=dtype, device=device) if drafts else _methods
    methods, absent = find(setting, method, peers)
    plan = Plan(chosen, methods, rounds, _QUICK_PROMPTS if quick else None)
    results = _measured(setting, plan, absent, model or "SmolLM2-135M-Instruct", Console(stderr=True))
    _write(replace(results, kind="drafts" if drafts else "methods"), out, console, show=show)


def _write(results: Results, out: Path, console: Any, *, show: bool) -> None:
    """Print the results, and write them to a folder as Markdown, JSON and a picture."""
    from domino_py.bench.draft_plot import draw_drafts
    from domino_py.bench.draft_report import drafts_as_markdown, print_drafts
    from domino_py.bench.plot import draw
    from domino_py.bench.report import as_json, as_markdown, print_results

    is_drafts = results.kind == "drafts"
    if is_drafts:
        print_drafts(console, results)
    else:
        print_results(console, results, show=show)
    out.mkdir(parents=True, exist_ok=True)
    markdown = drafts_as_markdown(results) if is_drafts else as_markdown(results)
    (out / "bench.md").write_text(markdown, encoding="utf-8")
    (out / "bench.json").write_text(as_json(results), encoding="utf-8")
    drawn = _drawn(draw_drafts if is_drafts else draw, results, out / "bench.png", console)
    console.print(f"written to {out}: {', '.join(['bench.md', 'bench.json', *drawn])} ({results.elapsed_s:.0f} s)")


def _methods(setting: Setting, names: list[str] | None, with_peers: bool) -> tuple[list[Method], dict[str, str]]:
    """The methods to run, and the peers that cannot be run with the reason. Raises InvalidOption for unknown names."""
    from domino_py.bench.methods import own_methods
    from domino_py.bench.peers import PEERS, find_peers

    own = own_methods(setting)
    _check_known(names, [one.name for one in own] + list(PEERS))
    asks_peer = with_peers if names is None else any(name in PEERS for name in names)
    found, absent = find_peers(setting) if asks_peer else ([], [])
    return _wanted([*own, *found], {one.name: one.reason for one in absent}, names)


def _draft_methods(
    setting: Setting, names: list[str] | None, with_peers: bool, *, assistant: str | None, dtype: str, device: str
) -> tuple[list[Method], dict[str, str]]:
    """As `_methods`, for the question what each draft source brings."""
    from domino_py.bench.drafts import draft_methods
    from domino_py.bench.peers import find_peers
    from domino_py.cli.loading import load_model

    draft_model = None if assistant is None else load_model(assistant, dtype, device)[0]
    own = draft_methods(setting, draft_model)
    found, absent = find_peers(setting) if with_peers else ([], [])
    found = [one for one in found if one.name != "outlines"]  # as fast as the others' processors; its indexes are not
    reasons = {one.name: one.reason for one in absent if one.name != "outlines"}
    if with_peers and "transformers" not in reasons:
        from domino_py.bench.peers.transformers_peer import assisted, looked_up

        found.insert(1, looked_up(setting))
        if draft_model is not None:
            found.insert(2, assisted(setting, draft_model))
    if draft_model is None:
        reasons["draft model, assisted decoding"] = "needs a smaller model of the same tokenizer (--assistant)"
    _check_known(names, [one.name for one in (*own, *found)])
    return _wanted([*own, *found], reasons, names)


def _check_known(names: list[str] | None, known: list[str]) -> None:
    for name in names or ():
        if name not in known:
            raise InvalidOption(name, f"there is no method {name!r}; there are {', '.join(known)}.", known)


def _wanted(
    methods: list[Method], absent: dict[str, str], names: list[str] | None
) -> tuple[list[Method], dict[str, str]]:
    """Those that were asked for; all where none was."""
    return (
        [one for one in methods if names is None or one.name in names],
        {name: reason for name, reason in absent.items() if names is None or name in names},
    )


def _measured(setting: Setting, plan: Plan, absent: dict[str, str], name: str, console: Any) -> Results:
    from domino_py.bench.machine import describe_machine, versions_of
    from domino_py.bench.measure import measure, n_steps_of
    from domino_py.bench.methods import Free
    from domino_py.bench.peers import PEERS
    from domino_py.bench.report import Results

    started = time.perf_counter()
    with _progress(console, n_steps_of(plan)) as on_step:
        cells = measure(setting, plan, on_step)
    return Results(
        model=name,
        dtype=str(setting.model.dtype).removeprefix("torch."),
        machine=describe_machine(),
        clock=next(name for name, clock in CLOCKS.items() if clock is setting.clock),
        versions=versions_of(*(PEERS[one.name][1] for one in plan.methods if one.name in PEERS)),
        workloads={one.name: one.title for one in plan.workloads},
        methods={Free.name: Free.title} | {one.name: one.title for one in plan.methods},
        n_rounds=plan.n_rounds,
        cells=cells,
        absent=absent,
        elapsed_s=time.perf_counter() - started,
    )


@contextmanager
def _progress(console: Any, n_steps: int) -> Iterator[OnStep]:
    """A progress bar on a terminal; elsewhere one line a workload."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    if not console.is_terminal:
        seen: set[str] = set()

        def note(what: str) -> None:
            title = what.partition(":")[0]
            if title not in seen:
                seen.add(title)
                console.print(f"{title} …")

        yield note
        return
    with bar:
        task = bar.add_task("starting", total=n_steps)
        yield lambda what: bar.update(task, advance=1, description=what)


def _drawn(draw: Callable[[Results, Path], None], results: Results, path: Path, console: Any) -> list[str]:
    try:
        draw(results, path)
    except MissingPackage as error:
        console.print(f"no plot: {error}")
        return []
    return [path.name]
