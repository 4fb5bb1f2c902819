"""Typed records out of a folder of texts, with the small embedded model: `make demo`, or `python examples/demo.py
[folder]`.

A dozen invoices, job ads, mails, notices and a CV go through one Pydantic model with nested parts. Then it shows the
objects, the report, and where the constraint fought the model.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from rich.console import Console
from rich.table import Table

import domino_py as domino

Words = Annotated[str, Field(min_length=1, max_length=40)]


class Person(BaseModel):
    name: Words
    role: Words


class Money(BaseModel):
    amount: Annotated[float, Field(ge=0)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]


class Document(BaseModel):
    subject: Annotated[str, Field(min_length=1, max_length=60, description="what it is about, in a few words")]
    date: Annotated[dt.date, Field(ge=dt.date(2000, 1, 1), le=dt.date(2030, 12, 31))]
    people: Annotated[list[Person], Field(max_length=2)]
    price: Money | None


def main(folder: Path) -> None:
    console = Console()
    files = sorted(folder.glob("*.txt"))
    console.print(
        "[bold]Loading[/bold] the embedded model (the first time it is fetched and converted, which takes a while)"
    )
    began = time.perf_counter()
    model, tokenizer = domino.load_default()
    console.print(f"loaded in {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    domino.compile(domino.of_type(Document), tokenizer)
    console.print(f"constraint compiled in {time.perf_counter() - began:.1f} s (the first time, the kernels as well)")
    console.print(f"extracting from {len(files)} texts\n")

    texts = [file.read_text(encoding="utf-8") for file in files]
    began = time.perf_counter()
    documents, report = domino.extract(model, tokenizer, texts, Document, batch_size=12, return_report=True)
    elapsed_s = time.perf_counter() - began

    for file, document in zip(files, documents, strict=True):
        console.print(f"[bold]{file.name}[/bold]", highlight=False)
        console.print(document if document else f"  failed: {document.message}")
    console.print()
    console.print(summary(documents))
    console.print(f"\n[bold]Report[/bold] of {len(files)} texts in {elapsed_s:.0f} s")
    console.print(report)


def summary(documents: list[Document | domino.FailedRecord]) -> Table:
    """The objects are objects: their fields are dates, numbers and lists, not text."""
    table = Table(title="In short", title_justify="left")
    for column in ("subject", "date", "price", "people"):
        table.add_column(column)
    for one in documents:
        if isinstance(one, Document):
            day = f"{one.date:%d %b %Y}"
            price = f"{one.price.amount:,.2f} {one.price.currency}" if one.price else ""
            table.add_row(one.subject, day, price, ", ".join(person.name for person in one.people))
    return table


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "demo")
