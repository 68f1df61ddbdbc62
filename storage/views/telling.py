"""What a page or a script's call says where a file operation failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from files.answers import Refused
from storage import words
from storage.reaching import address

View = Callable[..., Any]


def page(view: View) -> View:
    """A page that says in words what failed, and comes again by itself where a moment helps."""

    @wraps(view)
    def told(request: HttpRequest, code: str, **more: Any) -> Any:
        try:
            return view(request, code, **more)
        except words.FAILURES as error:
            return failed(request, code, error)

    return told


def failed(request: HttpRequest, code: str, error: Exception) -> HttpResponse:
    """The page of a failure."""
    status, word, said = words.of(error)
    context = {"said": said, "back": address("folder", code)}
    response = render(request, "storage/failed.html", context, status=status)
    if status == 503:
        response["Retry-After"] = "3"
    if word == "not-ready" and request.method == "GET":
        response["Refresh"] = "2"  # the browser comes again by itself
    return response


def script(view: View) -> View:
    """JSON for the page's own script: what was done (under its `status`, else 200), or the word, the sentence and the
    numbers of what failed."""

    @wraps(view)
    def told(request: HttpRequest, code: str, **more: Any) -> JsonResponse:
        try:
            done = view(request, code, **more)
            return JsonResponse(done, status=done.get("status", 200))
        except words.FAILURES as error:
            status, word, said = words.of(error)
            facts = error.facts if isinstance(error, Refused) else {}
            return JsonResponse({"word": word, "said": said, **facts}, status=status)

    return told
