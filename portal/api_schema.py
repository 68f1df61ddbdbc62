"""The API's description of itself: what django-ninja derives, plus the problems every route may answer with."""

from __future__ import annotations

from typing import Any

from ninja.openapi.schema import OpenAPISchema

from portal.problems import MEDIA_TYPE

ABOUT = "Ask for GPU jobs, follow them, read their output. See docs/api.md. Times are UTC, sizes per node."
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457 problem details.",
    "required": ["type", "title", "status", "detail", "request_id"],
    "properties": {
        "type": {"type": "string", "pattern": "^urn:bancada:problem:"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "object",
            "description": "Field -> messages in the asker's language.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "permission": {"type": "string"},
        "scope": {"type": "string"},
        "limit": {"type": "string"},
        "over": {
            "type": "object",
            "description": "Figures: value, asked, used, committed, people, frees_at, period_ends, raised_by.",
        },
    },
}
_ALWAYS = {401: "No valid token or session", 403: "Not allowed", 422: "A field is wrong"}
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_WHERE_ONE = {404: "Absent, or not yours to see"}
_CHANGING = {400: "Not JSON", 404: "Absent, or not yours to see", 409: "Not possible now", 413: "Too large",
             415: "Not JSON", 429: "Too many requests"}  # fmt: skip


def with_problems(schema: OpenAPISchema) -> OpenAPISchema:
    """Add the error answers to every operation."""
    schema["components"]["schemas"]["Problem"] = _PROBLEM
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            for status, meaning in _errors(path, method, operation).items():
                operation["responses"].setdefault(status, _answer(status, meaning))
    return schema


def _errors(path: str, method: str, operation: dict[str, Any]) -> dict[int, str]:
    named = any(parameter["name"] == "project" for parameter in operation["parameters"])
    errors = dict(_ALWAYS)
    if "{" in path or named:
        errors |= _WHERE_ONE
    if method in ("post", "put", "patch", "delete"):
        errors |= _CHANGING
    return errors | {503: "Not available at the moment"}


def _answer(status: int, meaning: str) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": meaning,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    return answer | ({"headers": _RETRY} if status in (429, 503) else {})
