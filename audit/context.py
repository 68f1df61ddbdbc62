"""Who is calling, from where and under which correlation id: set by each door, read by the trail."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from contextvars import ContextVar

from access.ids import uuid7


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """Where a call came from."""

    channel: str = "system"  # web, api, socket, task, command, system
    correlation: str = ""
    address: str | None = None
    token_prefix: str = ""


_origin: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039 - frozen


def current() -> Origin:
    """The origin of the call being served."""
    return _origin.get()


@contextlib.contextmanager
def coming_from(
    channel: str, *, address: str | None = None, correlation: str = "", token_prefix: str = ""
) -> Iterator[Origin]:
    """Everything recorded inside carries this origin; a correlation id is made where none is given."""
    origin = Origin(channel, correlation or str(uuid7()), address, token_prefix)
    reset = _origin.set(origin)
    try:
        yield origin
    finally:
        _origin.reset(reset)


def with_token(prefix: str) -> None:
    """For the rest of the call: it came with this token. The surrounding `coming_from` ends it."""
    _origin.set(dataclasses.replace(_origin.get(), token_prefix=prefix))
