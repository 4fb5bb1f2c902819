"""`GenerationResult`: one generated text with its tokens, its value and its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from domino_py.constraints.base import Constraint
from domino_py.report import Report

__all__ = ["GenerationResult"]


@dataclass(frozen=True, slots=True, repr=False)
class GenerationResult:
    """One generated text with its tokens and its report.

    `finish_reason` is "stop" (an end-of-sequence token), "complete" (nothing but the end could follow) or "length".
    `token_ids` hold neither the prompt nor the end-of-sequence token; with heal_prompt they begin with the prompt's
    last bytes, which `text` does not.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: str
    report: Report
    prompt_n_tokens: int
    constraint: Constraint | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 200 else self.text[:197] + "..."
        return f"GenerationResult({shown!r}, n_tokens={len(self.token_ids)}, finish_reason={self.finish_reason!r})"

    @property
    def value(self) -> Any:
        """The text as what the constraint describes (an object of the type, parsed JSON, …); the text if it is free.

        Raises ValueError where a type's own validators, which no mask can know, refuse the text.
        """
        return self.text if self.constraint is None else self.constraint.parse(self.text)

    @property
    def reasoning(self) -> str | None:
        """What stands between the tags of `think`; None under other constraints."""
        if self.constraint is None or self.constraint.kind != "think":
            return None
        from domino_py.constraints.think import reasoning

        return reasoning(self.constraint, self.text)
