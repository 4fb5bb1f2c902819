"""Templates of rules (Lark): `_list{item, sign}: item (sign item)*`, used as `_list{NAME, ","}`.

Every use with other arguments becomes a rule of its own, with the arguments put in for the parameters; equal uses share
one.
"""

from __future__ import annotations

from .grammar_model import Choice, Named, Part, Repeated, RuleDef, Sequence, Without, children
from .grammar_source import GrammarProblem, Source

MAX_USES = 2000  # different uses of templates; a template that calls itself with ever longer arguments has no end
MAX_PARTS = 1000  # parts of the arguments of one use


def expand_templates(
    source: Source, rules: dict[str, RuleDef], problems: list[GrammarProblem], broken: set[str]
) -> None:
    """Replace all templates in `rules` by plain rules; what is wrong goes to `problems`. `broken`: rules not read."""
    templates = {name: rule for name, rule in rules.items() if rule.parameters}
    expander = _Expander(source, templates, problems, broken)
    for rule in list(rules.values()):
        if not rule.parameters:
            rule.body = expander.expand(rule.body, {})
    expander.finish()
    for name in templates:
        if name in expander.used:
            del rules[name]
        else:
            rules[name].body = Sequence(())  # what its parameters would be is not known
    rules.update(expander.made)


class _Expander:
    def __init__(
        self, source: Source, templates: dict[str, RuleDef], problems: list[GrammarProblem], broken: set[str]
    ) -> None:
        self.source, self.templates, self.problems, self.broken = source, templates, problems, broken
        self.made: dict[str, RuleDef] = {}
        self.used: set[str] = set()
        self._names: dict[Named, str] = {}
        self._is_endless = False
        self._waiting: list[tuple[RuleDef, RuleDef, tuple[Part, ...]]] = []

    def finish(self) -> None:
        """Make the bodies of all uses, and of those inside them."""
        while self._waiting:
            rule, template, arguments = self._waiting.pop()
            rule.body = self.expand(template.body, dict(zip(template.parameters, arguments, strict=True)))

    def expand(self, part: Part, values: dict[str, Part]) -> Part:
        if isinstance(part, Sequence):
            return Sequence(tuple(self.expand(inner, values) for inner in part.parts))
        if isinstance(part, Choice):
            return Choice(tuple(self.expand(inner, values) for inner in part.parts))
        if isinstance(part, Repeated):
            return Repeated(self.expand(part.part, values), part.lo, part.hi)
        if isinstance(part, Without):
            return Without(self.expand(part.part, values), self.expand(part.other, values), part.offset)
        if not isinstance(part, Named):
            return part
        if part.name in values:
            return values[part.name]
        template = self.templates.get(part.name)
        if template is None and not part.arguments:
            return part
        return self._use(Named(part.name, part.offset, tuple(self.expand(a, values) for a in part.arguments)), template)

    def _use(self, use: Named, template: RuleDef | None) -> Part:
        if use.name in self.broken:
            return Named(use.name, use.offset)
        if template is None or len(use.arguments) != len(template.parameters):
            takes = "is no template" if template is None else f"takes {len(template.parameters)} arguments"
            message = f"{use.name!r} {takes}, but {len(use.arguments)} are given"
            self.problems.append(self.source.problem(use.offset, message))
            self.used.add(use.name)
            return Sequence(())
        self.used.add(use.name)
        if self._is_endless or len(self._names) >= MAX_USES or _is_large(use):
            if not self._is_endless:
                message = "the uses of this template grow without end, or are too many"
                self.problems.append(self.source.problem(use.offset, message))
            self._is_endless = True
            return Sequence(())
        found = self._names.get(use)
        if found is None:
            found = self._names[use] = f"{use.name}{{{len(self._names)}}}"
            rule = RuleDef(found, Sequence(()), template.offset, template.is_terminal)
            self.made[found] = rule
            self._waiting.append((rule, template, use.arguments))
        return Named(found, use.offset)


def _is_large(use: Named) -> bool:
    n_parts, work = 0, list(use.arguments)
    while work and n_parts <= MAX_PARTS:
        n_parts += 1
        work += children(work.pop())
    return n_parts > MAX_PARTS
