"""The application: its commands, and errors as one clear line on stderr instead of a traceback."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from domino_py.cli import check_command, extract_command, generate_command, inspect_command
from tokenizer_align.errors import DominoError

app = typer.Typer(
    name="domino",
    help="Constrained decoding: text and typed objects out of language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("extract", no_args_is_help=True)(extract_command.extract)
app.command("generate", no_args_is_help=True)(generate_command.generate)
app.command("check", no_args_is_help=True)(check_command.check)
app.command("inspect", no_args_is_help=True)(inspect_command.inspect)


@app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def bench(context: typer.Context) -> None:
    """Compare with other ways to constrain a model."""
    from domino_py.bench.cli import run as run_bench

    raise typer.Exit(run_bench(context.args))


_INTERRUPTED = 130  # the exit code

# Messages name the parameters of the Python functions; on the command line the same things are options.
_OPTIONS = {
    "resume=False": "--restart",
    "do_sample=True": "--sample",
    "do_sample=False": "--greedy",
    "max_new_tokens": "--max-new-tokens",
}


def _print_message(kind: str, style: str, message: str) -> None:
    for parameter, option in _OPTIONS.items():
        message = message.replace(parameter, option)
    Console(stderr=True).print(Text.assemble((f"{kind}: ", style), message), soft_wrap=True)


def _show_warning(message: Warning | str, *_where: object, **_more: object) -> None:
    _print_message("warning", "bold yellow", str(message))


def _version(shown: bool) -> None:
    if shown:
        import domino_py

        typer.echo(f"domino {domino_py.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Constrained decoding: text and typed objects out of language models."""


def run() -> None:
    """Run the application; an expected error is a message and exit code 2, an interrupt is exit code 130."""
    warnings.showwarning = _show_warning
    try:
        app()
    except DominoError as error:
        _print_message("error", "bold red", str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted")
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # typer makes this of an interrupt within a command, and says nothing
            Console(stderr=True).print("interrupted")
        raise
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        sys.exit(1)
