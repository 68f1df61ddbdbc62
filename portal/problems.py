"""How the API says that something went wrong: RFC 9457 problem details, one shape for every error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit import context
from storage.services.changing import PIECE

MEDIA_TYPE = "application/problem+json"
PREFIX = "/api/"
_PIECE = re.compile(r"/api/v1/projects/[^/]+/files/uploads/[0-9a-f]{32}")
_TITLES: dict[int, tuple[str, Any]] = {
    400: ("bad-request", gettext_lazy("The request cannot be read")),
    401: ("not-signed-in", gettext_lazy("A token is needed")),
    403: ("refused", gettext_lazy("Not allowed")),
    404: ("not-found", gettext_lazy("Not found")),
    405: ("method", gettext_lazy("This address does not do that")),
    409: ("conflict", gettext_lazy("Not possible in the present state")),
    413: ("too-large", gettext_lazy("The request is too large")),
    415: ("media-type", gettext_lazy("The body must be JSON")),
    422: ("invalid", gettext_lazy("The request cannot be carried out as it stands")),
    429: ("too-fast", gettext_lazy("Too many requests")),
    503: ("unavailable", gettext_lazy("Not available at the moment")),
}
Next = Callable[[HttpRequest], HttpResponseBase]


def problem(
    status: int,
    detail: str = "",
    *,
    kind: str = "",
    errors: Mapping[str, list[str]] | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> HttpResponse:
    """The answer. `errors`: field -> messages. Two refusals of one kind differ in nothing but the request's id."""
    name, title = _TITLES.get(status, ("error", gettext_lazy("Something went wrong")))
    body: dict[str, Any] = {
        "type": f"urn:bancada:problem:{kind or name}",
        "title": str(title),
        "status": status,
        "detail": detail or str(title),
        "request_id": context.current().correlation,
        **more,
    }
    if errors is not None:
        body["errors"] = dict(errors)
    return HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE, headers=dict(headers or {}))


def for_api(get_response: Next) -> Next:
    """Under /api/ every error is a problem, also the ones that Django itself answers; too large a body is not read."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(PREFIX):
            return get_response(request)
        most = _most(request)
        if _length(request) > most:
            return problem(413, _("At most %(n)d MB.") % {"n": most // 2**20})
        response = get_response(request)
        if response.status_code < HTTPStatus.BAD_REQUEST or response.headers.get("Content-Type") == MEDIA_TYPE:
            return response
        allow = response.headers.get("Allow")
        return problem(response.status_code, headers={"Allow": allow} if allow else None)

    return middleware


def _most(request: HttpRequest) -> int:
    """Bytes of a body: what may be held, and more only for a piece of an upload, which passes through."""
    streamed = request.method == "PUT" and _PIECE.fullmatch(request.path)
    return PIECE if streamed else settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def _length(request: HttpRequest) -> int:
    text = str(request.META.get("CONTENT_LENGTH") or "0")
    return int(text) if text.isascii() and text.isdigit() else 0
