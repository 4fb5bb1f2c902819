"""The first text of a process finds every kernel compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from numba.core.dispatcher import Dispatcher

import domino_py as domino
from tests.reference.tiny_bpe import tiny_bpe
from tokenizer_align import kernels, shape_kernels
from tokenizer_align.canonical import bpe_kernels, fate_kernels, path_kernels, signature_paths
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary
from tokenizer_align.warm_up import warm_up

VOCABULARY = Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b'":', b"true", None], [258])


MODULES = (kernels, shape_kernels, bpe_kernels, fate_kernels, path_kernels, signature_paths)


def compiled_kernels() -> dict[str, int]:
    found = {
        f"{module.__name__}.{name}": value
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }
    return {name: len(kernel.signatures) for name, kernel in found.items()}


def test_a_real_constraint_compiles_no_kernel_that_warming_up_left_out() -> None:
    warm_up()
    before = compiled_kernels()
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"maxLength": 300}}, "required": ["a"]}
    for constraint in (
        domino.json_schema(schema),
        domino.json(),
        domino.regex("[a-z]{2,9}|1+"),
        domino.regex("[!-~]{0,2};?"),
    ):
        matcher = compile_expression(constraint.expression, VOCABULARY).matcher()
        while not matcher.is_complete() and matcher.n_tokens < 40:
            matcher.mask()
            matcher.forced_bytes()
            matcher.determined_bytes()
            matcher.advance(matcher.shortest_completion()[0])
        assert matcher.mask_within(5).any()
    assert compiled_kernels() == before


def test_nor_do_rows_that_are_kept_and_memos_that_are_entered_anew() -> None:
    warm_up()
    before = compiled_kernels()
    Engine(VOCABULARY, shape_min_nodes=0)  # as of a large vocabulary
    engine = Engine(VOCABULARY, memo_min_nodes=2, wide_bytes=4)
    for constraint in (domino.json(), domino.regex("[a-z]{2,9}|1+"), domino.choice(["ab", "ba"])):
        for _ in range(2):
            compiled = Compiled(constraint.expression, VOCABULARY, engine=engine)
            for _ in range(2):
                matcher = compiled.matcher()
                while not matcher.is_complete() and matcher.n_tokens < 20:
                    matcher.mask()
                    matcher.advance(matcher.shortest_completion()[0])
                engine.count_kept(engine.budget.kept_bytes)  # everything ages
    for node in range(300):
        engine.tables.add_memo(node + 5000, 1, (0, 0, 0, -1, 0, 0, -1))  # the table of memos grows
    assert compiled_kernels() == before


def test_without_the_laws_their_kernels_are_not_loaded_and_no_other_is_missing() -> None:
    """In a process of its own, since others may have loaded them."""
    source = """
from tests.test_warm_up import *
warm_up(laws=False)
before = compiled_kernels()
assert any(before.values()) and not any(n for name, n in before.items() if "fate_kernels" in name)
test_nor_do_rows_that_are_kept_and_memos_that_are_entered_anew.__globals__["warm_up"] = lambda: None
test_a_real_constraint_compiles_no_kernel_that_warming_up_left_out()
test_nor_do_rows_that_are_kept_and_memos_that_are_entered_anew()
"""
    root = Path(__file__).resolve().parent.parent
    subprocess.run([sys.executable, "-c", source], check=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})


def kernels_called() -> set[str]:
    """The kernels of `kernels.py` that Python calls or hands on."""
    root = Path(kernels.__file__).parent
    text = "\n".join(path.read_text() for path in root.rglob("*.py") if path.name != "kernels.py")
    names = set(re.findall(r"\bk\.([a-z]\w*)", text))
    return {name for name in names if isinstance(getattr(kernels, name, None), Dispatcher)}


def test_every_kernel_that_python_calls_is_warm() -> None:
    """Regression: two that few masks need were compiled in these, which took up to ten seconds."""
    source = """
from tests.test_warm_up import *
warm_up()
found = compiled_kernels()
cold = [name for name in kernels_called() if not found[f"{kernels.__name__}.{name}"]]
assert not cold, cold
"""
    assert len(kernels_called()) > 40
    root = Path(__file__).resolve().parent.parent
    subprocess.run([sys.executable, "-c", source], check=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})


def test_nor_does_one_under_the_laws_of_tokenization() -> None:
    vocabulary = Vocabulary.from_tokenizer(tiny_bpe("gpt2", 300), cache=None)
    warm_up()
    before = compiled_kernels()
    schema = {"type": "object", "properties": {"ab": {"type": "string", "maxLength": 5}}, "required": ["ab"]}
    for constraint in (domino.json_schema(schema), domino.json(), domino.regex("[a-z]{2,9}|1+")):
        for law in ("aligned", "canonical"):
            matcher = compile_expression(constraint.expression, vocabulary, law).matcher()
            while not matcher.is_complete() and matcher.n_tokens < 20:
                matcher.mask()
                matcher.advance(matcher.compiled.plan(matcher.configuration)[0])
            assert matcher.mask_within(5).any()
    assert compiled_kernels() == before
