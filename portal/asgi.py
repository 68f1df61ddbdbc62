"""Sockets, served by uvicorn: origin and session first, then the job's own consumer. Pages go through portal.wsgi.

No page is loaded here: that is a third of the memory, and of the seconds until viewers are back after a restart.
"""

import gc
import os
from typing import Any, cast

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import re_path  # noqa: E402

from jobs.routing import websocket_urlpatterns  # noqa: E402
from portal.sockets import OurOrigin, nowhere, signed_in  # noqa: E402


async def no_pages(scope: dict[str, Any], _receive: Any, send: Any) -> None:
    """Say that the process is there, to who looks after it; all else is not here."""
    status, body = (200, b"ok\n") if scope["path"] == "/healthz" else (404, b"")
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_sockets = URLRouter([*websocket_urlpatterns, re_path("", cast(Any, nowhere))])
application = ProtocolTypeRouter(
    {"http": no_pages, "websocket": OurOrigin(signed_in(_sockets), settings.CSRF_TRUSTED_ORIGINS)}
)
gc.freeze()  # what is loaded stays: the collector need not look at it again
