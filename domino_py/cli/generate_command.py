"""`domino generate`: text for one prompt, under a constraint."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from domino_py.cli import options as opt
from tokenizer_align.errors import InvalidOption

Prompt = Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")]


def generate(
    prompt: Prompt,
    regex: Annotated[str | None, typer.Option(help="The text matches this pattern.")] = None,
    choice: Annotated[
        list[str] | None, typer.Option(help="The text is one of these; repeat the option.", metavar="<str>")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The text is any JSON value.")] = False,
    schema: opt.Schema = None,
    grammar: opt.GrammarFile = None,
    syntax: opt.Syntax = None,
    start: opt.Start = None,
    template: opt.Template = None,
    hole: opt.Hole = None,
    tools: opt.Tools = None,
    tool_choice: opt.ToolChoice = "auto",
    tool_format: opt.ToolFormat = "auto",
    chat: Annotated[
        bool, typer.Option("--chat/--text", help="Put the prompt through the chat template, or not.")
    ] = False,
    max_new_tokens: opt.MaxNewTokens = None,
    sample: opt.Sample = False,
    temperature: opt.Temperature = None,
    top_p: opt.TopP = None,
    top_k: opt.TopK = None,
    seed: opt.Seed = None,
    tokenization: opt.Tokenization = "aligned",
    stream: Annotated[bool, typer.Option("--stream/--whole", help="Print the text as it is written.")] = False,
    model: opt.Model = None,
    dtype: opt.Dtype = "auto",
    device: opt.Device = "cpu",
    report: opt.ShowReport = False,
) -> None:
    """Generate text under a constraint; without one, free text."""
    import domino_py as domino
    from domino_py.cli.loading import load_model, load_tools

    constraint = constraint_of(regex, choice, json, schema, grammar, syntax, template, hole, tools, start)
    if tools is not None:
        constraint = load_tools(tools, tool_choice, tool_format)
    settings = opt.sampling_options(sample, temperature, top_p, top_k, seed)
    text = sys.stdin.read() if prompt == "-" else prompt
    loaded, tokenizer = load_model(model, dtype, device)
    asked: Any = [{"role": "user", "content": text}] if chat or tools is not None else text
    options = {"max_new_tokens": max_new_tokens, "tokenization": tokenization, **settings}
    if stream:
        parts = domino.stream(loaded, tokenizer, asked, constraint, **options)
        for part in parts:
            typer.echo(part.text, nl=False)
        typer.echo()
        result = parts.result
    else:
        result = domino.generate(loaded, tokenizer, asked, constraint, **options)
        typer.echo(result.text)
    if report:
        Console(stderr=True).print(result.report)


def constraint_of(
    regex: str | None,
    choice: list[str] | None,
    json: bool,
    schema: str | None,
    grammar: str | None = None,
    syntax: str | None = None,
    template: str | None = None,
    holes: list[str] | None = None,
    tools: str | None = None,
    start: str | None = None,
) -> Any:
    """The constraint that the options name, but for tools. Raises InvalidOption for more than one of them."""
    import domino_py as domino
    from domino_py.cli.loading import load_grammar, load_schema, load_template

    given = {"--regex": regex is not None, "--choice": bool(choice), "--json": json, "--schema": schema is not None}
    given |= {"--grammar": grammar is not None, "--template": template is not None, "--tools": tools is not None}
    names = [name for name, present in given.items() if present]
    if len(names) > 1:
        raise InvalidOption(names[1], f"{' and '.join(names)} were given; one constraint is the most.")
    if regex is not None:
        return domino.regex(regex)
    if choice:
        return domino.choice(choice)
    if json:
        return domino.json()
    if grammar is not None:
        return load_grammar(grammar, syntax, start)
    if template is not None:
        return load_template(template, holes or [])
    if holes:
        raise InvalidOption("--hole", "--hole says what a hole of a --template may hold, and none was given.")
    return None if schema is None else load_schema(schema)
