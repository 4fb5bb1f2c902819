"""Masks under the laws at every prefix of every fixture's texts, by certificates, since languages are infinite.

A token in a mask must have a witness: a whole legal text, completed from it on, in which the tokenizer itself (under
"aligned": from that place on) writes the token there. A legal token that is withheld is attacked: random legal
completions behind it, of which none may be such a text. Tokens of both kinds are drawn.
"""

from __future__ import annotations

import os
import random
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import domino_py as domino
from tests.real.mask_cases import CASES
from tests.real.test_tokenization_laws_real import engine_of, reference_of, vocabulary_of
from tests.shared_data import shared_lines
from tokenizer_align.canonical.lawful import LawConfiguration, LawfulCompiled
from tokenizer_align.canonical.pre_tokens import spelled_contents
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import Expr
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

SLOW = bool(os.environ.get("DOMINO_SLOW"))
NAMES = ("smollm2", "gemma3", "qwen3.6", "llama3") if SLOW else ("smollm2",)
N_FIXTURES = 1000 if SLOW else 7
N_TOKENS, N_ATTACKS = (8, 6) if SLOW else (4, 3)
MAX_PREFIXES = 24  # of one text


@cache
def fixtures(with_shared: bool) -> list[tuple[str, Expr, tuple[str, ...]]]:
    """(name, constraint, texts that satisfy it): the fixtures of the tests, and of the shared table where it is."""
    found = []
    for name, (make, texts) in CASES.items():
        made = make()
        found.append((name, made if isinstance(made, Expr) else made.expression, tuple(texts)))
    for case in shared_lines("cases/constraints.jsonl") if with_shared else ():
        try:
            if case["kind"] == "grammar":
                constraint: domino.Constraint = domino.grammar(**case["constraint"])
            else:
                constraint = {"json_schema": domino.json_schema, "regex": domino.regex}[case["kind"]](
                    case["constraint"]
                )
            found.append((case["id"], constraint.expression, tuple(case["accept"])))
        except ConstraintError:
            continue
    return found


class Checker:
    """One fixture under both laws."""

    def __init__(self, expr: Expr, vocabulary: Vocabulary, rng: random.Random) -> None:
        self.vocabulary, self.rng = vocabulary, rng
        self.free = compile_expression(expr, vocabulary, "any")
        self.laws = {law: compile_expression(expr, vocabulary, law) for law in ("canonical", "aligned")}
        self.n_witnessed = self.n_attacks = 0

    def is_witness(self, law: str, ids: list[int], token: int, text: bytes) -> bool:
        """Whether a whole text shows that the law allows a token behind these ids."""
        try:
            decoded = text.decode()
        except UnicodeDecodeError:  # no tokenizer writes it
            return False
        if self.spells_special(text):
            return False
        encode, before = self.vocabulary.encode, self.vocabulary.decode(ids)
        assert encode is not None
        if self.vocabulary.decode(encode(decoded)) != text:
            return False
        if law == "canonical":
            return encode(decoded)[: len(ids) + 1] == [*ids, token]
        return token in reference_of(self.vocabulary, [decoded]).aligned(before)

    def spells_special(self, text: bytes) -> bool:
        """Whether no tokens of a text are canonical by definition; `encode` takes special tokens for ordinary text."""
        rules = self.vocabulary.rules
        return rules is not None and any(content in text for content in spelled_contents(rules))

    def check(self, text: str) -> None:
        """At every prefix of the text's own tokens."""
        assert self.vocabulary.encode is not None
        ids = self.vocabulary.encode(text)
        if self.vocabulary.decode(ids) != text.encode() or self.spells_special(text.encode()):
            return
        for law, compiled in self.laws.items():
            matcher, free = compiled.matcher(), self.free.matcher()
            for at in range(min(len(ids), MAX_PREFIXES) + 1):
                self.check_place(law, compiled, ids[:at], matcher, free)
                if at < len(ids):
                    assert matcher.accepts(ids[at]), (law, text, at)
                    matcher.advance(ids[at])
                    free.advance(ids[at])

    def check_place(self, law: str, compiled: Compiled, ids: list[int], matcher: Matcher, free: Matcher) -> None:
        ends = self.vocabulary.eos_token_ids
        mask = matcher.mask().copy()
        withheld = free.mask() & ~mask
        for token in self.draw(mask):
            text = self.vocabulary.decode(ids) + self.completion(matcher, token)
            assert self.is_witness(law, ids, token, text), (law, ids, self.vocabulary.token_bytes[token], text)
            self.n_witnessed += 1
        for token in self.draw(withheld):
            for _ in range(N_ATTACKS):
                after = free.fork()
                after.advance(token)
                for _ in range(self.rng.randint(0, 3)):
                    going_on = [i for i in self.single_bytes(after) if i not in ends]
                    if not going_on:
                        break
                    after.advance(self.rng.choice(going_on))
                text = after.text_bytes() + after.shortest_completion()
                assert not self.is_witness(law, ids, token, text), (law, ids, self.vocabulary.token_bytes[token], text)
                self.n_attacks += 1

    def draw(self, mask: npt.NDArray[np.uint32]) -> list[int]:
        """Some of a mask's tokens, end-of-sequence left out."""
        found = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        found = found[~np.isin(found, list(self.vocabulary.eos_token_ids))]
        return [int(found[i]) for i in self.rng.sample(range(len(found)), min(N_TOKENS, len(found)))]

    def completion(self, matcher: Matcher, token: int) -> bytes:
        """A completion that begins with a token and is canonical from it on."""
        here, canonical = matcher.configuration, self.laws["canonical"]
        assert isinstance(here, LawConfiguration) and isinstance(canonical, LawfulCompiled)
        is_canonical = matcher.compiled is canonical
        after = Matcher(canonical, here if is_canonical else canonical.configuration_at(here.heads, here.states))
        after.advance(token)
        return (self.vocabulary.token_bytes[token] or b"") + after.shortest_completion()

    def single_bytes(self, matcher: Matcher) -> list[int]:
        return [
            found[0]
            for byte in range(256)
            if (found := self.vocabulary.ids_by_bytes.get(bytes([byte]))) and matcher.accepts(found[0])
        ]


@pytest.mark.parametrize("name", NAMES)
def test_no_mask_is_wrong_at_the_prefixes_of_fixtures(name: str) -> None:
    vocabulary, rng = vocabulary_of(name), random.Random(9)
    engine = engine_of(name)  # kept, so that all fixtures share it
    assert engine.vocabulary == vocabulary
    some = fixtures(SLOW)
    n_witnessed = n_attacks = 0
    for _, expr, texts in some if SLOW else rng.sample(some, N_FIXTURES):
        checker = Checker(expr, vocabulary, rng)
        for text in texts:
            checker.check(text)
        n_witnessed, n_attacks = n_witnessed + checker.n_witnessed, n_attacks + checker.n_attacks
    print(f"{name}: {n_witnessed} tokens witnessed, {n_attacks} attacks")  # seen with -s
    assert n_witnessed > 20 * N_FIXTURES / (1 + SLOW * 9) and n_attacks
