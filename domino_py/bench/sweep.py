"""Workloads for the question what drafts bring: those of the bench, free text, and forms that are more and more fixed.

The forms are one shipping label whose record has fewer open fields and more constant ones from workload to workload, so
that the share of bytes that the constraint determines grows from a third to nearly all.
"""

from __future__ import annotations

import json
from typing import Any

from domino_py.bench.workloads import WORKLOADS, Workload

__all__ = ["DRAFT_WORKLOADS"]

_OPEN: dict[str, dict[str, Any]] = {
    "recipient": {"type": "string"},
    "city": {"type": "string"},
    "content": {"type": "string"},
    "weight_kg": {"type": "number"},
}
_FIXED = {
    "carrier": "Northern Parcel Service",
    "sender": "Alder & Sons, Harbour Road 12, Leith",
    "terms": "Claims must be made in writing within fourteen days of delivery.",
    "return_policy": "Undeliverable parcels are returned to the sender at no charge.",
}
_ASKED = (
    ("Parcel for Ann Bell in York, a teapot, 2 kg.", ("Ann Bell", "York", "teapot", 2)),
    ("Please send Kofi Mensah, Accra, his new drum. It weighs 7.5 kg.", ("Kofi Mensah", "Accra", "drum", 7.5)),
    ("Books for Maria Lindqvist, Uppsala; 4 kg in all.", ("Maria Lindqvist", "Uppsala", "books", 4)),
)


def _form(n_open: int, n_fixed: int) -> Workload:
    """A label with the first so many open and constant fields; open ones come first."""
    names = [*list(_OPEN)[:n_open], *list(_FIXED)[:n_fixed]]
    schema = {
        "type": "object",
        "properties": {name: _OPEN.get(name) or {"const": _FIXED[name]} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    answer = {name: value for name, value in zip(_OPEN, _ASKED[0][1], strict=True) if name in names}
    answer |= {name: _FIXED[name] for name in names if name in _FIXED}
    return Workload(
        f"form{n_open}{n_fixed}",
        f"form with {n_open} open and {n_fixed} fixed fields",
        "Write the shipping label as JSON.",
        ((_ASKED[0][0], json.dumps(answer)),),
        tuple(asked for asked, _ in _ASKED[1:]),
        (
            "A box of tiles for Jonas Keller in Bern, 12 kg.",
            "For Priya Nair, Kochi: one lamp, 3 kg.",
        ),
        max_new_tokens=140,
        schema_text=json.dumps(schema),
    )


_FREE = Workload(
    "text",
    "free text",
    "Answer in two or three sentences.",
    (),
    ("Why is soup better on the second day?", "What is a lighthouse for?"),
    ("Why do cats sleep so much?", "What is a bridge made of?"),
    max_new_tokens=60,
    pattern="(?s).*",
)

DRAFT_WORKLOADS = (*WORKLOADS, _FREE, _form(4, 0), _form(4, 2), _form(2, 2), _form(1, 4))
