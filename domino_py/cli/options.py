"""Options that several commands share, and how they become generation options."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Model = Annotated[
    str | None, typer.Option("--model", "-m", help="Folder or hub name; default: the small embedded model.")
]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, …")]
MaxNewTokens = Annotated[
    int | None, typer.Option(help="Most tokens of an output; it is complete and legal all the same.")
]
Sample = Annotated[bool, typer.Option("--sample/--greedy", help="Sample, or always take the likeliest legal token.")]
Temperature = Annotated[float | None, typer.Option(help="With --sample: above 1 is more varied, below 1 less.")]
TopP = Annotated[float | None, typer.Option(help="With --sample: keep the likeliest tokens that make up this share.")]
TopK = Annotated[int | None, typer.Option(help="With --sample: keep this many of the likeliest tokens; 0 is all.")]
Seed = Annotated[int | None, typer.Option(help="With --sample: the same seed gives the same text.")]
Tokenization = Annotated[
    str,
    typer.Option(help="The law of the output's tokens: aligned, canonical or any (docs/canonicality.md)."),
]
ShowReport = Annotated[bool, typer.Option("--report/--no-report", help="Print the report to stderr.")]
Schema = Annotated[
    str | None,
    typer.Option("--schema", "-s", help="A JSON Schema file, module:Type or file.py:Type.", metavar="SCHEMA"),
]


GrammarFile = Annotated[
    str | None, typer.Option("--grammar", "-g", help="A grammar file; .gbnf, .lark and .ebnf say their syntax.")
]
Template = Annotated[
    str | None,
    typer.Option("--template", "-t", help="A template file, or its text; {holes} are filled as --hole says."),
]
Hole = Annotated[
    list[str] | None,
    typer.Option(
        help="With --template: name=int (float, bool, str, date), name=regex:PATTERN, name=choice:a|b, or "
        "name=SCHEMA. Repeat the option.",
        metavar="NAME=WHAT",
    ),
]
Tools = Annotated[
    str | None,
    typer.Option(help="A JSON file with a list of OpenAI-style tool definitions; the prompt is a chat message."),
]
ToolChoice = Annotated[str, typer.Option(help="With --tools: auto, required, none or a tool's name.")]
ToolFormat = Annotated[
    str, typer.Option(help="With --tools: hermes, llama3, mistral or mistral-args; auto finds it from the tokenizer.")
]
Syntax = Annotated[str | None, typer.Option(help="With --grammar: gbnf, lark or ebnf.")]
Start = Annotated[
    str | None, typer.Option(help="With --grammar: the rule where texts begin.", metavar="RULE", show_default=False)
]


def sampling_options(
    sample: bool, temperature: float | None, top_p: float | None, top_k: int | None, seed: int | None
) -> dict[str, Any]:
    """Only what was given, so that the rest comes from the model's own configuration. Greedy says so."""
    given = {"temperature": temperature, "top_p": top_p, "top_k": top_k, "seed": seed}
    return {"do_sample": sample} | {name: value for name, value in given.items() if value is not None}
