"""What importing costs, what is public, and the one direction of imports between the three packages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "tokenizer_align": {"tokenizer_align"},
    "speculative": {"tokenizer_align", "speculative"},
    "domino_py": {"tokenizer_align", "speculative", "domino_py"},
}
HEAVY = ("torch", "transformers", "numba", "tokenizers", "pydantic", "rich", "typer", "jsonschema")


def imported_packages(source: str) -> set[str]:
    """Top-level names that a module imports anywhere, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_go_one_way(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in imported_packages(file.read_text(encoding="utf-8")) & set(ALLOWED)
        if name not in ALLOWED[package]
    ]
    assert not wrong


def test_imports_inside_functions_are_seen() -> None:
    assert imported_packages("def f():\n    from domino_py.report import Report\n    import speculative.loop\n") == {
        "domino_py",
        "speculative",
    }


def test_import_domino_py_loads_nothing_heavy() -> None:
    code = f"import sys, domino_py; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_constraints_and_errors_need_neither_torch_nor_transformers() -> None:
    code = (
        "import sys, domino_py as d; d.regex('[0-9]+'); d.choice(['a']); d.json_schema({'type': 'integer'});"
        "d.InvalidOption; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_had() -> None:
    import domino_py

    for name in domino_py.__all__:
        assert getattr(domino_py, name) is not None
    assert set(domino_py.__all__) <= set(dir(domino_py))


def test_type_checkers_see_the_same_names_as_programs() -> None:
    import domino_py

    tree = ast.parse((ROOT / "domino_py" / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == domino_py._HOMES


def test_unknown_attribute_is_an_attribute_error() -> None:
    import domino_py

    with pytest.raises(AttributeError, match="no attribute 'grammer'"):
        _ = domino_py.grammer  # type: ignore[attr-defined]


def test_dir_names_what_is_public_and_each_once() -> None:
    import domino_py as domino

    assert dir(domino) == sorted([*domino.__all__, "__version__"])
