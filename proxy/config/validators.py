"""Quantities (`units`) as types that pydantic can read, and the error that says what is wrong with a value.

Code that only reads or shows a quantity, or checks a name, uses `units` and `names`: it does without pydantic, and
starts in half the time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, PlainValidator, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from proxy.config.units import DURATION, RATE, SIZE, parse_duration, parse_rate, parse_size


@dataclass(frozen=True)
class Within:
    """Bounds of a quantity, inclusive, written as in the file. Metadata of an `Annotated`."""

    least: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, source: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(source) | {"$comment": f"{self.least} to {self.most}"}

    def _check(self, quantity: float) -> float:
        if quantity < _quantity(self.least):
            raise mistaken("is too small", f'write at least "{self.least}"')
        if quantity > _quantity(self.most):
            raise mistaken("is too large", f'write at most "{self.most}"')
        return quantity


def _quantity(text: str) -> Fraction:
    unit = next(unit for unit in (SIZE, RATE, DURATION) if text.lstrip("0123456789.") in unit.factors)
    return unit.parse(text)


def mistaken(wrong: str, remedy: str) -> PydanticCustomError:
    """The error of a validator: what is wrong with the value, and the remedy; `reading` makes a Mistake of it."""
    return PydanticCustomError("mistaken", "{wrong}; {remedy}", {"wrong": wrong, "remedy": remedy})


def reader(parse: Callable[[str], Any], remedy: str) -> PlainValidator:
    """A validator that reads text with `parse`; numbers without a unit and the like are refused with the remedy."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            raise mistaken("is not text in quotes", remedy)
        try:
            return parse(value)
        except ValueError as error:
            raise mistaken(str(error), remedy) from None

    return PlainValidator(read)


def shape(kind: str, pattern: str, **more: Any) -> WithJsonSchema:
    """The JSON Schema of text that matches the pattern; `kind` is its title, for the documents."""
    return WithJsonSchema({"title": kind, "type": "string", "pattern": pattern, **more})


Size = Annotated[int, reader(parse_size, SIZE.remedy), shape("size", SIZE.pattern)]
"""Bytes."""
Rate = Annotated[int, reader(parse_rate, RATE.remedy), shape("rate", RATE.pattern)]
"""Bits a second."""
Duration = Annotated[float, reader(parse_duration, DURATION.remedy), shape("duration", DURATION.pattern)]
"""Seconds."""
