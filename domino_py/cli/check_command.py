"""`domino check`: what is wrong with a schema, type, pattern or grammar, without a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from domino_py.cli import options as opt

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check(
    schema: Annotated[str | None, typer.Argument(help="A JSON Schema file, module:Type or file.py:Type.")] = None,
    regex: Annotated[str | None, typer.Option(help="Check this pattern instead.")] = None,
    grammar: opt.GrammarFile = None,
    syntax: opt.Syntax = None,
    text: Annotated[str | None, typer.Option(help="Also say whether this text is legal.")] = None,
) -> None:
    """Say what is wrong with a schema, type, pattern or grammar, and where. Exit code 1 if there is an error."""
    import domino_py as domino
    from domino_py.arguments import as_constraint
    from domino_py.cli.loading import load_grammar, load_schema

    if [schema, regex, grammar].count(None) != 2:
        raise domino.InvalidOption("schema", "give either a schema (or type), --regex or --grammar.")
    problems: list[domino.Problem] = []
    wanted: Any = None
    try:
        if grammar is not None:
            wanted = load_grammar(grammar, syntax)
        else:
            wanted = domino.regex(regex) if regex is not None else load_schema(schema or "")
        problems = domino.check(wanted)
    except domino.GrammarError as error:
        problems = list(error.problems)
    console = Console()
    for problem in problems:
        console.print(Text.assemble((f"{problem.severity}: ", _STYLES[problem.severity]), str(problem)), soft_wrap=True)
    failed = any(problem.severity == "error" for problem in problems)
    if not problems:
        console.print("no problems")
    if text is not None and not failed:
        constraint = as_constraint(wanted)
        legal = constraint is None or constraint.matches(text)
        console.print("the text is legal" if legal else "the text is not legal")
        failed = not legal
    raise typer.Exit(1 if failed else 0)
