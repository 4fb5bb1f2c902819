"""The examples of the README and of pages of the documentation run as they stand, in order, and print what they say.

In a report the numbers are left out of the comparison: times differ, and with them which drafts are worth a wider
pass.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": 7,
    "docs/templates.md": 7,
    "docs/regions-and-tools.md": 5,
    "docs/streaming.md": 2,
}  # and how many blocks run at least
BLOCK = re.compile(r"<!-- run -->\n```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """(code, expected output) of every runnable block."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def comparable(output: str) -> list[str]:
    """Words of each line; of a report, the words without numbers and draft sources. How many states are built depends
    on what was read before."""
    output = re.sub(r"[0-9]+ states built", "# states built", output)
    if output.startswith("tokens  "):
        output = re.sub(r" accepted \(.*\)", " accepted", output)  # which sources were tried depends on measured times
        output = re.sub(r"[0-9][0-9.,]*( µs| ms| s\b)?", "#", output)
    return [" ".join(line.split()) for line in output.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_runnable_blocks(page: str) -> None:
    assert len(blocks(page)) >= PAGES[page]


@pytest.mark.model
@pytest.mark.parametrize("page", PAGES)
def test_examples_print_what_they_say(default_model: tuple[Any, Any], page: str) -> None:
    import domino_py as domino

    namespace: dict[str, Any] = {"__name__": "page"}
    original = domino.load_default
    domino.load_default = lambda: default_model  # loaded once for all tests
    try:
        for code, expected in blocks(page):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, page, "exec", dont_inherit=True), namespace)
            assert comparable(out.getvalue()) == comparable(expected), code
    finally:
        domino.load_default = original
