"""The prompt that asks for an extraction: short, with the shape of the answer, the text, and nothing else.

It works with a 135M instruct model. Chat models get it as a user's message through their template; base models as a
text that ends where the answer begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domino_py.constraints.base import Constraint
from domino_py.describe import describe
from domino_py.prompts import encode_chat, encode_text, has_chat_template
from tokenizer_align.errors import InvalidOption
from tokenizer_align.layout import Layout, observe


class ExtractionPrompt:
    """Makes the token ids of the prompt for each text. `question` is the same for all of them."""

    def __init__(self, tokenizer: Any, type: Any, constraint: Constraint, instructions: str | None = None) -> None:
        if instructions is not None and not isinstance(instructions, str):
            raise InvalidOption("instructions", f"instructions must be text, not {instructions.__class__.__name__}.")
        self.tokenizer = tokenizer
        description = describe(type, constraint)
        lines = [instructions.strip()] if instructions and instructions.strip() else []
        self._wanted = "JSON" if constraint.kind in ("json", "json_schema", "type") else "Answer"
        how = "as JSON of this form" if self._wanted == "JSON" else "in this form"
        lines.append(f"Extract the information from the text {how}:")
        lines.append(description.skeleton)
        if description.notes:
            lines.append("where:")
            lines.extend(f"- {path}: {note}" for path, note in description.notes)
        self.question = "\n".join(lines)
        self.layout: Layout = observe(b'{"a": 1, "b": 2}')

    def ids(self, content: Any, name: str) -> list[int]:
        """Token ids for one text or chat. Raises InvalidOption, also for an empty text, which any answer would fit."""
        if isinstance(content, str):
            if not content.strip():
                raise InvalidOption(name, f"{name} is empty: there is nothing to extract from.")
            asked = f"{self.question}\n\nText:\n{content.strip()}"
            if has_chat_template(self.tokenizer):
                return encode_chat(self.tokenizer, [{"role": "user", "content": asked}], name)
            return encode_text(self.tokenizer, f"{asked}\n\n{self._wanted}:\n", name)
        if isinstance(content, list | tuple) and content and all(isinstance(item, Mapping) for item in content):
            return encode_chat(self.tokenizer, [*map(dict, content), {"role": "user", "content": self.question}], name)
        raise InvalidOption(name, f"{name} must be a text or a list of chat messages, not {type(content).__name__}.")
