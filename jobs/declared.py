"""Which datasets a request declares: in a field of its own, and in `#BANCADA dataset=` lines of its script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from datasets.services.using import WISH

MOST = 16
_ONE = re.compile(WISH)
_LINE = re.compile(r"^#BANCADA\b(.*)$", re.MULTILINE)


def check(raw: Mapping[str, Any], errors: dict[str, list[str]]) -> tuple[str, ...]:
    """All of them, each once; what is wrong goes to `datasets`, or to `script` where it stands there."""
    found, wrong = list[str](), list[str]()
    for one in _field(raw.get("datasets")):
        (found if isinstance(one, str) and _ONE.fullmatch(one) else wrong).append(str(one)[:80])
    if wrong:
        said = _("Give codes of datasets, with @version where it matters. Not understood: %(names)s.")
        errors["datasets"] = [said % {"names": ", ".join(wrong[:5])}]
    return _once([*found, *_lines(raw.get("script"), errors)], errors)


def _field(given: Any) -> Iterable[Any]:
    if isinstance(given, str):
        return given.replace(",", " ").split()
    return given if isinstance(given, list | tuple) else ()


def _lines(script: Any, errors: dict[str, list[str]]) -> list[str]:
    """A line that is misspelt must not declare nothing in silence."""
    found = []
    for line in _LINE.findall(script) if isinstance(script, str) else ():
        key, _sign, value = line.strip().partition("=")
        if key.strip() != "dataset" or not _ONE.fullmatch(value.strip()):
            said = _("Not understood: #BANCADA%(line)s. A line is like #BANCADA dataset=code or dataset=code@version.")
            errors.setdefault("script", []).append(said % {"line": line[:80]})
        else:
            found.append(value.strip())
    return found


def _once(wishes: Iterable[str], errors: dict[str, list[str]]) -> tuple[str, ...]:
    """A version that is named counts more than none; two of one dataset would share one variable."""
    by_code: dict[str, str] = {}
    for wish in wishes:
        code, _sign, label = wish.partition("@")
        if label and by_code.get(code, label) not in ("", label):
            errors.setdefault("datasets", []).append(
                _("A job uses one version of a dataset: %(code)s is named with two.") % {"code": code}
            )
        by_code[code] = label or by_code.get(code, "")
    if len(by_code) > MOST:
        errors.setdefault("datasets", []).append(_("A job declares at most %(n)d datasets.") % {"n": MOST})
    return tuple(f"{code}@{label}" if label else code for code, label in by_code.items())
