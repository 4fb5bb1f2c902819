"""Pydantic's schema generator with other spellings for what models write: decimals, dates, times and durations."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

_BOUNDS = (("ge", "minimum"), ("gt", "exclusiveMinimum"), ("le", "maximum"), ("lt", "exclusiveMaximum"))


class SchemaForGeneration(GenerateJsonSchema):
    """JSON Schema of the texts that we want written; all of them are valid input for the type."""

    ignored_warning_kinds = frozenset({"skipped-choice", "non-serializable-default"})  # type: ignore[assignment]

    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        result: JsonSchemaValue = {"type": "number"}
        for attribute, keyword in _BOUNDS:
            if schema.get(attribute) is not None:
                result[keyword] = _number(schema[attribute])
        places = schema.get("decimal_places")
        step = schema.get("multiple_of")
        if step is not None:
            result["multipleOf"] = _number(step)
        elif places is not None:
            result["multipleOf"] = _number(Decimal(1).scaleb(-places))
        digits = schema.get("max_digits")
        if digits is not None and places is not None and digits > places:
            largest = Decimal(10) ** (digits - places)
            result.setdefault("exclusiveMaximum", _number(largest))
            result.setdefault("exclusiveMinimum", _number(-largest))
        return result

    def complex_schema(self, schema: Any) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a complex number")

    def is_subclass_schema(self, schema: Any) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def datetime_schema(self, schema: Any) -> JsonSchemaValue:
        return {"type": "string", "format": _zoned(schema, "python-date-time")}

    def time_schema(self, schema: Any) -> JsonSchemaValue:
        return {"type": "string", "format": _zoned(schema, "python-time")}

    def timedelta_schema(self, schema: Any) -> JsonSchemaValue:
        return {"type": "string", "format": "python-timedelta"}

    def url_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().url_schema(schema)
        schemes = schema.get("allowed_schemes")
        return {**result, "pattern": f"^(?:{'|'.join(schemes)})://"} if schemes else result

    def uuid_schema(self, schema: Any) -> JsonSchemaValue:
        version = schema.get("version")
        pattern = {"pattern": f"^.{{14}}{version}.{{4}}[89abAB]"} if version else {}
        return {"type": "string", "format": "uuid", **pattern}


def _zoned(schema: Any, name: str) -> str:
    zone = schema.get("tz_constraint")
    return f"python-{zone}-{name.removeprefix('python-')}" if zone in ("aware", "naive") else name


def _number(value: Decimal | int | float) -> int | float | Decimal:
    exact = Decimal(str(value))
    return int(exact) if exact == exact.to_integral_value() else exact
