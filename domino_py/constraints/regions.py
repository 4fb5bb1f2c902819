"""`after(trigger, constraint)`: free text in which a constraint holds behind every trigger.

The text is free until a trigger has been written; from there on the trigger's constraint holds, and where its text is
complete, free text may go on. A trigger is a control token of the vocabulary, or text in ordinary tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tokenizer_align import recognizer
from tokenizer_align.errors import ConstraintError, InvalidOption, Problem
from tokenizer_align.expressions import Expr, alt, frame, repeat, seq
from tokenizer_align.markers import MAX_NUMBER, Reading, vocabulary_rule

from .base import Constraint
from .free_text import free_text, part, up_to
from .tokens import checked_marker

__all__ = ["Region", "after", "build", "parse"]


@dataclass(frozen=True, slots=True)
class Region:
    """One region of a text: its trigger, the constrained text behind it, what that stands for, and where it begins.

    `start`: the index of the constrained text's first character.
    """

    trigger: str
    text: str
    value: Any
    start: int


def after(
    trigger: Any,
    constraint: Any = None,
    *,
    at_least: int = 0,
    at_most: int | None = None,
    tail: bool = True,
    max_tokens: int | None = None,
) -> Constraint:
    """Free text in which `constraint` holds behind every `trigger`.

    `trigger` is a text or a `token`, or a dict of several, each with its constraint. There are `at_least` to `at_most`
    regions (None: without bound); the text may not end before the first `at_least`, and behind `at_most` no trigger
    occurs. Without a `tail` the text ends with its last region. `max_tokens`: of each free part; then a trigger must
    come, or, where it may, the text ends. Its `parse` gives a list of `Region`.
    Raises InvalidOption, also for triggers of which one can never be completed before another.

        answer = domino.after("ANSWER: ", domino.choice(["yes", "no"]), at_least=1, tail=False)
        answer.matches("Water is a liquid, so ANSWER: yes")     # True
    """
    from domino_py.arguments import as_constraint

    pairs = trigger if isinstance(trigger, Mapping) else {trigger: constraint}
    if isinstance(trigger, Mapping) and constraint is not None:
        raise InvalidOption("constraint", "with a dict of triggers, each has its constraint in the dict.")
    found: dict[str, Constraint] = {}
    for key, value in pairs.items():
        made = as_constraint(value)
        if made is None:
            raise InvalidOption("constraint", f"the trigger {key!r} needs a constraint.")
        found[checked_marker(key, "trigger")] = made
    _check_triggers(list(found))
    check_count("at_least", at_least, 0)
    if at_most is not None:
        check_count("at_most", at_most, max(at_least, 1))
    if max_tokens is not None:
        check_count("max_tokens", max_tokens, 0, MAX_NUMBER)
    options = {"at_least": at_least, "at_most": at_most, "max_tokens": max_tokens, "tail": bool(tail)}
    return Constraint("regions", tuple(found.items()), tuple(sorted(options.items())))


def check_count(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise InvalidOption for what is no whole number of at least `least` and at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidOption(name, f"{name}={value!r} must be a whole number of at least {least}.")
    if most is not None and value > most:
        raise InvalidOption(name, f"{name}={value!r} is above {most}.")


def _check_triggers(triggers: list[str]) -> None:
    if not triggers:
        raise InvalidOption("trigger", "after needs at least one trigger.")
    for one in triggers:
        for other in triggers:
            if one != other and other in one[:-1]:
                raise InvalidOption(
                    "trigger", f"the trigger {one!r} is never reached: {other!r} is complete before it."
                )


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `regions` constraint."""
    bodies = {trigger: frame(one.expression) for trigger, one in constraint.source}
    options = dict(constraint.options)
    problems = tuple(problem for _, one in constraint.source for problem in one._problems)
    return vocabulary_rule("regions", partial(_make, bodies, options)), problems


