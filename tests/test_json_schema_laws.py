from __future__ import annotations

import json
import os
import random
import re
from typing import Any

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from domino_py.constraints.schema import json_schema
from tests.schema_strategies import changed, documents, random_text, values, write
from tests.shared_data import shared_lines
from tokenizer_align.errors import ConstraintError, EmptyLanguage, TooComplex, UnsupportedSchema
from tokenizer_align.unique import holds_tracked

# Tables kept beside the repository


def test_cases_of_the_shared_table_are_right() -> None:
    wrong, n_compiled = [], 0
    for case in shared_lines("cases/constraints.jsonl"):
        if case["kind"] != "json_schema":
            continue
        try:
            constraint = json_schema(case["constraint"])
        except ConstraintError:
            continue
        n_compiled += 1
        wrong += [(case["id"], text) for text in case["accept"] if not constraint.matches(text)]
        refused = case["reject"] + case.get("policy_reject", [])
        wrong += [(case["id"], text) for text in refused if constraint.matches(text)]
        wrong += [(case["id"], "compiled")] if case.get("expect_compile_error") else []
    assert wrong == [] and n_compiled >= 70


def test_suite_is_decided_as_it_says() -> None:
    """All required tests without remote documents; formats are annotations there, and numbers compare by value."""
    wrong, n_schemas, n_compiled = [], 0, 0
    for group in shared_lines("data/json_schema_test_suite.jsonl"):
        if group["remote"] or "optional/" in group["id"]:
            continue
        n_schemas += 1
        draft = 7 if group["draft"] == "draft7" else 2020
        try:
            constraint = json_schema(group["schema"], draft=draft, formats="annotate", number_spelling="any")
        except EmptyLanguage:
            wrong += [(group["id"], test["data"]) for test in group["tests"] if test["valid"]]
            n_compiled += 1
            continue
        except ConstraintError:
            continue
        n_compiled += 1
        for test in group["tests"]:
            if constraint.matches(write(test["data"])) != test["valid"]:
                wrong.append((group["id"], test["data"]))
    assert wrong == [] and n_compiled >= 0.98 * n_schemas


# Properties

N_PAIRS = 20_000 if os.environ.get("DOMINO_SLOW") else 500
PAIRS_A_SCHEMA = 8  # at least, on average
NOT_COMPARED = re.compile(r"\d{15}|\d[eE]|\\[nru]|[\u2028\u2029]")
"""The checker's floats are not exact there, and its `.` and `$` are not ECMA-262's."""


def test_drawn_schemas_agree_with_jsonschema() -> None:
    """Drawn schemas of all keywords against drawn values, legal texts, and legal texts with a change."""
    n_pairs = 0

    @settings(max_examples=2 * N_PAIRS // PAIRS_A_SCHEMA, suppress_health_check=list(HealthCheck))
    @given(documents(), st.lists(values, min_size=3, max_size=6), st.integers(0, 2**32))
    def agree(schema: dict[str, Any], instances: list[Any], seed: int) -> None:
        nonlocal n_pairs
        if n_pairs >= N_PAIRS:
            return
        validator = jsonschema.Draft202012Validator(schema)
        try:
            constraint = json_schema(schema)
        except EmptyLanguage:
            assert not any(validator.is_valid(instance) for instance in instances)
            n_pairs += len(instances)
            return
        except (UnsupportedSchema, TooComplex):
            assume(False)
        rng = random.Random(seed)
        texts = [write(instance) for instance in instances]
        for _ in range(3):
            legal = random_text(constraint.expression, rng, 40)
            if legal is None and holds_tracked(constraint.expression):
                continue  # all walks came to repeat a part
            assert legal is not None and constraint.matches(legal)
            texts += [legal.decode(), write(changed(json.loads(legal), rng)), write(changed(json.loads(legal), rng))]
        for text in texts:
            if NOT_COMPARED.search(text):
                continue
            n_pairs += 1
            if validator.is_valid(json.loads(text)):
                assert constraint.matches(text) or constraint.narrowed, text
            else:
                assert not constraint.matches(text), text

    agree()
    assert n_pairs >= N_PAIRS
