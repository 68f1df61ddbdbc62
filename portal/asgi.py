"""Sockets, served by uvicorn: origin and session first, then the job's own consumer. Pages go through portal.wsgi."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
pages = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from jobs.routing import websocket_urlpatterns  # noqa: E402
from portal.sockets import OurOrigin, signed_in  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OurOrigin(signed_in(URLRouter(websocket_urlpatterns)), settings.CSRF_TRUSTED_ORIGINS),
    }
)
