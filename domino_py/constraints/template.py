"""`template("Name: {name}", name=...)`: fixed text with holes; each hole has a constraint of its own.

The fixed text is forced, so it is drafted and verified with the pass that writes the next hole's first token. Values
come back by name, typed: `Constraint.parse` gives a dict.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

from tokenizer_align.errors import ConstraintError, InvalidOption, Problem, TemplateError, UnsupportedSchema
from tokenizer_align.expressions import Expr, frame, lit, seq

from .base import Constraint
from .grammar_source import GrammarProblem, reasons
from .template_text import Hole, TemplateText, read_template


def template(text: str, /, **holes: Any) -> Constraint:
    """Texts that are `text` with each `{hole}` filled as its constraint says; `parse` gives {hole: value}.

    A hole takes what `generate` takes as a constraint: a constraint (another template, `select`, `repeat` …), a Python
    type or a JSON Schema as a dict. The last two write JSON: `name=str` is a text in quotes, `name=regex("[^\\n]+")`
    one without. `{{` and `}}` are braces. Where a text can be read in several ways, holes take from left to right what
    they can while the rest can still be read; `check` warns of it.

    Raises TemplateError with all problems and their places: holes without a name or a constraint, constraints without a
    hole, a name that stands twice, formats such as `{age:>3}`, braces that are not closed, unusable constraints.

    >>> from domino_py.constraints.regex import regex
    >>> card = template("Name: {name}\\nAge: {age}", name=regex("[A-Z][a-z]+"), age=int)
    >>> card.parse("Name: Ada\\nAge: 36")
    {'name': 'Ada', 'age': 36}
    """
    if not isinstance(text, str):
        raise InvalidOption("text", f"a template's text is a str, not {type(text).__name__}.")
    read = read_template(text)
    problems: list[Problem] = list(read.problems)
    filled: list[tuple[str, Constraint]] = []
    for hole in read.holes:
        if hole.name not in holes:
            problems.append(_missing(read, hole, set(holes) - {one.name for one in read.holes}))
            continue
        try:
            filled.append((hole.name, _constraint_of(holes[hole.name], hole.name)))
        except UnsupportedSchema as error:
            what = f"what {{{hole.name}}} holds cannot be used"
            problems += [read.source.problem(hole.offset, f"{what}: {reason}") for reason in reasons(error)]
        except (InvalidOption, ConstraintError) as error:
            problems.append(read.source.problem(hole.offset, str(error).removesuffix(".").replace("\n", "\n  ")))
    names = [hole.name for hole in read.holes]
    for name in holes:
        if name not in names and not re.search(rf"\{{\s*{re.escape(name)}\b", text):  # there, its hole is malformed
            hint = _near(name, [one for one in names if one not in holes]) or f"Write {{{name}}} where it belongs."
            problems.append(Problem(f"{name}=", None, f"the template has no hole {{{name}}}", hint=hint))
    if problems:
        raise TemplateError(sorted(problems, key=_place))
    constraint = Constraint("template", (text, tuple(filled)))
    constraint._memo["text"] = read
    return constraint


def _place(problem: Problem) -> tuple[float, float]:
    """For the order of problems: as their places come in the text, what has none at the end."""
    return (problem.line, problem.column) if isinstance(problem, GrammarProblem) else (float("inf"), 0)


def _missing(read: TemplateText, hole: Hole, unused: set[str]) -> Problem:
    near = _near(hole.name, sorted(unused))
    hint = near or f"Pass {hole.name}= (a constraint, a type or a schema)."
    return read.source.problem(hole.offset, f"nothing says what the hole {{{hole.name}}} may hold", hint)


def _near(name: str, others: list[str]) -> str | None:
    found = difflib.get_close_matches(name, others, n=1)
    return f"Did you mean {found[0]!r}?" if found else None


def _constraint_of(value: Any, name: str) -> Constraint:
    from domino_py.arguments import as_constraint

    constraint = as_constraint(value, name)
    if constraint is None:
        raise InvalidOption(name, f'{name}=None: a hole needs a constraint. For one line of text, write regex(".+").')
    return constraint


def text_of(constraint: Constraint) -> TemplateText:
    """The text of a `template` constraint, read."""
    if "text" not in constraint._memo:
        constraint._memo["text"] = read_template(constraint.source[0])
    read: TemplateText = constraint._memo["text"]
    return read


def parts_of(constraint: Constraint) -> list[tuple[str | None, Expr]]:
    """The parts of a `template` constraint in order: (name of the hole or None for fixed text, expression)."""
    holes = dict(constraint.source[1])
    return [
        (None, lit(piece.encode("utf-8"))) if isinstance(piece, str) else (piece.name, holes[piece.name].expression)
        for piece in text_of(constraint).pieces
    ]


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `template` constraint: each hole is a frame of its own, shared with other constraints."""
    from .findings import within

    problems = tuple(
        problem for name, hole in constraint.source[1] for problem in within(f"{{{name}}}", hole._problems)
    )
    return seq(*(frame(expr) for _, expr in parts_of(constraint))), problems
