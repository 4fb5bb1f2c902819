"""Sampled frequencies under the laws of tokenization agree with the exact tables of a real model (chi-square).

A table replays SmolLM2's log-probabilities of every legal continuation over its whole vocabulary; what the table does
not name is impossible but for one token, which takes the remaining mass and is never legal.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.laws.test_tokenization_laws import ids_of
from tests.real.tokenizers import real_vocabulary
from tests.reference.table_model import TableModel
from tests.test_sampling import chi_square, critical
from tokenizer_align.compiled import compile_expression
from tokenizer_align.matcher import Matcher

TABLES = json.loads((Path(__file__).parent.parent / "cases" / "exact_tables.json").read_text())
N, CHUNK = 300, 100
Ids = tuple[int, ...]


class ExactTable:
    """One exact table: the model, the constraint, and the law of the outputs as masks and model make it."""

    def __init__(self, name: str) -> None:
        table = TABLES[name]
        self.prompt: list[int] = table["prompt_ids"]
        self.constraint = domino.choice(table["strings"])
        self.nodes = {tuple(node["ids"]): {int(i): lp for i, lp in node["next"].items()} for node in table["nodes"]}
        self.vocabulary = real_vocabulary("smollm2")
        named = {token for steps in self.nodes.values() for token in steps}
        self.other = next(token for token in range(100, 40_000) if token not in named)
        self.model = TableModel(self._predict, self.vocabulary.n_rows)
        self._rows: dict[Ids, Any] = {}

    def _predict(self, prefix: Ids) -> Any:
        ids = prefix[len(self.prompt) :]
        if ids not in self._rows:
            row = np.full(self.vocabulary.n_rows, -60.0)
            steps = self.nodes.get(ids, {})
            for token, logprob in steps.items():
                row[token] = logprob
            row[self.other] = math.log(max(1e-9, 1 - math.fsum(map(math.exp, steps.values()))))
            self._rows[ids] = row
        return self._rows[ids]

    def compiled(self, law: str) -> Any:
        return compile_expression(self.constraint.expression, self.vocabulary, law)

    def law(self, tokenization: str, temperature: float = 1.0) -> dict[Ids, float]:
        """The probability of every output, step by step the table's over what the mask allows."""
        found: dict[Ids, float] = {}

        def visit(ids: Ids, p: float, matcher: Matcher) -> None:
            if not matcher.can_continue():
                found[ids] = p
                return
            legal = ids_of(matcher)
            weights = {t: math.exp(lp / temperature) for t, lp in self.nodes[ids].items() if t in legal}
            for token, weight in weights.items():
                share = p * weight / math.fsum(weights.values())
                if token in self.vocabulary.eos_token_ids:
                    found[ids] = share
                    continue
                matcher.advance(token)
                visit((*ids, token), share, matcher)
                matcher.rollback(1)

        visit((), 1.0, self.compiled(tokenization).matcher(self.prompt))
        assert math.fsum(found.values()) == pytest.approx(1.0)
        return found

    def sample(self, tokenization: str) -> Counter[Ids]:
        compiled, counts = self.compiled(tokenization), Counter[Ids]()
        ends = tuple(self.vocabulary.eos_token_ids)
        for start in range(0, N, CHUNK):
            rows = [RowRequest(self.prompt, compiled, row, 40, ends) for row in range(start, start + CHUNK)]
            results = decode(self.model, self.vocabulary, rows, DecodeOptions(do_sample=True, seed=7))
            counts.update(tuple(result.token_ids) for result in results)
        return counts


@cache
def table_of(name: str) -> ExactTable:
    return ExactTable(name)


@cache
def sampled(name: str, tokenization: str) -> Counter[Ids]:
    return table_of(name).sample(tokenization)


def fits(counts: Counter[Ids], law: dict[Ids, float]) -> bool:
    """Whether counts are what a law gives, by chi-square at 0.9999; an output that the law never gives settles it."""
    if any(ids not in law for ids in counts):
        return False
    statistic, degrees = chi_square(counts, law, N)
    return statistic < critical(degrees)


@pytest.mark.parametrize("tokenization", ["any", "aligned", "canonical"])
@pytest.mark.parametrize("name", sorted(TABLES))
def test_sampled_frequencies_are_those_of_the_exact_table(name: str, tokenization: str) -> None:
    assert fits(sampled(name, tokenization), table_of(name).law(tokenization))


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_frequencies_reject_the_law_of_another_tokenization(name: str) -> None:
    table = table_of(name)
    assert not fits(sampled(name, "any"), table.law("canonical"))
    assert not fits(sampled(name, "canonical"), table.law("any"))
    assert not fits(sampled(name, "aligned"), table.law("any"))


@pytest.mark.parametrize("name", ["yesno", "json_enum"])
def test_the_frequencies_reject_a_temperature_that_was_not_asked_for(name: str) -> None:
    assert not fits(sampled(name, "canonical"), table_of(name).law("canonical", temperature=1.5))
