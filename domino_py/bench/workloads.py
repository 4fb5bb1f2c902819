"""The fixed workloads: what is asked of the model, and what the answer must look like.

They span what constraints do to drafts: an enum schema is nearly all determined, nested extraction is half keys and
half copied text, a reasoning record is mostly free strings, free JSON has no keys to guess, and a telephone number is a
regex without structure. Prompts name the keys, as one does in practice, so that the model's own choice is near the
schema.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domino_py.constraints.base import Constraint

__all__ = ["WORKLOADS", "Workload", "workload_named"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One task. Exactly one of `schema_text` and `pattern` is set, or neither: then any JSON value is legal.

    Attributes:
        prompts: user messages for the chat template. schema_text: a JSON Schema. pattern: a regex without classes whose
            meaning differs between engines. max_new_tokens: more than good answers need.
    """

    name: str
    title: str
    prompts: tuple[str, ...]
    max_new_tokens: int
    schema_text: str | None = None
    pattern: str | None = None

    @property
    def is_json(self) -> bool:
        return self.pattern is None

    @property
    def schema(self) -> dict[str, Any] | None:
        return None if self.schema_text is None else dict(json.loads(self.schema_text))

    def constraint(self) -> Constraint:
        """The workload's constraint in this library, with default options."""
        import domino_py as domino

        if self.pattern is not None:
            return domino.regex(self.pattern)
        return domino.json() if self.schema_text is None else domino.json_schema(self.schema_text)

    def is_valid(self, text: str) -> bool:
        """Whether an answer is right by a judge that shares no code with the masks: jsonschema, or `re`."""
        if self.pattern is not None:
            import re

            return re.fullmatch(self.pattern, text) is not None
        try:
            value = json.loads(text, parse_constant=_refuse)
        except ValueError:
            return False
        if self.schema_text is None:
            return True
        import jsonschema

        return bool(jsonschema.Draft202012Validator(json.loads(self.schema_text)).is_valid(value))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def workload_named(name: str) -> Workload:
    """Raises InvalidOption for a name that does not exist."""
    from tokenizer_align.errors import InvalidOption

    for workload in WORKLOADS:
        if workload.name == name:
            return workload
    names = [workload.name for workload in WORKLOADS]
    raise InvalidOption(name, f"there is no workload {name!r}; there are {', '.join(names)}.", names)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_DECISION = _closed(
    {
        "action": {"enum": ["approve", "reject", "escalate"]},
        "score": {"enum": ["low", "mid", "high"]},
    }
)
_ORDER = _closed(
    {
        "customer": {"$ref": "#/$defs/Customer"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "minItems": 1, "maxItems": 4},
        "total": {"type": "number"},
        "express": {"type": "boolean"},
    }
) | {
    "$defs": {
        "Customer": _closed({"name": {"type": "string"}, "city": {"type": "string"}}),
        "Item": _closed(
            {"product": {"type": "string"}, "quantity": {"type": "integer"}, "unit_price": {"type": "number"}}
        ),
    }
}
_REASONING = _closed(
    {
        "steps": {
            "type": "array",
            "items": _closed({"thought": {"type": "string", "maxLength": 120}}),
            "minItems": 1,
            "maxItems": 4,
        },
        "answer": {"type": "number"},
    }
)

_TICKET = (
    'Decide about a refund request. Reply with a JSON object like {{"action": "approve", "score": "low"}} where action '
    "is approve, reject or escalate and score, the risk, is low, mid or high.\n\nRequest: {}"
)
_EXTRACT = (
    'Extract the order from the text as a JSON object with the keys "customer" (with "name" and "city"), "items" (a '
    'list, each with "product", "quantity" and "unit_price"), "total" and "express".\n\nText: {}'
)
_SOLVE = (
    'Solve the problem. Reply with a JSON object with "steps", a list of objects like {{"thought": "..."}}, and '
    '"answer", a number.\n\nProblem: {}'
)
_PHONE = "What is the telephone number in this text? Reply with the number like (555) 010-9999 only.\n\nText: {}"

WORKLOADS = (
    Workload(
        "enum",
        "enum schema",
        (
            _TICKET.format("The mug arrived broken. I attach a photo and the receipt from last week."),
            _TICKET.format("I bought this laptop two years ago, lost the receipt and want my money back now."),
            _TICKET.format("Someone else used my card for this order of 4,000 dollars. Please help."),
        ),
        max_new_tokens=48,
        schema_text=json.dumps(_DECISION),
    ),
    Workload(
        "extract",
        "nested extraction",
        (
            _EXTRACT.format(
                "Dear team, this is Maria Lindqvist from Uppsala. Please send me 2 desk lamps at 34.50 each and 1 "
                "office chair at 129.00. That makes 198.00 in all. There is no hurry, normal post will do."
            ),
            _EXTRACT.format(
                "Order confirmation. Kofi Mensah, Accra: 12 notebooks (3.20 each), express delivery. Total 38.40."
            ),
        ),
        max_new_tokens=220,
        schema_text=json.dumps(_ORDER),
    ),
    Workload(
        "reasoning",
        "reasoning record",
        (
            _SOLVE.format("Tom has 12 apples. He gives 5 to Ann and buys 3 more. How many apples has he now?"),
            _SOLVE.format("A train travels 60 miles an hour for 3 hours. How far does it go?"),
        ),
        max_new_tokens=200,
        schema_text=json.dumps(_REASONING),
    ),
    Workload(
        "json",
        "free JSON",
        (
            "Describe the planet Mars as a small JSON object with a name, a color, its moons and its diameter in km.",
            "Write a small JSON object for a recipe: its title, three ingredients and the minutes it takes.",
        ),
        max_new_tokens=120,
    ),
    Workload(
        "phone",
        "telephone-number regex",
        (
            _PHONE.format("You can reach our office at 212 555 0148 from nine to five, except on Sundays."),
            _PHONE.format("Dr. Okafor's practice has moved. Her new line is 617.555.0193, fax 617.555.0194."),
            _PHONE.format("lost cat!!! grey, answers to Mimi. call 303-555-0127 any time, reward"),
        ),
        max_new_tokens=24,
        pattern=r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}",
    ),
)
