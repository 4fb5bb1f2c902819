"""`domino inspect`: what a constraint allows at the start of a text or after some of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from domino_py.cli import options as opt


def inspect(
    schema: Annotated[str | None, typer.Argument(help="A JSON Schema file, module:Type or file.py:Type.")] = None,
    regex: Annotated[str | None, typer.Option(help="Inspect this pattern instead.")] = None,
    choice: Annotated[list[str] | None, typer.Option(help="Or these texts.", metavar="<str>")] = None,
    json: Annotated[bool, typer.Option("--json", help="Or any JSON value.")] = False,
    grammar: opt.GrammarFile = None,
    syntax: opt.Syntax = None,
    start: opt.Start = None,
    template: opt.Template = None,
    hole: opt.Hole = None,
    after: Annotated[str, typer.Option(help="The text so far.")] = "",
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Also count the tokens of this model's tokenizer; 'default' is embedded."),
    ] = None,
) -> None:
    """Show what a constraint allows: next bytes, what is forced, the shortest text. Exit code 1 for an error."""
    import domino_py as domino
    from domino_py.cli.generate_command import constraint_of
    from domino_py.cli.loading import load_model

    wanted: Any = constraint_of(regex, choice, json, schema, grammar, syntax, template, hole, start=start)
    if wanted is None:
        raise domino.InvalidOption(
            "schema", "give a schema (or type), --regex, --choice, --json, --grammar or --template."
        )
    tokenizer = None if model is None else load_model(None if model == "default" else model)[1]
    seen = domino.inspect(wanted, after, tokenizer=tokenizer)
    Console().print(seen, soft_wrap=True)
    raise typer.Exit(0 if seen.is_legal and not any(one.severity == "error" for one in seen.problems) else 1)
