"""Ready grammars: `grammars.sql`, `grammars.arithmetic` and others, each a constraint; `grammars.xml(tags)` makes one.

They are read when first used, from the .lark files beside this one, and serve as examples of the notation too.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from domino_py.constraints.base import Constraint

from .xml import xml as xml

if TYPE_CHECKING:
    arithmetic: Constraint
    c_statements: Constraint
    chess: Constraint
    date: Constraint
    graphql: Constraint
    markdown_table: Constraint
    promql: Constraint
    python_expression: Constraint
    sql: Constraint

NAMES = (
    *("arithmetic", "c_statements", "chess", "date", "graphql"),
    *("markdown_table", "promql", "python_expression", "sql"),
)


@lru_cache(maxsize=len(NAMES))
def _load(name: str) -> Constraint:
    from domino_py.constraints.grammar import grammar

    text = files(__package__).joinpath(f"{name}.lark").read_text(encoding="utf-8")
    return grammar(text, syntax="lark")


def __getattr__(name: str) -> Constraint:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__dir__())}")
    return _load(name)


def __dir__() -> list[str]:
    return sorted([*NAMES, "xml"])
