"""A time as the API takes it: with a zone, and kept in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime
from pydantic_core import PydanticCustomError


def in_utc(value: datetime) -> datetime:
    """PostgreSQL knows no zone 20 hours away, which ISO 8601 allows."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("datetime_range", "not a time of the years 1 to 9999") from None


Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
