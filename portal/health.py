"""/healthz, /readyz and /metrics: for load balancers, `make up` and Prometheus."""

from __future__ import annotations

import hmac
import ipaddress

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from portal import metrics as portal_metrics
from portal import readiness


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; it asks nothing of anybody."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Each dependency with the time it took; 503 where one does not answer as it should."""
    seen = readiness.look_at_all(readiness.CHECKS)
    ready = all(one.ok for one in seen.values())
    body = {"ready": ready, "checks": {name: one.told() for name, one in seen.items()}}
    return JsonResponse(body, status=200 if ready else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text, for who holds the token or comes from this host without passing the door."""
    if not (_token(request) or _from_here(request)):
        return HttpResponse(
            "a token is needed\n", status=401, headers={"WWW-Authenticate": "Bearer"}, content_type="text/plain"
        )
    return HttpResponse(portal_metrics.exposition(), content_type=portal_metrics.CONTENT_TYPE)


def _token(request: HttpRequest) -> bool:
    said = request.headers.get("Authorization", "")
    expected = f"Bearer {settings.METRICS_TOKEN}"
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(said.encode(), expected.encode())


def _from_here(request: HttpRequest) -> bool:
    """A loopback peer, or one on our own Unix socket (no address at all), that no proxy speaks for."""
    if "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META:
        return False
    peer = str(request.META.get("REMOTE_ADDR") or "")
    try:
        return not peer or ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False
