"""A grammar as an expression: rules that do not recur are put in where they are used, the others become frames.

Rules are taken in the order of their dependence. What is regular stays free of calls, so that it is one automaton
without a stack; a large or often used part gets a frame of its own, which all its uses share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from tokenizer_align.errors import GrammarError
from tokenizer_align.expressions import (
    EMPTY,
    EPSILON,
    FRAME,
    K_ALT,
    K_BOTH,
    K_CALL,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    MAX_COUNT,
    Expr,
    Rule,
    alt,
    call,
    frame,
    minus,
    optional,
    plus,
    repeat,
    seq,
    seq_parts,
    star,
)

from .grammar_findings import holding_text, reachable
from .grammar_graph import components
from .grammar_left import LeftRecursion
from .grammar_linear import size, solve_linear
from .grammar_model import (
    UNREAD,
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
from .grammar_source import MAX_PROBLEMS, GrammarProblem

WIDE_BYTES = 24  # a part that reads so many bytes at once has memos worth sharing
MAX_INLINE = 2_000  # nodes of a part that is put in where it is used more than once
MAX_INLINE_EMPTY = 160  # of one that may be empty: each part of it may come next, and each after each
MAX_NESTING = 50  # parts inside each other without a frame between


class GrammarCompiler:
    """Turns the rules of one grammar, which has no undefined or unproductive ones, into an expression."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        names = reachable(grammar)
        self.rules = {name: rule for name, rule in grammar.rules.items() if name in names}
        self._uses = Counter(r.name for rule in self.rules.values() for r in rule.references)
        self._values: dict[str, Expr] = {}
        self._regular: dict[str, Expr] = {}  # the same without frames, where it is regular
        self._sizes: dict[Expr, int] = {}
        self._depths: dict[Expr, int] = {}
        self._wide: dict[Expr, bool] = {}
        self._gap = EPSILON
        self.problems: list[GrammarProblem] = []  # of differences

    def expression(self) -> Expr:
        """The language of the start rule. Raises GrammarError for each '-' that is used on what is not regular."""
        graph = {name: [r.name for r in rule.references] for name, rule in self.rules.items()}
        order = components(graph)
        for component in order:
            if all(self.rules[name].is_terminal for name in component):
                self._add(component, graph)
        self._gap = star(alt(*(self._expr(part, None) for part in self.grammar.ignored)))
        if self._is_wide(self._gap):
            self._gap = frame(self._gap)
        for component in order:
            if component[0] not in self._values:
                self._add(component, graph)
        if self.problems:
            raise GrammarError(self.grammar.source.notation, self.problems[:MAX_PROBLEMS])
        return seq(self._gap, self._values[self.grammar.start])

    def _add(self, component: list[str], graph: dict[str, list[str]]) -> None:
        first = component[0]
        if len(component) == 1 and first not in graph[first]:
            self._set(first, self._expr(self.rules[first].body, self.rules[first]))
            return
        raw = {name: Rule(name) for name in component}
        self._values.update({name: call(rule) for name, rule in raw.items()})
        bodies = {raw[name]: self._expr(self.rules[name].body, self.rules[name]) for name in component}
        solved = solve_linear(bodies)
        if solved is not None:
            for name in component:
                self._set(name, solved[raw[name]])
            return
        recursion = LeftRecursion(bodies)
        for name in component:
            self._values[name] = call(recursion.rule(raw[name]))

    def _set(self, name: str, expr: Expr) -> None:
        """What stands for a rule that does not recur: itself, or a frame that its uses share."""
        if not expr.has_call:
            self._regular[name] = expr
        several = self._uses[name] > 1
        longest = MAX_INLINE_EMPTY if expr.memo_nullable else MAX_INLINE
        is_shared = several and (expr.has_call or self._is_wide(expr) or size(expr, self._sizes) > longest)
        self._values[name] = _framed(expr) if is_shared or self._depth(expr) > MAX_NESTING else expr

    def _depth(self, node: Expr) -> int:
        """How many alternatives and repetitions stand inside each other."""
        found = self._depths.get(node)
        if found is None:
            parts = seq_parts(node) if node.kind == K_SEQ else node.args
            found = self._depths[node] = (node.kind != K_SEQ) + max(map(self._depth, parts), default=0)
        return found

    def _is_wide(self, node: Expr) -> bool:
        """Whether some place inside reads many bytes."""
        found = self._wide.get(node)
        if found is None:
            if node.kind in (K_NEG, K_BOTH):
                found = True
            elif node.kind == K_SET:
                found = node.data.bit_count() >= WIDE_BYTES
            else:
                found = any(self._is_wide(part) for part in (seq_parts(node) if node.kind == K_SEQ else node.args))
            self._wide[node] = found
        return found

    # --- parts ----------------------------------------------------------------------------------------------------

    def _expr(self, part: Part, rule: RuleDef | None) -> Expr:
        """The expression of a part of a rule's body (`rule` None: of what is ignored)."""
        if isinstance(part, Leaf):
            return part.expr if rule is None or rule.is_terminal else seq(part.expr, self._gap)
        if isinstance(part, Named):
            value = self._values[part.name]
            is_outside = rule is not None and not rule.is_terminal and self.rules[part.name].is_terminal
            return seq(value, self._gap) if is_outside else value
        if isinstance(part, Sequence):
            return seq(*_joined(self._expr(inner, rule) for inner in part.parts))
        if isinstance(part, Choice):
            return alt(*(self._expr(inner, rule) for inner in part.parts))
        if isinstance(part, Repeated):
            item = self._expr(part.part, rule)
            free = self._free_between(item) if part.hi is None and part.lo < 2 else None
            return repeat(item, part.lo, part.hi) if free is None else _around(*free, at_least_one=part.lo == 1)
        assert isinstance(part, Without)
        recursive = {name.name: None for name in references(part) if name.name not in self._regular}
        if recursive:
            names = " and ".join(map(repr, recursive))
            what = f"'-' is for regular parts only, but {names} {'are' if len(recursive) > 1 else 'is'} recursive"
            self.problems.append(self.grammar.source.problem(part.offset, what))
            return UNREAD
        found = minus(self._regular_expr(part.part), self._regular_expr(part.other))
        if found is EMPTY:
            self.problems.append(self.grammar.source.problem(part.offset, "nothing is left when this is taken away"))
            return UNREAD
        return found

    def _free_between(self, item: Expr) -> tuple[Expr, Expr] | None:
        """What of a repeated choice is regular and wide, as text between elements is, and the rest; None where nothing
        is. `(element | text+)*` could be split in as many ways as its text has, and walked at every character."""
        free, rest = list[Expr](), list[Expr]()
        for one in item.args if item.kind == K_ALT else (item,):
            regular = _without_frames(one)
            if regular is None:
                rest.append(one)
            else:
                is_run = regular.kind == K_REPEAT and regular.data[0] < 2 and regular.data[1] is None
                once = regular.args[0] if is_run else regular
                free.append(optional(once) if is_run and regular.data[0] == 0 else once)
        found = alt(*free)
        return (found, alt(*rest)) if item.has_call and free and self._is_wide(found) else None

    def _regular_expr(self, part: Part) -> Expr:
        """The expression of a regular part without any calls."""
        values, self._values = self._values, self._regular
        try:
            return self._expr(part, None)
        finally:
            self._values = values


