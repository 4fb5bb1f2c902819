"""The application: its commands, and errors as one clear line on stderr instead of a traceback."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from domino_py.cli import check_command, extract_command, generate_command
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


@app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def bench(context: typer.Context) -> None:
    """Compare with other ways to constrain a model: speed, passes, perplexity, tokenization."""
    from domino_py.bench.cli import run as run_bench

    raise typer.Exit(run_bench(context.args))


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
    try:
        app()
    except DominoError as error:
        Console(stderr=True).print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        sys.exit(1)
