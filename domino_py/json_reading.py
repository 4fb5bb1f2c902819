"""JSON texts to values. Whole numbers may have any number of digits; Python's own reader stops at 4,300."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import Any

__all__ = ["exact_json", "plain_json"]


def plain_json(text: str | bytes) -> Any:
    """The value as `json.loads` gives it. Raises json.JSONDecodeError."""
    return json.loads(text, parse_int=_whole)


def exact_json(text: str | bytes) -> Any:
    """The value with decimals as they are written: 0.10 and 1e999 stay what they are. Raises json.JSONDecodeError."""
    return json.loads(text, parse_float=Decimal, parse_int=_whole)


def _whole(digits: str) -> int:
    longest = sys.get_int_max_str_digits()
    return int(digits) if not longest or len(digits) <= longest else int(Decimal(digits))
