"""`grammar(text, syntax=...)`: the texts of a context-free grammar in GBNF, Lark's notation or EBNF.

Left recursion, empty rules and ambiguity are fine. There is no lexer: a text is legal if some way to read it exists.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal

from tokenizer_align.errors import GrammarError, InvalidOption, Problem
from tokenizer_align.expressions import Expr
from tokenizer_align.rule_moves import derive_rules

from .base import Constraint
from .grammar_compile import GrammarCompiler, wrong_differences
from .grammar_ebnf import parse_ebnf
from .grammar_findings import find_problems
from .grammar_gbnf import parse_gbnf
from .grammar_lark import parse_lark
from .grammar_model import Grammar
from .grammar_source import MAX_PROBLEMS, GrammarProblem, Source, refuse_surrogates
from .quiet import is_quiet

logger = logging.getLogger(__name__)

Syntax = Literal["gbnf", "lark", "ebnf"]
SYNTAXES = ("gbnf", "lark", "ebnf")
NAMES = {"gbnf": "GBNF", "lark": "Lark", "ebnf": "EBNF"}


def grammar(text: str | Path, *, syntax: Syntax | None = None, start: str | None = None) -> Constraint:
    """Texts that a grammar's start rule derives.

    `text`: the grammar, or a Path to a file that holds it. `syntax`: "gbnf" (llama.cpp), "lark" or "ebnf" (W3C or ISO
    14977); it is never guessed from a text, but a Path that ends with .gbnf, .lark or .ebnf says it. `start`: the rule
    where texts begin; by default "root" in GBNF, "start" in Lark, the first rule in EBNF. Raises GrammarError with all
    problems, each with line, column and source line; InvalidOption for an unknown syntax or a file that cannot be read.

    >>> sums = grammar('root ::= root "+" [0-9]+ | [0-9]+', syntax="gbnf")
    >>> sums.matches("1+22+3"), sums.matches("1+")
    (True, False)
    """
    if isinstance(text, Path):
        syntax = syntax or _syntax_of(text)
        text = _read(text)
    if not isinstance(text, str):
        raise InvalidOption("text", f"a grammar is a str or a Path, not {type(text).__name__}.")
    if syntax not in SYNTAXES:
        given = "no syntax is given" if syntax is None else f"syntax={syntax!r}"
        raise InvalidOption(str(syntax), f"{given}: use one of {', '.join(SYNTAXES)}.", SYNTAXES)
    if start is not None and not isinstance(start, str):
        raise InvalidOption("start", f"start is the name of a rule, not {type(start).__name__}.")
    options: list[tuple[str, str]] = [("syntax", syntax)]
    if start is not None:
        options.append(("start", start))
    constraint = Constraint("grammar", text, tuple(sorted(options)))
    _ = constraint.expression
    return constraint


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        where = "" if path.is_absolute() else f" A relative path is looked for from {Path.cwd()}."
        raise InvalidOption("text", f"no grammar can be read from {path}: {error.strerror or error}.{where}") from error
    except UnicodeDecodeError as error:
        raise InvalidOption("text", f"{path}: not UTF-8 ({error.reason} at byte {error.start}).") from error


def _syntax_of(path: Path) -> Syntax:
    found: dict[str, Syntax] = {".gbnf": "gbnf", ".lark": "lark", ".ebnf": "ebnf"}
    if path.suffix.lower() not in found:
        if path.is_dir():
            raise InvalidOption("text", f"no grammar can be read from {path}: it is a directory.")
        raise InvalidOption("syntax", f"{path} does not say its syntax: use one of {', '.join(SYNTAXES)}.")
    return found[path.suffix.lower()]


def read_grammar(constraint: Constraint) -> Grammar:
    """The rules of a `grammar` constraint, and what was found while they were read."""
    syntax, start = constraint.option("syntax"), constraint.option("start")
    source = Source(constraint.source.removeprefix("\ufeff"), NAMES[syntax])  # a byte order mark says nothing
    refuse_surrogates(source)
    if syntax == "gbnf":
        return parse_gbnf(source, start or "root")
    if syntax == "lark":
        return parse_lark(source, start or "start")
    return parse_ebnf(source, start)


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `grammar` constraint."""
    read = read_grammar(constraint)
    problems = [problem for problem in _all_problems(read) if problem.severity != "note"]
    if any(problem.severity == "error" for problem in problems):
        raise GrammarError(read.source.notation, problems[:MAX_PROBLEMS])
    for problem in () if is_quiet() else problems:
        logger.warning("%s", problem)
    expr = GrammarCompiler(read).expression()
    derive_rules(expr)
    return expr, ()


def _all_problems(read: Grammar) -> list[GrammarProblem]:
    """What is wrong with a grammar; where it cannot be compiled, also with its differences (EBNF's `-`)."""
    problems = find_problems(read)
    if any(problem.severity == "error" for problem in problems):
        problems += wrong_differences(read)
    return sorted(dict.fromkeys(problems), key=lambda problem: (problem.line, problem.column))


def check_grammar(constraint: Constraint) -> list[GrammarProblem]:
    """Everything there is to say about a `grammar` constraint."""
    problems = _all_problems(read_grammar(constraint))
    if not any(problem.severity == "error" for problem in problems):
        constraint.validate()
    return problems
