"""`domino extract`: typed records out of a JSONL file, a folder of texts, or one text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from domino_py.cli import options as opt

Input = Annotated[Path, typer.Argument(help="A .jsonl file, a folder of .txt and .md files, or one text file.")]
RequiredSchema = Annotated[
    str, typer.Option("--schema", "-s", help="A JSON Schema file, module:Type or file.py:Type.", metavar="SCHEMA")
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="JSONL file to write; default: standard output.")]
Resume = Annotated[
    bool, typer.Option("--resume/--restart", help="Go on where an interrupted run stopped, or begin anew.")
]


def extract(
    source: Input,
    schema: RequiredSchema,
    out: Out = None,
    resume: Resume = True,
    instructions: Annotated[str | None, typer.Option(help="What else the model should know.")] = None,
    text_field: Annotated[str, typer.Option(help="The field of a JSONL line that holds the text.")] = "text",
    id_field: Annotated[str, typer.Option(help="The field of a JSONL line that names the record.")] = "id",
    batch_size: Annotated[int, typer.Option(help="Texts run together.")] = 8,
    max_new_tokens: opt.MaxNewTokens = None,
    sample: opt.Sample = False,
    temperature: opt.Temperature = None,
    top_p: opt.TopP = None,
    top_k: opt.TopK = None,
    seed: opt.Seed = None,
    tokenization: opt.Tokenization = "aligned",
    model: opt.Model = None,
    dtype: opt.Dtype = "auto",
    device: opt.Device = "cpu",
    report: opt.ShowReport = False,
) -> None:
    """Extract one object from each text, as JSON lines. Exit code 1 if any record failed."""
    from domino_py.cli.loading import load_model, load_schema
    from domino_py.records import RecordError, read_records, write_json

    if out is not None and out.exists() and source.exists() and out.samefile(source):
        raise RecordError(f"--out {out} is the input itself; name another file.")
    wanted = load_schema(schema)
    records = list(read_records(source, text_field=text_field, id_field=id_field))

    from domino_py.extraction import Extractor  # takes seconds: what is wrong with the files is said before
    from domino_py.report import Report

    settings = opt.sampling_options(sample, temperature, top_p, top_k, seed) | {"tokenization": tokenization}
    loaded, tokenizer = load_model(model, dtype, device)
    extractor = Extractor(
        loaded, tokenizer, wanted, instructions, batch_size=batch_size, max_new_tokens=max_new_tokens, **settings
    )
    errors = Console(stderr=True)
    reports, failed, resumed = [], 0, 0
    with _interrupts_explained(out, resume, errors):
        for outcome in extractor.run(records, out=out, resume=resume):
            if outcome.failure is not None:
                failed += 1
                errors.print(f"{outcome.record.name}: {outcome.failure.kind}: {outcome.failure.message}", markup=False)
            if outcome.result is None:
                resumed += outcome.failure is None
            else:
                reports.append(outcome.result.report)
            if out is None:
                typer.echo(write_json(extractor.line(outcome)).encode("utf-8", "backslashreplace"))
    done = len(records) - failed
    parts = [f"{done} of {len(records)} records extracted"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{resumed} from an earlier run"] if resumed else []
    errors.print(", ".join(parts) + ("" if out is None else f"; written to {out}"), markup=False, highlight=False)
    if report and reports:
        errors.print(Report.total(reports))
    raise typer.Exit(1 if failed else 0)


@contextmanager
def _interrupts_explained(out: Path | None, resume: bool, errors: Console) -> Iterator[None]:
    """An interrupt says where the finished records are and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if out is not None and out.exists():
            how = "the same command" if resume else "the same command without --restart"
            errors.print(f"what is done is in {out}; {how} goes on from there", markup=False, highlight=False)
        raise
