"""`domino check`: what is wrong with a schema, type, pattern or grammar, and where a model would write otherwise.

With --model or --prompt the model answers the prompts greedily, and the places where it and the constraint disagree
most are listed (`domino_py.lint_model`).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from domino_py.cli import options as opt

_EXAMPLE = "Make up an example."
_MOST = 10  # disagreements that are listed
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check(
    schema: Annotated[str | None, typer.Argument(help="A JSON Schema file, module:Type or file.py:Type.")] = None,
    regex: Annotated[str | None, typer.Option(help="Check this pattern instead.")] = None,
    grammar: opt.GrammarFile = None,
    syntax: opt.Syntax = None,
    start: opt.Start = None,
    template: opt.Template = None,
    hole: opt.Hole = None,
    text: Annotated[str | None, typer.Option(help="Also say whether this text is legal.")] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Also say where this model disagrees; 'default' is the embedded one."),
    ] = None,
    prompt: Annotated[
        list[str] | None, typer.Option(help="With a model: a text to extract from, or a prompt. Repeat the option.")
    ] = None,
    max_new_tokens: opt.MaxNewTokens = None,
    dtype: opt.Dtype = "auto",
    device: opt.Device = "cpu",
) -> None:
    """Say what is wrong with a schema, type, pattern, grammar or template. Exit code 1 if there is an error."""
    import domino_py as domino
    from domino_py.arguments import as_constraint
    from domino_py.cli.loading import load_grammar, load_schema, load_template
    from domino_py.constraints.quiet import unlogged

    if [schema, regex, grammar, template].count(None) != 3:
        raise domino.InvalidOption("schema", "give either a schema (or type), --regex, --grammar or --template.")
    problems: list[domino.Problem] = []
    wanted: Any = None
    wrong_pattern = ""
    try:
        with unlogged():
            if grammar is not None:
                wanted = load_grammar(grammar, syntax, start)
            elif template is not None:
                wanted = load_template(template, hole or [])
            else:
                wanted = domino.regex(regex) if regex is not None else load_schema(schema or "")
            problems = domino.check(wanted)
    except (domino.GrammarError, domino.TemplateError) as error:
        problems = list(error.problems)
    except domino.RegexError as error:
        wrong_pattern = str(error)
    console = Console()
    if wrong_pattern:
        console.print(Text.assemble(("error: ", _STYLES["error"]), wrong_pattern), soft_wrap=True)
        raise typer.Exit(1)
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
    if (model is not None or prompt) and wanted is not None and not failed:
        name = None if model in (None, "default") else model
        _lint(console, wanted, name, prompt or [_EXAMPLE], max_new_tokens, dtype, device)
    raise typer.Exit(1 if failed else 0)


def _lint(
    console: Console,
    wanted: Any,
    model: str | None,
    prompts: list[str],
    max_new_tokens: int | None,
    dtype: str,
    device: str,
) -> None:
    """Answer the prompts under the constraint, and print where the model would rather have written something else."""
    import domino_py as domino
    from domino_py.arguments import as_constraint
    from domino_py.cli.loading import load_model
    from domino_py.extraction_prompt import ExtractionPrompt
    from domino_py.lint_hints import JSON_KINDS
    from domino_py.prompts import has_chat_template

    loaded, tokenizer = load_model(model, dtype, device)
    constraint = as_constraint(wanted)
    if constraint is not None and constraint.kind in JSON_KINDS:
        asking = ExtractionPrompt(tokenizer, wanted, constraint)
        asked: list[Any] = [asking.ids(text, f"prompt[{index}]") for index, text in enumerate(prompts)]
    else:
        chats = has_chat_template(tokenizer)
        asked = [[{"role": "user", "content": text}] if chats else text for text in prompts]
    results = domino.generate(
        loaded, tokenizer, asked, constraint, max_new_tokens=max_new_tokens, do_sample=False, measure="full"
    )
    report = domino.Report.total(result.report for result in results)
    for result in results:
        console.print(Text.assemble(("output: ", "dim"), result.text), soft_wrap=True)
    for one in report.disagreements[:_MOST]:
        console.print(Text.assemble(("model: ", "yellow"), str(one)), soft_wrap=True)
    left = len(report.disagreements) - _MOST
    if left > 0:
        console.print(f"and {left} places more that cost less")
    if not report.disagreements:
        console.print("the model and the constraint agree")