def _framed(expr: Expr) -> Expr:
    """A frame that all uses share; of a long literal too."""
    is_long = expr.kind == K_LIT and len(expr.data) > MAX_INLINE
    return call(Rule(FRAME, expr)) if is_long else frame(expr)


def _without_frames(node: Expr) -> Expr | None:
    """A regular part without calls; None where it is not regular."""
    if not node.has_call:
        return node
    if node.kind == K_CALL and node.data.name == FRAME:
        body: Expr = node.data.body
        return None if body.has_call else body
    if node.kind == K_SEQ:
        parts = [_without_frames(part) for part in seq_parts(node)]
        return None if None in parts else seq(*(part for part in parts if part is not None))
    return None


def _around(free: Expr, rest: Expr, at_least_one: bool) -> Expr:
    """`(free | rest)*`, or `+`, with the free parts as one frame in front and behind each of the rest."""
    between = frame(star(free))
    behind = star(seq(rest, between))
    if not at_least_one:
        return seq(between, behind)
    return alt(seq(frame(plus(free)), behind), seq(rest, between, behind))


def _joined(parts: Iterable[Expr]) -> list[Expr]:
    """The parts of a sequence, repetitions of the same regular thing side by side as one: `x? x? x*` is `x{0,}`."""
    found: list[Expr] = []
    for part in parts:
        last = found[-1] if found else EPSILON
        if last.kind == part.kind == K_REPEAT and last.args == part.args and not part.has_call:
            (lo, hi), (more_lo, more_hi) = last.data, part.data
            both = None if hi is None or more_hi is None else hi + more_hi
            if max(lo + more_lo, both or 0) <= MAX_COUNT:
                found[-1] = repeat(part.args[0], lo + more_lo, both)
                continue
        found.append(part)
    return found


def wrong_differences(grammar: Grammar) -> list[GrammarProblem]:
    """The '-' on what is recursive in a grammar with other problems; rules that these concern are taken as texts."""
    unread = {*grammar.broken} | {r.name for rule in grammar.rules.values() for r in rule.references}
    rules = {name: rule for name, rule in grammar.rules.items() if name not in grammar.broken}
    if not any(_holds_difference(rule.body) for rule in rules.values()):
        return []
    good = holding_text(rules, unread - rules.keys())
    for name in good | unread | {grammar.start}:
        if name not in rules or name not in good:
            rules[name] = RuleDef(name, Leaf(UNREAD), 0)
    several = Choice(tuple(Named(name) for name in rules))
    compiler = GrammarCompiler(Grammar(grammar.source, {**rules, "": RuleDef("", several, 0)}, ""))
    with suppress(GrammarError):
        compiler.expression()
    return [problem for problem in compiler.problems if "regular parts" in problem.message]


def _holds_difference(part: Part) -> bool:
    return isinstance(part, Without) or any(map(_holds_difference, children(part)))
