"""Values as the API takes them from JSON: text that can be kept, a day, a time with a zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator
from pydantic_core import PydanticCustomError


def can_be_kept(value: Any) -> bool:
    """Whether PostgreSQL has a text like this: without NUL, without half of a surrogate pair."""
    return not isinstance(value, str) or not re.search("[\x00\ud800-\udfff]", value)


def kept(value: str) -> str:
    """What can be kept, or an error beside its field."""
    if not can_be_kept(value):
        raise PydanticCustomError("string_text", "not text")
    return value


def day(value: Any) -> Any:
    """A day as JSON writes it, and nothing that only could be read as one."""
    if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise PydanticCustomError("date_parsing", "not a day")
    if not isinstance(value, str | None):
        raise PydanticCustomError("date_type", "not a day")
    return value


def in_utc(value: datetime) -> datetime:
    """PostgreSQL knows no zone 20 hours away, which ISO 8601 allows."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("datetime_range", "not a time of the years 1 to 9999") from None


Text = Annotated[str, AfterValidator(kept)]
Day = Annotated[date, BeforeValidator(day)]
Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
