"""How many passes of the model a template takes: at most one for each token of its holes and one for each fixed part?

    python benchmarks/templates.py [--n 5]

The small default model fills cards with five holes, some of them templates in turn. Every card has another head, so
that no earlier output is remembered. "most" counts the tokens that hold a byte of a hole, and the pieces of fixed text.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import domino_py as domino
from domino_py.bench.machine import describe_machine, versions_of
from tests.real.test_templates_real import card
from tests.template_tokens import n_fixed, n_hole_tokens

PEOPLE = [
    "the writer Jane Austen, 1775 to 1817",
    "the physicist Marie Curie, born in 1867",
    "Ada Lovelace, mathematician, 1815-1852",
    "the composer Clara Schumann, 1819 to 1896",
    "Leonhard Euler, mathematician, 1707",
]


def fill(model: Any, tokenizer: Any, person: str, head: str, speculate: Any) -> tuple[int, int, int, bool]:
    """(passes, most, tokens, whether the text is legal and its values are there) of one card."""
    form = card(head)
    vocabulary = domino.compile(form, tokenizer).vocabulary
    chat = [{"role": "user", "content": f"Fill in a card about {person}."}]
    result = domino.generate(model, tokenizer, chat, form, speculate=speculate)
    most = n_hole_tokens(form, result, vocabulary) + n_fixed(form)
    is_right = form.matches(result.text) and len(result.value) == 5
    return result.report.forward_passes, most, len(result.token_ids), is_right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=len(PEOPLE), help="how many cards")
    arguments = parser.parse_args()
    model, tokenizer = domino.load_default()
    print(describe_machine(), versions_of())
    print("drafts  cards  passes  most  tokens  right")
    for name, speculate in (("always", True), ("auto", "auto"), ("off", False)):
        rows = [
            fill(model, tokenizer, PEOPLE[at % len(PEOPLE)], f"Card {at} {name}", speculate)
            for at in range(arguments.n)
        ]
        passes, most, tokens, right = (sum(row[column] for row in rows) for column in range(4))
        print(f"{name:6}  {len(rows):5}  {passes:6}  {most:4}  {tokens:6}  {right:5}", flush=True)


if __name__ == "__main__":
    main()
