"""Write the table of keywords in json_schema.md from the cases that the tests run.

    python docs/keyword_table.py

A row is a claim with an example; tests/test_json_schema_keywords.py tries every example and that the table is current.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases" / "json_schema_keywords.jsonl"
PAGE = ROOT / "docs" / "json_schema.md"
BEGIN, END = "<!-- keywords: begin -->", "<!-- keywords: end -->"
WORDS = {"exact": "exact", "option": "by option", "annotation": "no effect", "refused": "refused"}


def rows() -> list[dict[str, Any]]:
    """The cases, in their order."""
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def table() -> str:
    """The table in Markdown."""
    lines = ["| keywords | how | remarks |", "|---|---|---|"]
    for row in rows():
        names = ", ".join(f"`{name}`" for name in row["keywords"])
        lines.append(f"| {names} | {WORDS[row['status']]} | {row['note'].replace('|', '&#124;')} |")
    return "\n".join(lines)


def page() -> str:
    """The page with its table made anew."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
