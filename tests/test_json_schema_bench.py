"""The benchmark of JSONSchemaBench: reading its files from a folder or a git directory, sampling, judging."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import domino_py as domino
from benchmarks.json_schema_bench import judge
from benchmarks.json_schema_data import Source, read_cases, sample, split_of

INTEGER = {"type": "integer"}


def case(schema: Any, *tests: tuple[bool, Any]) -> str:
    return json.dumps({"schema": schema, "tests": [{"valid": valid, "data": value} for valid, value in tests]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "maskbench" / "data"
    data.mkdir(parents=True)
    for i in range(8):
        (data / f"Easy---s{i}.json").write_text(case(INTEGER, (True, i), (False, "x")))
    (data / "BFCL_simple_1.json").write_text(case({"type": "string"}, (True, "ü"), (True, 5)))
    return tmp_path


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_git_directory_holds_the_same_cases_as_its_folder(folder: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "data"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    bare = Source(folder / ".git")
    plain = Source(folder / "maskbench" / "data")
    assert len(plain.names()) == 9
    assert list(read_cases(bare, bare.names())) == list(read_cases(plain, plain.names()))


def test_a_sample_is_repeatable_and_holds_every_split(folder: Path) -> None:
    names = Source(folder).names()
    chosen = sample(names, 3, seed=1)
    assert chosen == sample(names, 3, seed=1) != sample(names, 3, seed=2)
    assert {split_of(name) for name in chosen} == {"Easy", "BFCL"}


def test_wrong_decisions_refusals_and_time_limits_are_told_apart(folder: Path) -> None:
    source = Source(folder)
    judged = [judge(one, domino.json_schema, None, 30) for one in read_cases(source, source.names())]
    assert [outcome.is_correct for outcome in judged] == [False] + 8 * [True]
    assert judged[0].wrong[0]["valid"] and judged[0].wrong[0]["test"] == 1
    (one,) = read_cases(source, source.names()[:1])
    assert judge(one, lambda _: domino.json_schema({"$ref": "#/nowhere"}), None, 30).refused == ["$ref"]
    assert judge(one, lambda _: domino.json_schema({"enum": []}), None, 30).refused == ["EmptyLanguage"]

    def endless(_: Any) -> Any:
        while True:
            pass

    assert judge(one, endless, None, 0.05).refused == ["out of time"]