def _make(bodies: dict[str, Expr], options: dict[str, Any], reading: Reading) -> Expr:
    lo, hi, limit = options["at_least"], options["at_most"], options["max_tokens"]
    spelled = tuple(trigger.encode() for trigger in bodies)
    free = part(reading, free_text(spelled), limit)
    marked: list[Expr] = []
    written: list[Expr] = []
    for index, (trigger, body) in enumerate(bodies.items()):
        found = reading.marker(trigger)
        if found is not None:
            marked.append(seq(found, reading.plain(body)))
        else:
            text = part(reading, up_to(spelled, index), limit, spelled[index])
            written.append(seq(text, reading.plain(body)))
    if not options["tail"]:
        unit = frame(alt(seq(free, alt(*marked)), *written))
        return repeat(unit, lo, hi) if lo else alt(free, repeat(unit, 1, hi))
    if not written:  # one reading of the free text, whatever follows
        return seq(free, repeat(frame(seq(alt(*marked), free)), lo, hi))
    return seq(repeat(frame(alt(seq(free, alt(*marked)), *written)), lo, hi), free)


def parse(constraint: Constraint, text: str) -> list[Region]:
    """The regions of a legal text, in order. Raises ConstraintError where the text is not legal."""
    found = _Splitter(constraint, text).regions()
    if found is None:
        raise ConstraintError("the text does not consist of free text and regions")
    return found


@dataclass(slots=True)
class _Place:
    """A place behind free text and regions: how many more regions must and may come; its first trigger, and where the
    text behind it may end, longest last."""

    at: int
    lo: int
    hi: int | None
    trigger: str
    start: int
    ends: list[int]


class _Splitter:
    """Splits a text into its regions, each as long as the rest allows. No place is looked at twice."""

    def __init__(self, constraint: Constraint, text: str) -> None:
        self._bodies, self._options, self._text = dict(constraint.source), dict(constraint.options), text
        self._ends: dict[tuple[str, int], list[int]] = {}
        self._triggers: dict[int, tuple[int, str] | None] = {}

    def regions(self) -> list[Region] | None:
        """The regions; None where the text is not legal."""
        hopeless: set[tuple[int, int, int | None]] = set()
        lo, hi = self._options["at_least"], self._options["at_most"]
        if self._may_end(0, lo):
            return []
        path = [place for place in [self._place(0, lo, hi)] if place is not None]
        while path:
            here = path[-1]
            if not here.ends:
                hopeless.add((here.at, here.lo, here.hi))
                path.pop()
                if path:
                    path[-1].ends.pop()
                continue
            at, lo, hi = here.ends[-1], max(here.lo - 1, 0), None if here.hi is None else here.hi - 1
            if self._may_end(at, lo):
                return [self._region(place) for place in path]
            then = None if (at, lo, hi) in hopeless else self._place(at, lo, hi)
            if then is None:
                hopeless.add((at, lo, hi))
                here.ends.pop()
            else:
                path.append(then)
        return None

    def _following(self, at: int) -> tuple[int, str] | None:
        """Where the first trigger ends, and which it is."""
        if at not in self._triggers:
            found = [(self._text.find(trigger, at), trigger) for trigger in self._bodies]
            places = [(place + len(trigger), -len(trigger), trigger) for place, trigger in found if place >= 0]
            self._triggers[at] = (min(places)[0], min(places)[2]) if places else None
        return self._triggers[at]

    def _may_end(self, at: int, lo: int) -> bool:
        """Whether the rest of the text may be free."""
        is_place = self._options["tail"] or at in (0, len(self._text))
        return lo <= 0 and is_place and self._following(at) is None

    def _place(self, at: int, lo: int, hi: int | None) -> _Place | None:
        """The place, if a region may come and does."""
        following = self._following(at)
        if following is None or hi == 0:
            return None
        start, trigger = following
        if (trigger, start) not in self._ends:
            self._ends[trigger, start] = complete_ends(self._bodies[trigger], self._text, start)
        return _Place(at, lo, hi, trigger, start, list(self._ends[trigger, start]))

    def _region(self, place: _Place) -> Region:
        inside = self._text[place.start : place.ends[-1]]
        return Region(place.trigger, inside, self._bodies[place.trigger].parse(inside), place.start)


def complete_ends(constraint: Constraint, text: str, start: int) -> list[int]:
    """The indices at which a legal text that begins at `start` may end, ascending."""
    here = recognizer.start(constraint.expression)
    found = [start] if recognizer.accepts_end(here) else []
    for at in range(start, len(text)):
        for byte in text[at].encode("utf-8", "surrogatepass"):
            here = recognizer.step(here, byte)
        if not here:
            break
        if recognizer.accepts_end(here):
            found.append(at + 1)
    return found
