"""What is wrong with a field that has the wrong form, in the asker's language and without the validator's jargon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _


def messages(errors: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Pydantic's errors as field -> messages. The field is the first name of the place, without "body", "query", ..."""
    said: dict[str, list[str]] = {}
    for error in errors:
        said.setdefault(_field(error["loc"]), []).append(_message(error))
    return said


def _field(place: tuple[Any, ...]) -> str:
    names = [str(name) for name in place if name not in ("body", "query", "path", "header")]
    return (names[0] if names else "body").encode("utf-8", "replace").decode()[:100]


def _message(error: Mapping[str, Any]) -> str:
    kind, limits = str(error["type"]), error.get("ctx") or {}
    match kind:
        case "missing":
            return _("This field is required.")
        case "extra_forbidden":
            return _("There is no such field.")
        case "greater_than_equal":
            return _("At least %(n)d.") % {"n": limits["ge"]}
        case "less_than_equal":
            return _("At most %(n)d.") % {"n": limits["le"]}
        case "string_too_long":
            return _("At most %(n)d characters.") % {"n": limits["max_length"]}
        case "literal_error" | "enum":
            return _("One of: %(names)s.") % {"names": str(limits["expected"]).replace("'", "").replace(" or ", ", ")}
    return _form(kind)


def _form(kind: str) -> str:
    if kind.startswith(("int", "whole", "finite")):
        return _("Enter a whole number.")
    if kind.startswith("bool"):
        return _("Enter true or false.")
    if kind.startswith(("date", "timezone")):
        return _("Enter a time like 2026-01-31T13:00:00Z.")
    if kind.startswith("string") and kind not in ("string_pattern_mismatch", "string_too_short"):
        return _("Enter text.")
    return _("This value is not possible here.")
