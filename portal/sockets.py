"""Who is behind a socket: the session's person and the call's origin; and what becomes of a denial there."""

from __future__ import annotations

from typing import Any

from channels.db import database_sync_to_async
from channels.security.websocket import OriginValidator
from channels.sessions import CookieMiddleware
from django.conf import settings

from access.errors import Denied
from accounts.middleware import person_of
from audit import context
from portal import denied
from portal.middleware import source_address

NOT_YOURS = 4404  # the same for what is not there


class Sockets:
    """Sets `session_key` and `address` on the scope, and answers what the gate denied. Whose session it is each
    consumer asks for itself, at connect and again."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        key = scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        scope = dict(scope, session_key=key, address=_address(scope))
        with context.coming_from("socket", address=scope["address"]):
            try:
                await self.inner(scope, receive, send)
            except Denied as error:
                user = await database_sync_to_async(person_of)(key)
                if user is not None:  # nobody's are turned away as pages do: without an event each
                    await database_sync_to_async(denied.record)(error, by=user)
                await _turn_away(send)


async def nowhere(_scope: dict[str, Any], _receive: Any, send: Any) -> None:
    """An address of no socket of ours answers as one that is not yours."""
    await _turn_away(send)


async def _turn_away(send: Any) -> None:
    """Accept, then close: a refused handshake would hide the reason from the page, which would try for ever."""
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": NOT_YOURS})


def _address(scope: dict[str, Any]) -> str | None:
    headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
    peer = (scope.get("client") or ["", 0])[0] or ""
    return source_address({"HTTP_X_FORWARDED_FOR": headers.get("x-forwarded-for", ""), "REMOTE_ADDR": peer})


class OurOrigin(OriginValidator):
    """Only our own pages; an origin that cannot even be read is somebody else's."""

    def valid_origin(self, parsed_origin: Any) -> bool:
        """As the library, but for a port that is no number."""
        try:
            return bool(super().valid_origin(parsed_origin))
        except ValueError:
            return False


def signed_in(inner: Any) -> Any:
    """The stack of a socket: cookies, then the person."""
    return CookieMiddleware(Sockets(inner))
