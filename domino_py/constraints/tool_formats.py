"""How models write calls of tools, by the format of their chat templates.

hermes (Hermes, Qwen and many more): `<tool_call>\\n{"name": …, "arguments": {…}}\\n</tool_call>`, several one below the
other. llama3: `{"name": …, "parameters": {…}}`, behind `<|python_tag|>` or not, several with `; ` between. mistral:
`[TOOL_CALLS][{"name": …, "arguments": {…}}, …]`. mistral-args (its newer form): `[TOOL_CALLS]name[ARGS]{…}`, several
one after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import ALL, EPSILON, Expr, alt, both, frame, lit, neg, optional, repeat, seq
from tokenizer_align.markers import marker

from .free_text import free_text
from .json_layout import gap

__all__ = ["FORMATS", "ToolFormat"]

_DECODER = json.JSONDecoder()
_GAP = r"[ \t\r\n]*"


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """One format.

    trigger: the marker in front of calls. is_required: without it no call begins. is_repeated: it stands in front of
    each. key: of the arguments; "" where the name stands outside of the JSON. opening, closing: around all calls,
    behind the trigger. before, behind: around each.
    """

    name: str
    trigger: str
    is_required: bool = True
    is_repeated: bool = False
    key: str = "arguments"
    opening: Expr = EPSILON
    before: Expr = EPSILON
    behind: Expr = EPSILON
    separator: Expr = EPSILON
    closing: Expr = EPSILON

    def calls(self, tools: Sequence[tuple[str, Expr]], most: int | None) -> Expr:
        """One to `most` calls of the tools, each (name, its arguments)."""
        first = marker(self.trigger)
        return seq(first if self.is_required else optional(first), self.behind_trigger(tools, most))

    def behind_trigger(self, tools: Sequence[tuple[str, Expr]], most: int | None) -> Expr:
        """The same without the first trigger."""
        one = frame(seq(self.before, self._call(tools), self.behind))
        again = marker(self.trigger) if self.is_repeated else EPSILON
        more = repeat(frame(seq(self.separator, again, one)), 0, None if most is None else most - 1)
        return seq(self.opening, one, more, self.closing)

    def _call(self, tools: Sequence[tuple[str, Expr]]) -> Expr:
        if not self.key:
            return alt(*(seq(lit(name.encode()), marker("[ARGS]"), frame(arguments)) for name, arguments in tools))
        blanks = gap("flexible")
        colon, comma = seq(blanks, lit(b":"), blanks), seq(blanks, lit(b","), blanks)
        choices = [
            seq(lit(json.dumps(name).encode()), comma, lit(f'"{self.key}"'.encode()), colon, frame(arguments))
            for name, arguments in tools
        ]
        return seq(lit(b"{"), blanks, lit(b'"name"'), colon, alt(*choices), blanks, lit(b"}"))

    def answers(self) -> Expr:
        """Free text that is no call: without the trigger, and, where a call needs none, not beginning like one."""
        text = free_text((self.trigger.encode(),))
        if self.is_required:
            return text
        blanks = repeat(alt(*map(lit, (b" ", b"\t", b"\r", b"\n"))), 0)
        return both(text, neg(seq(blanks, lit(b"{"), blanks, lit(b'"name"'), ALL)))

    def read(self, text: str) -> Iterator[tuple[str, str]]:
        """The (name, text of the arguments) of each call in a text that begins with them. Raises ConstraintError."""
        at = 0
        while (found := self._pattern().match(text, at)) is not None:
            if self.key:
                name, at = _DECODER.raw_decode(text, found.end())
                then = re.compile(rf'{_GAP},{_GAP}"{self.key}"{_GAP}:{_GAP}').match(text, at)
                if then is None:
                    raise ConstraintError(f'a call has no "{self.key}": {text[at : at + 40]!r}')
                start = then.end()
            else:
                name, start = found.group(1), found.end()
            _, at = _DECODER.raw_decode(text, start)
            yield str(name), text[start:at]
            if self.key:
                at = text.index("}", at) + 1

    def begins_call(self, text: str) -> bool:
        """Whether a text that must not begin like a call by itself begins like one."""
        return re.match(rf'{_GAP}{{{_GAP}"name"', text) is not None

    def _pattern(self) -> re.Pattern[str]:
        """What stands in front of a call's JSON, or of its name there, behind the call before."""
        if not self.key:
            return re.compile(r"\[TOOL_CALLS\](.*?)\[ARGS\]", re.DOTALL)
        return re.compile(rf'[^{{]*{{{_GAP}"name"{_GAP}:{_GAP}')


_LINE = optional(lit(b"\n"))
_HERMES = ToolFormat(
    name="hermes",
    trigger="<tool_call>",
    is_repeated=True,
    before=_LINE,
    behind=seq(_LINE, marker("</tool_call>")),
    separator=_LINE,
)
_LLAMA3 = ToolFormat(
    name="llama3",
    trigger="<|python_tag|>",
    is_required=False,
    key="parameters",
    separator=seq(lit(b";"), optional(lit(b" "))),
)
_MISTRAL = ToolFormat(
    name="mistral",
    trigger="[TOOL_CALLS]",
    opening=seq(optional(lit(b" ")), lit(b"[")),
    separator=seq(lit(b","), optional(lit(b" "))),
    closing=lit(b"]"),
)
_MISTRAL_ARGS = ToolFormat(name="mistral-args", trigger="[TOOL_CALLS]", is_repeated=True, key="")
FORMATS = {one.name: one for one in (_HERMES, _LLAMA3, _MISTRAL, _MISTRAL_ARGS)}
