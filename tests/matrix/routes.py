"""Every door the portal has: pages from the resolver, operations from django-ninja, socket routes, Celery's tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from django.urls import URLPattern, URLResolver, get_resolver

from jobs.routing import websocket_urlpatterns
from portal.api import api
from portal.celery import app

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
OPERATIONS = "api-v1"  # the namespace of django-ninja, whose operations are asked of itself


@cache
def pages() -> dict[str, list[frozenset[str]]]:
    """Route name -> the names in each of its addresses. One without a name stands under its pattern."""
    found: dict[str, list[frozenset[str]]] = {}
    for name, names in _pages(get_resolver(), "", frozenset()):
        found.setdefault(name, []).append(names)
    return found


def _pages(resolver: URLResolver, space: str, outer: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for one in resolver.url_patterns:
        names = outer | frozenset(one.pattern.converters)
        if isinstance(one, URLResolver):
            yield from _pages(one, f"{one.namespace}:" if one.namespace else space, names)
        elif isinstance(one, URLPattern) and not (space == f"{OPERATIONS}:" and hasattr(one.callback, "csrf_exempt")):
            yield space + (one.name or str(one.pattern)), names


@cache
def operations() -> dict[str, set[str]]:
    """Path below /api/v1 -> methods."""
    found: dict[str, set[str]] = {}
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            whole = re.sub(r"{\w+:(\w+)}", r"{\1}", f"{prefix}{path}".replace("//", "/"))
            found.setdefault(whole.rstrip("/") or "/", set()).update(
                method for one in view.operations for method in one.methods
            )
    return found


def sockets() -> set[str]:
    """Socket routes."""
    return {str(one.pattern) for one in websocket_urlpatterns}


def tasks() -> dict[str, object]:
    """Our own Celery tasks by name."""
    app.loader.import_default_modules()
    return {name: task for name, task in app.tasks.items() if not name.startswith("celery.")}
