"""Left recursion taken out of rules that call each other; the language stays the same.

The automaton pushes a frame for a call before it reads, so no rule may come back to itself at its left end, also not
behind parts that may be empty. For a set C of rules that reach each other at the left end, every body is split by what
stands first: `body(B) = N_B | X R_BX | ...` for X in C, with N_B free of C at the left. Then A in C is some N_B, and
steps up to A (the left-corner transform of Rosenkrantz and Lewis 1970):

    A      = N_B up(B)                              for every B in C
    up(X)  = R_DX up(D)  |  nothing, if X is A      for every D in C

`S: S S | "a"` becomes `S: "a" S*`. All of this is on the rules without their empty text, which is added again outside,
so that an empty part never hides what comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tokenizer_align.derivatives import heads
from tokenizer_align.empty_text import nullable
from tokenizer_align.expressions import (
    EMPTY,
    EPSILON,
    K_ALT,
    K_CALL,
    K_REPEAT,
    K_SEQ,
    Expr,
    Rule,
    alt,
    byte_set,
    call,
    repeat,
    seq,
    seq_parts,
    star,
)
from tokenizer_align.left_recursion import left_calls

from .grammar_graph import components


@dataclass(slots=True)
class _Corners:
    """An expression without its empty text: `own` begins outside the set, `after[X]` is what follows X at the left."""

    own: Expr
    after: dict[Rule, Expr]


class LeftRecursion:
    """The bodies of rules that call each other, made into rules that the automaton can run: `rule(raw)`."""

    def __init__(self, bodies: dict[Rule, Expr]) -> None:
        self.bodies = bodies
        for raw, body in bodies.items():
            raw.define(body)  # what they hold and call is asked for; no automaton runs them
        self._group: dict[Rule, dict[Rule, None]] = {}
        edges = {rule: self._left_edges(body) for rule, body in bodies.items()}
        for component in components(edges):
            if len(component) > 1 or component[0] in edges[component[0]]:
                self._group.update(dict.fromkeys(component, dict.fromkeys(component)))
        self._final: dict[Rule, Rule] = {}
        self._plus: dict[Rule, Rule] = {}
        self._corner_memo: dict[Rule, _Corners] = {}
        self._steps: dict[Rule, list[tuple[Rule, Expr]]] = {}
        self._chains: dict[tuple[Rule, Rule], Rule] = {}
        self._translated: dict[Expr, Expr] = {}
        self._nonempties: dict[Expr, Expr] = {}
        self._keep: list[Expr] = []  # nodes whose memos were set here

    def rule(self, raw: Rule) -> Rule:
        """The rule that stands for `raw`: the same language, without left recursion."""
        found = self._final.get(raw)
        if found is None:
            found = self._final[raw] = self._declare(raw.name, nullable(call(raw)))
            found.define(lambda: self._body(raw))
        return found

    def _declare(self, name: str, is_nullable: bool) -> Rule:
        made = Rule(name)
        node = call(made)
        node.memo_nullable = is_nullable
        self._keep.append(node)
        return made

    def _body(self, raw: Rule) -> Expr:
        if raw not in self._group:
            return self._translate(self.bodies[raw])
        return alt(EPSILON, call(self._without_empty(raw))) if nullable(call(raw)) else self._solved(raw)

    def _translate(self, node: Expr) -> Expr:
        """The expression with calls of the rules that were made here."""
        if not node.has_call:
            return node
        found = self._translated.get(node)
        if found is None:
            if node.kind == K_CALL:
                found = call(self.rule(node.data)) if node.data in self.bodies else node
            elif node.kind == K_SEQ:
                found = seq(*(self._translate(part) for part in seq_parts(node)))
            elif node.kind == K_ALT:
                found = alt(*(self._translate(arg) for arg in node.args))
            elif node.kind == K_REPEAT:
                found = repeat(self._translate(node.args[0]), *node.data)
            else:
                found = node
            self._translated[node] = found
        return found

    # --- the empty text -------------------------------------------------------------------------------------------

    def _nonempty(self, node: Expr) -> Expr:
        """The expression without the empty text."""
        if not nullable(node):
            return node
        found = self._nonempties.get(node)
        if found is None:
            found = self._nonempties[node] = self._find_nonempty(node)
        return found

    def _find_nonempty(self, node: Expr) -> Expr:
        if node is EPSILON:
            return EMPTY
        if node.kind == K_CALL:
            return call(self._without_empty(node.data))
        if node.kind == K_ALT:
            return alt(*(self._nonempty(arg) for arg in node.args))
        if node.kind == K_REPEAT:
            return repeat(self._nonempty(node.args[0]), 1, node.data[1])
        if node.kind == K_SEQ:
            result, rest = EMPTY, EPSILON
            for part in reversed(seq_parts(node)):  # every part may be empty
                result, rest = alt(seq(self._nonempty(part), rest), result), seq(part, rest)
            return result
        return alt(*(seq(byte_set(mask), after) for mask, after in heads(node)))

    def _without_empty(self, raw: Rule) -> Rule:
        """The rule without its empty text; also for rules from outside."""
        found = self._plus.get(raw)
        if found is None:
            found = self._plus[raw] = self._declare(f"{raw.name} (not empty)", False)
            if raw in self._group:
                found.define(lambda: self._solved(raw))
            else:
                found.define(lambda: self._translate(self._nonempty(raw.body)))
        return found

    # --- what stands first ----------------------------------------------------------------------------------------

    def _left_edges(self, node: Expr) -> set[Rule]:
        """The rules that may stand first, with nothing but empty parts before them."""
        return self.bodies.keys() & left_calls(node)

    def _corners(self, node: Expr, group: dict[Rule, None]) -> _Corners:
        if node.kind == K_CALL and node.data in group:
            return _Corners(EMPTY, {node.data: EPSILON})
        if group.keys().isdisjoint(left_calls(node)):
            return _Corners(self._nonempty(node), {})
        if node.kind == K_ALT:
            return _joined([self._corners(arg, group) for arg in node.args])
        if node.kind == K_REPEAT:
            lo, hi = node.data
            rest = repeat(node.args[0], max(lo - 1, 0), None if hi is None else hi - 1)
            return _followed(self._corners(node.args[0], group), rest)
        parts, ways = node, []
        while parts.kind == K_SEQ:
            first, parts = parts.args
            ways.append(_followed(self._corners(first, group), parts))
            if not nullable(first):
                return _joined(ways)
        return _joined([*ways, self._corners(parts, group)])

    def _corners_of(self, raw: Rule) -> _Corners:
        if raw not in self._corner_memo:
            self._corner_memo[raw] = self._corners(self.bodies[raw], self._group[raw])
        return self._corner_memo[raw]

    def _solved(self, raw: Rule) -> Expr:
        """The body of a left-recursive rule without its empty text."""
        group = self._group[raw]
        if len(group) == 1:
            corners = self._corners_of(raw)
            return self._translate(seq(corners.own, star(self._nonempty(corners.after.get(raw, EMPTY)))))
        ways = [(first, self._corners_of(first).own) for first in group]
        return self._translate(
            alt(*(seq(own, call(self._chain(raw, first))) for first, own in ways if own is not EMPTY))
        )

    def _chain(self, goal: Rule, reached: Rule) -> Rule:
        """What may follow a text of `reached` so that the whole is one of `goal`: a rule that calls at its end only."""
        found = self._chains.get((goal, reached))
        if found is None:
            same = self._same_text(reached)
            found = self._declare(f"{goal.name} after {reached.name}", goal in same)
            self._chains[goal, reached] = found
            found.define(lambda: self._chain_body(goal, same))
        return found

    def _chain_body(self, goal: Rule, same: dict[Rule, None]) -> Expr:
        ways = [EPSILON] if goal in same else []
        for rule in same:
            for above, after in self._steps_from(rule):
                step = self._nonempty(after)
                if step is not EMPTY:
                    ways.append(seq(step, call(self._chain(goal, above))))
        return self._translate(alt(*ways))

    def _steps_from(self, raw: Rule) -> list[tuple[Rule, Expr]]:
        """The rules of the group that may begin with `raw`, each with what follows it there."""
        if raw not in self._steps:
            group = self._group[raw]
            self._steps.update({rule: [] for rule in group})
            for above in group:
                for rule, step in self._corners_of(above).after.items():
                    if step is not EMPTY:
                        self._steps[rule].append((above, step))
        return self._steps[raw]

    def _same_text(self, raw: Rule) -> dict[Rule, None]:
        """The rules of the group of which a text of `raw` is one by itself."""
        found = {raw: None}
        work = [raw]
        while work:
            here = work.pop()
            for above, step in self._steps_from(here):
                if above not in found and nullable(step):
                    found[above] = None
                    work.append(above)
        return found


def _followed(corners: _Corners, rest: Expr) -> _Corners:
    return _Corners(seq(corners.own, rest), {rule: seq(after, rest) for rule, after in corners.after.items()})


def _joined(ways: list[_Corners]) -> _Corners:
    after: dict[Rule, Expr] = {}
    for way in ways:
        for rule, expr in way.after.items():
            after[rule] = alt(after.get(rule, EMPTY), expr)
    return _Corners(alt(*(way.own for way in ways)), after)
