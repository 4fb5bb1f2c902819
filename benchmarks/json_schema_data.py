"""The cases of JSONSchemaBench as MaskBench keeps them: read from a folder or a bare git directory, and sampled.

A case is one JSON file with `schema` and `tests` (each `valid` and `data`); its split is the name before `---`, or
before the first `_` where there is none. A sample is the same everywhere: each split gives its share, at least a few.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEAST_OF_A_SPLIT = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Instance:
    """One text's value and whether the schema's validator takes it."""

    valid: bool
    value: Any
    description: str


@dataclass(frozen=True)
class Case:
    """One schema with its instances."""

    name: str
    split: str
    schema: Any
    instances: tuple[Instance, ...]


class Source:
    """Where the files are: `names()` lists them, `read(names)` gives their bytes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.is_git = (place / "HEAD").is_file() or (place / ".git").exists()
        self._git = ["git", f"--git-dir={place if (place / 'HEAD').is_file() else place / '.git'}"]

    def names(self) -> list[str]:
        """The paths of all cases, sorted."""
        if self.is_git:
            command = [*self._git, "ls-tree", "-r", "-z", "--name-only", "HEAD"]
            listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
            return sorted(name for name in listed if re.search(r"(^|/)maskbench/data/[^/]+\.json$", name))
        folder = self.place / "maskbench" / "data"
        folder = folder if folder.is_dir() else self.place
        return sorted(str(path.relative_to(self.place)) for path in folder.glob("*.json"))

    def read(self, names: list[str]) -> Iterator[bytes | None]:
        """The contents of these files, in their order; None where a partial clone lacks a file that it lists."""
        if not self.is_git:
            yield from ((self.place / name).read_bytes() for name in names)
            return
        asked = "".join(f"HEAD:{name}\n" for name in names).encode()
        with subprocess.Popen(
            [*self._git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            for line in asked.splitlines(keepends=True):
                process.stdin.write(line)
                process.stdin.flush()
                answer = process.stdout.readline().split()
                if len(answer) < 3:
                    yield None
                    continue
                yield process.stdout.read(int(answer[2]))
                process.stdout.read(1)
            process.stdin.close()


def split_of(name: str) -> str:
    """The split that a file belongs to.

    >>> split_of("maskbench/data/Github_easy---o42295.json"), split_of("BFCL_simple_12.json")
    ('Github_easy', 'BFCL')
    """
    stem = name.rpartition("/")[2].removesuffix(".json")
    return stem.partition("---")[0] if "---" in stem else stem.partition("_")[0]


def sample(names: list[str], n_cases: int | None, seed: int) -> list[str]:
    """`n_cases` names (None: all): of each split its share, at least a few, chosen by a hash of seed and name."""
    if n_cases is None or n_cases >= len(names):
        return names
    by_split: dict[str, list[str]] = {}
    for name in names:
        by_split.setdefault(split_of(name), []).append(name)
    chosen = []
    for members in by_split.values():
        share = max(round(n_cases * len(members) / len(names)), LEAST_OF_A_SPLIT)
        ranked = sorted(members, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        chosen += ranked[:share]
    return sorted(chosen)


def read_cases(source: Source, names: list[str]) -> Iterator[Case]:
    """The cases of these files."""
    for name, content in zip(names, source.read(names), strict=True):
        if content is None:
            _log.warning("%s is listed and not there; left out", name)
            continue
        data = json.loads(content)
        instances = tuple(Instance(test["valid"], test["data"], test.get("description", "")) for test in data["tests"])
        yield Case(name.rpartition("/")[2].removesuffix(".json"), split_of(name), data["schema"], instances)
