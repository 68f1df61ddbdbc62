"""What wraps every request: its origin, its headers, its language, and what becomes of a denial."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_cache_control

from access.errors import Denied
from accounts.address import source_address
from audit import context
from portal import denied

Next = Callable[[HttpRequest], HttpResponse]


def origin(get_response: Next) -> Next:
    """Everything recorded during the request carries its address and one correlation id."""

    def middleware(request: HttpRequest) -> HttpResponse:
        channel = "api" if request.path.startswith("/api/") else "web"
        with context.coming_from(channel, address=source_address(request.META)) as here:
            response = get_response(request)
            response["X-Request-ID"] = here.correlation
            return response

    return middleware


def headers(get_response: Next) -> Next:
    """Private pages are kept by nobody."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, no_store=True, private=True)
        response.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    return middleware


def person_language(get_response: Next) -> Next:
    """A person's own choice of language wins over the browser's."""

    def middleware(request: HttpRequest) -> HttpResponse:
        chosen = getattr(request.user, "language", "") if hasattr(request, "user") else ""
        if chosen:
            translation.activate(chosen)
            request.LANGUAGE_CODE = chosen
        return get_response(request)

    return middleware


class denials:
    """The one handler for pages: what the gate denied becomes 404 or 403 and an event in the trail."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer a denial; leave everything else alone."""
        return denied.page(request, error) if isinstance(error, Denied) else None
