"""`tools([...])`: texts that call tools, in the format that the model was trained on.

Names are exact and arguments follow each tool's signature or schema, so every call that comes out can be made. With
`tool_choice="auto"` the model may answer in free text instead, or before it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from domino_py.tool_calls import Tool, ToolCall, read_tool
from tokenizer_align.errors import ConstraintError, InvalidOption, Problem
from tokenizer_align.expressions import Expr, alt, frame, optional, seq
from tokenizer_align.markers import Reading, vocabulary_rule

from .base import Constraint
from .free_text import part, up_to
from .tool_formats import FORMATS, ToolFormat

__all__ = ["build", "parse", "tools"]

CHOICES = ("auto", "required", "none")


def tools(
    given: Iterable[Any],
    *,
    tool_choice: str | Mapping[str, Any] = "auto",
    parallel: bool | int = False,
    format: str = "auto",
    tokenizer: Any = None,
) -> Constraint:
    """Texts that call the given tools: Python functions, or definitions as OpenAI's API has them.

    tool_choice: "auto" (free text, calls, or text and then calls), "required" (calls), "none" (free text), or the name
    of the one tool to call, also as `{"type": "function", "function": {"name": …}}`. parallel: whether several calls
    may come at once, or how many at most. format: "hermes", "llama3", "mistral", "mistral-args", or "auto": found from
    the `tokenizer`, which `generate` and `compile` know.
    `parse` gives a list of `ToolCall`, empty for a text without calls. Raises InvalidOption.

        constraint = domino.tools([get_weather], tool_choice="required", format="hermes")
        result = domino.generate(model, tokenizer, messages, constraint)
        result.value[0].name, result.value[0].arguments
    """
    if isinstance(given, dict | str) or not isinstance(given, Iterable):
        raise InvalidOption("tools", "tools takes a list of functions or of definitions.")
    read = tuple(read_tool(one) for one in given)
    names = [tool.name for tool in read]
    twice = next((name for name in names if names.count(name) > 1), None)
    if not read or twice is not None:
        raise InvalidOption("tools", "there is no tool." if not read else f"two tools are called {twice!r}.")
    only = _named(tool_choice)
    if only is None and tool_choice in names and tool_choice not in CHOICES:
        only = str(tool_choice)
    if only not in (None, *names) or (only is None and tool_choice not in CHOICES):
        known = (*CHOICES, *names)
        shown = ", ".join(map(repr, known))
        raise InvalidOption(str(only or tool_choice), f"tool_choice={tool_choice!r} is none of {shown}.", known)
    if not isinstance(parallel, int) or (parallel is not False and parallel < 1):
        raise InvalidOption("parallel", f"parallel={parallel!r} is neither True, False nor a number of calls.")
    if format not in ("auto", *FORMATS):
        raise InvalidOption(str(format), f"format={format!r}.", ("auto", *FORMATS))
    if format == "auto" and tokenizer is not None:
        from domino_py.chat import find_tool_format

        format = find_tool_format(tokenizer)
    choice = ("function", only) if only is not None else tool_choice
    return Constraint("tools", read, (("format", format), ("parallel", parallel), ("tool_choice", choice)))


def _named(tool_choice: Any) -> str | None:
    """The tool that is chosen as OpenAI's API has it; None for a choice that is a text. Raises InvalidOption."""
    if not isinstance(tool_choice, Mapping):
        return None
    inner = tool_choice.get("function", tool_choice)
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str):
        raise InvalidOption("tool_choice", f"tool_choice={dict(tool_choice)!r} names no function.")
    return name


def in_format(constraint: Constraint, name: str) -> Constraint:
    """The same constraint in another format."""
    return Constraint("tools", constraint.source, tuple(sorted({**dict(constraint.options), "format": name}.items())))


def format_of(constraint: Constraint) -> ToolFormat:
    """The format of a `tools` constraint. Raises ConstraintError where it is still to be found from a tokenizer."""
    name = constraint.option("format")
    if name == "auto":
        raise ConstraintError(
            'the format of calls depends on the model: pass format="hermes", "llama3", "mistral" or "mistral-args", or '
            "tools(..., tokenizer=tokenizer)."
        )
    return FORMATS[name]


def offered(constraint: Constraint) -> tuple[Tool, ...]:
    """The tools that may be called under the constraint's `tool_choice`."""
    choice = constraint.option("tool_choice")
    if choice == "none":
        return ()
    return tuple(tool for tool in constraint.source if choice in ("auto", "required", ("function", tool.name)))


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `tools` constraint."""
    chosen, written = offered(constraint), format_of(constraint)
    problems = tuple(problem for tool in chosen for problem in tool.arguments._problems)
    if not chosen:
        return vocabulary_rule("no tools", lambda reading: part(reading, written.answers(), None)), ()
    parallel = constraint.option("parallel")
    most = None if parallel is True else max(int(parallel), 1)
    bodies = [(tool.name, tool.arguments.expression) for tool in chosen]
    if constraint.option("tool_choice") == "auto":
        return vocabulary_rule("tools", partial(_make_auto, written, bodies, most)), problems
    return written.calls(bodies, most), problems


def _make_auto(written: ToolFormat, bodies: list[tuple[str, Expr]], most: int | None, reading: Reading) -> Expr:
    """Free text, or calls with free text in front where a trigger says that they begin."""
    answer = part(reading, written.answers(), None)
    if not written.is_required:
        return alt(answer, reading.plain(written.calls(bodies, most)))
    behind = reading.plain(frame(written.behind_trigger(bodies, most)))
    found = reading.marker(written.trigger)
    if found is not None:
        return seq(answer, optional(seq(found, behind)))
    return alt(answer, seq(part(reading, up_to((written.trigger.encode(),), 0), None), behind))


def parse(constraint: Constraint, text: str) -> list[ToolCall]:
    """The calls in a legal text, in order. Raises ConstraintError where their arguments do not read."""
    chosen, written = {tool.name: tool for tool in offered(constraint)}, format_of(constraint)
    begins = not written.is_required and written.begins_call(text)  # a trigger behind that stands in an argument
    at = 0 if begins else text.find(written.trigger)
    if not chosen or at < 0:
        return []
    found: list[ToolCall] = []
    for name, arguments in written.read(text[at:]):
        tool = chosen.get(name)
        if tool is None:
            raise ConstraintError(f"a call of {name!r}, which is not among the tools {sorted(chosen)}")
        found.append(ToolCall(name, tool.arguments.parse(arguments), tool.function))
    return found
