"""Where tests find large tables of cases that are kept beside the repository; they are optional.

`$DOMINO_SHARED` names the folder; without it, `shared` beside the repository's root is looked for.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[1]


def shared_path(name: str) -> Path:
    """The path of a shared file or folder; skips the test (or module) that asks where it is absent."""
    folder = Path(os.environ.get("DOMINO_SHARED") or _ROOT.parent / "shared")
    path = folder / name
    if not path.exists():
        pytest.skip(f"{name} is not there: set DOMINO_SHARED to the folder that holds it", allow_module_level=True)
    return path


def shared_lines(name: str) -> list[Any]:
    """The objects of a shared JSONL file; skips where it is absent."""
    with shared_path(name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
