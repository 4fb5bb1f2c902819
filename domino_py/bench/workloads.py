"""The fixed workloads: what is asked of the model, and what the answer must look like.

They span what constraints do to drafts: an enum schema is nearly all determined, nested extraction is half keys and
half copied text, a reasoning record is mostly free strings, free JSON has no keys to guess, and a telephone number is a
regex without structure. Chats show an example or two, as one does with a small model, so that its own choice is near
the constraint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domino_py.constraints.base import Constraint

__all__ = ["WORKLOADS", "Workload", "workload_named"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One task. Exactly one of `schema_text` and `pattern` is set, or neither: then any JSON value is legal.

    Attributes:
        instruction: what to do, before every question. examples: questions and answers that come first. questions: one
            text each. practice: further questions, for methods that learn from earlier texts. max_new_tokens: more
            than good answers need. schema_text: a JSON Schema. pattern: a regex without classes whose meaning differs
            between engines.
    """

    name: str
    title: str
    instruction: str
    examples: tuple[tuple[str, str], ...]
    questions: tuple[str, ...]
    practice: tuple[str, ...]
    max_new_tokens: int
    schema_text: str | None = None
    pattern: str | None = None

    def messages(self, question: str) -> list[dict[str, str]]:
        """The chat that asks a question."""
        chat = []
        for asked, answer in self.examples:
            chat.append({"role": "user", "content": f"{self.instruction}\n\n{asked}"})
            chat.append({"role": "assistant", "content": answer})
        return [*chat, {"role": "user", "content": f"{self.instruction}\n\n{question}"}]

    @property
    def is_json(self) -> bool:
        return self.pattern is None

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


def workload_named(name: str, workloads: Sequence[Workload] | None = None) -> Workload:
    """One of these workloads, the bench's by default. Raises InvalidOption for a name that does not exist."""
    from tokenizer_align.errors import InvalidOption

    known = WORKLOADS if workloads is None else workloads
    for workload in known:
        if workload.name == name:
            return workload
    names = [workload.name for workload in known]
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

_MUG = '{"action": "approve", "score": "low"}'
_ANN = (
    '{"customer": {"name": "Ann Bell", "city": "York"}, "items": [{"product": "pen", "quantity": 3, "unit_price": '
    '1.5}], "total": 4.5, "express": true}'
)
_PENS = '{"steps": [{"thought": "4 + 2 = 6 pens."}, {"thought": "6 - 1 = 5 pens."}], "answer": 5}'
_LUNCH = '{"event": "lunch", "guests": ["Sam", "Ines"], "day": "Friday", "time": "12:30", "paid": true}'

WORKLOADS = (
    Workload(
        "enum",
        "enum schema",
        "Decide about the refund request: approve, reject or escalate it, with a risk score of low, mid or high.",
        (("The mug arrived broken. I attach a photo and the receipt.", _MUG),),
        (
            "The blender stopped working after two days. I have the receipt from last week.",
            "I bought this laptop two years ago, lost the receipt and want my money back now.",
        ),
        (
            "The shirt is too small, I bought it yesterday and never wore it.",
            "My phone fell into the lake and I want a new one for free.",
            "I was charged twice for the same order, see both receipts.",
            "The software key was used by my whole office, and now I want my money back.",
        ),
        max_new_tokens=40,
        schema_text=json.dumps(_DECISION),
    ),
    Workload(
        "extract",
        "nested extraction",
        "Extract the order as JSON.",
        (("Ann Bell from York here. 3 pens at 1.50 please, 4.50 in all, and by express.", _ANN),),
        (
            "Order confirmation. Kofi Mensah, Accra: 12 notebooks (3.20 each). Total 38.40, express delivery.",
            "Dear team, this is Maria Lindqvist from Uppsala. Please send me 2 desk lamps at 34.50 each. That makes "
            "69.00 in all. There is no hurry, normal post will do.",
        ),
        (
            "Jonas Keller from Bern. I order 5 lamps at 12.50 and 2 chairs at 40.00. 142.50 in all, express.",
            "Priya Nair, Kochi: 1 desk for 99.90. Total 99.90, normal delivery.",
            "Order of Luis Ortega, Madrid: 3 books (10.00 each) and 4 pens (0.50 each), total 32.00, express.",
            "For Emma Clarke in Leeds: 6 plates at 4.00 each. 24.00 in all, no hurry.",
        ),
        max_new_tokens=120,
        schema_text=json.dumps(_ORDER),
    ),
    Workload(
        "reasoning",
        "reasoning record",
        "Solve the problem step by step. Answer in JSON.",
        (("Ann has 4 pens and gets 2 more. Then she gives 1 away. How many has she?", _PENS),),
        (
            "Tom has 12 apples. He eats 5 of them and then buys 3 more. How many apples has he now?",
            "A train travels 60 miles an hour for 3 hours. How many miles does it go?",
        ),
        (
            "Lucy has 20 coins. She loses 7 and finds 4. How many coins has she?",
            "A box holds 6 eggs. How many eggs are in 9 boxes?",
            "Sam reads 15 pages a day for 4 days. How many pages does he read?",
            "There are 30 pupils. 12 go home. How many stay?",
        ),
        max_new_tokens=100,
        schema_text=json.dumps(_REASONING),
    ),
    Workload(
        "json",
        "free JSON",
        "Write the note as JSON.",
        (("Lunch with Sam and Ines on Friday at half past twelve, my treat.", _LUNCH),),
        (
            "Dinner with Tom, Lucy and Raj on Monday at seven, everybody pays for themselves.",
            "Lost cat, grey, answers to Mimi, last seen near the station on Sunday.",
        ),
        (
            "Meeting with Carla on Tuesday at nine in room 4, bring the report.",
            "Bought milk, bread and eggs for 12.40 on Saturday.",
            "Doctor's appointment for Tim on Wednesday at 15:30, Park Street 7.",
            "Flight to Rome with Eva on 4 May at 10:20, seats 12A and 12B.",
        ),
        max_new_tokens=80,
    ),
    Workload(
        "phone",
        "telephone-number regex",
        "Give only the telephone number of the text.",
        (("Call 404-555-0182 before noon.", "(404) 555-0182"),),
        (
            "You can reach our office at 212 555 0148 from nine to five, except on Sundays.",
            "Dr. Okafor's practice has moved. Her new line is 617.555.0193.",
        ),
        (
            "Ring me at 303 555 0190 after six.",
            "Our hotline: 800-555-0111, day and night.",
            "The plumber's number is 415.555.0107, ask for Joe.",
            "Fax 206 555 0166, please.",
        ),
        max_new_tokens=24,
        pattern=r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}",
    ),
)
