"""What is wrong with a grammar as a whole: undefined and unused rules, rules that no text can satisfy, all at once.

A rule that can never end (`list ::= "[" list "]"`) and one that never reads anything (`a ::= a`) are errors even where
another alternative could be taken instead: they are mistakes, and leaving them out in silence would hide them.
"""

from __future__ import annotations

import difflib

from tokenizer_align.expressions import EMPTY
from tokenizer_align.productive import is_productive

from .grammar_graph import components
from .grammar_model import (
    Choice,
    Grammar,
    Leaf,
    Named,
    Part,
    Repeated,
    RuleDef,
    Sequence,
    Without,
    children,
    references,
)
from .grammar_source import GrammarProblem


def find_problems(grammar: Grammar) -> list[GrammarProblem]:
    """Errors, warnings and notes, in the order of the text: those of reading it and those of the whole.

    Where rules could not be read, nothing is said that depends on what stands in them.
    """
    reached = reachable(grammar)
    found = [*grammar.problems, *_undefined(grammar)]
    circular, wrong = _terminals(grammar)
    found += wrong + _unproductive(grammar, set(grammar.rules) if grammar.broken else reached, circular)
    for rule in grammar.rules.values():
        if rule.name not in reached and grammar.start in grammar.rules and not grammar.broken:
            what = "imported" if rule.is_imported else "defined"
            message = f"{rule.name.split('{')[0]!r} is {what} but never used"
            found.append(grammar.source.problem(rule.offset, message, severity="warning"))
    return sorted(dict.fromkeys(found), key=lambda problem: (problem.line, problem.column))


def reachable(grammar: Grammar) -> set[str]:
    """The rules that texts can get to: from the start and from what is ignored."""
    work = [grammar.start, *(name.name for part in grammar.ignored for name in references(part))]
    found: set[str] = set()
    while work:
        name = work.pop()
        if name in grammar.rules and name not in found:
            found.add(name)
            work += [reference.name for reference in grammar.rules[name].references]
    return found


def _undefined(grammar: Grammar) -> list[GrammarProblem]:
    found = []
    known = list(grammar.rules)
    has_start = grammar.start in grammar.rules or grammar.start in grammar.broken
    if not has_start and not (grammar.problems and not grammar.rules):
        near = difflib.get_close_matches(grammar.start, known, n=1)
        advice = f"Give start={(near or known)[0]!r}, or name a rule so." if known else "The grammar has no rules."
        found.append(grammar.source.problem(0, f"the start rule {grammar.start!r} is not defined", advice))
    ignored = (name for part in grammar.ignored for name in references(part))
    for used in (*(rule.references for rule in grammar.rules.values()), ignored):
        for reference in used:
            if reference.name not in grammar.rules and reference.name not in grammar.broken:
                near = difflib.get_close_matches(reference.name, known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else None
                message = f"the rule {reference.name!r} is not defined"
                found.append(grammar.source.problem(reference.offset, message, hint))
    return found


def _terminals(grammar: Grammar) -> tuple[set[str], list[GrammarProblem]]:
    """Terminals are regular: they hold no rules, and not themselves. Those that hold themselves, and the problems."""
    found, circular = [], set[str]()
    terminals = {name: rule for name, rule in grammar.rules.items() if rule.is_terminal}
    for rule in terminals.values():
        for reference in rule.references:
            if reference.name in grammar.rules and reference.name not in terminals:
                message = f"the terminal {rule.name!r} uses the rule {reference.name!r}; terminals hold terminals only"
                found.append(grammar.source.problem(reference.offset, message))
    graph = {name: {r.name for r in rule.references} & terminals.keys() for name, rule in terminals.items()}
    for component in components(graph):
        first = component[0]
        if len(component) > 1 or first in graph[first]:
            circular |= set(component)
            message = f"the terminal {first!r} refers to itself"
            found.append(
                grammar.source.problem(terminals[first].offset, message, "Write it as a rule, in small letters.")
            )
    return circular, found


def _unproductive(grammar: Grammar, reached: set[str], circular: set[str]) -> list[GrammarProblem]:
    """Rules that no text satisfies. What another problem speaks of (undefined rules, circular terminals) counts as
    fine, so that nothing is said twice."""
    rules = grammar.rules
    known = circular | grammar.broken | {r.name for rule in rules.values() for r in rule.references} - rules.keys()
    good = holding_text(rules, known)
    bad = [name for name in rules if name not in good and name in reached]
    graph = {name: {r.name for r in rules[name].references} - good for name in bad}
    found = []
    for component in components(graph):
        for name in component:
            if len(component) > 1 or name in graph[name] or _is_empty_itself(rules[name].body):
                found.append(_why_unproductive(grammar, rules[name], component))
    return found


def holding_text(rules: dict[str, RuleDef], known: set[str]) -> set[str]:
    """The rules that some text satisfies, if those `known` do: a rule is looked at again when one it names is found."""
    good = set(known)
    users: dict[str, list[str]] = {}
    for name, rule in rules.items():
        for used in {reference.name for reference in rule.references}:
            users.setdefault(used, []).append(name)
    work = list(rules)[::-1]
    while work:
        name = work.pop()
        if name not in good and _holds_text(rules[name].body, good):
            good.add(name)
            work += users.get(name, ())
    return good


def _why_unproductive(grammar: Grammar, rule: RuleDef, component: list[str]) -> GrammarProblem:
    if _is_empty_itself(rule.body):
        return grammar.source.problem(rule.offset, f"no text satisfies the rule {rule.name!r}")
    inside = set(component)
    if all(_reads_nothing(grammar.rules[name].body, inside) for name in component):
        message = f"the rule {rule.name!r} refers to itself without ever reading a text"
    else:
        message = f"the rule {rule.name!r} can never end: every way through it needs it again"
    return grammar.source.problem(rule.offset, message, "Add an alternative that ends.")


def _holds_text(part: Part, good: set[str]) -> bool:
    if isinstance(part, Leaf):
        return is_productive(part.expr)
    if isinstance(part, Named):
        return part.name in good
    if isinstance(part, Sequence):
        return all(_holds_text(inner, good) for inner in part.parts)
    if isinstance(part, Choice):
        return any(_holds_text(inner, good) for inner in part.parts)
    if isinstance(part, Repeated):
        return part.lo == 0 or _holds_text(part.part, good)
    return _holds_text(part.part, good)


def _is_empty_itself(part: Part) -> bool:
    """Whether the part holds nothing even if all rules did."""
    if isinstance(part, Leaf):
        return part.expr is EMPTY
    if isinstance(part, Sequence):
        return any(_is_empty_itself(inner) for inner in part.parts)
    if isinstance(part, Choice):
        return all(_is_empty_itself(inner) for inner in part.parts)
    return isinstance(part, Repeated) and part.lo > 0 and _is_empty_itself(part.part)


def _reads_nothing(part: Part, inside: set[str]) -> bool:
    """Whether there is no text beside references to the rules `inside`."""
    if isinstance(part, Leaf):
        return bool(part.expr.memo_nullable)
    if isinstance(part, Named):
        return part.name in inside
    if isinstance(part, Without):
        return _reads_nothing(part.part, inside)
    return all(_reads_nothing(inner, inside) for inner in children(part))
