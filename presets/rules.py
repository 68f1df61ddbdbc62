"""What a preset says of each field of a request, and what that makes of what somebody gives. No database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


class Kind(StrEnum):
    """What a field holds."""

    NUMBER = "number"
    TEXT = "text"
    TABLE = "table"  # text whose first line names columns
    SWITCH = "switch"


FIXED, DEFAULT, HIDDEN = "fixed", "default", "hidden"
MODES: dict[str, str | Promise] = {FIXED: _("fixed"), DEFAULT: _("to be changed"), HIDDEN: _("fixed and not shown")}

# every field a preset may speak of, in the order in which a form shows them
FIELDS: dict[str, tuple[Kind, str | Promise]] = {
    "name": (Kind.TEXT, _("Name")),
    "partition": (Kind.TEXT, _("Partition")),
    "gpu_type": (Kind.TEXT, _("GPU type")),
    "gpus": (Kind.NUMBER, _("GPUs per node")),
    "nodes": (Kind.NUMBER, _("Nodes")),
    "cpus": (Kind.NUMBER, _("CPUs per node")),
    "memory_gb": (Kind.NUMBER, _("Memory per node (GB)")),
    "time_limit_minutes": (Kind.NUMBER, _("Time limit (minutes)")),
    "array": (Kind.TEXT, _("Tasks of the array")),
    "parameters": (Kind.TABLE, _("Table of parameters")),
    "tasks_per_node": (Kind.NUMBER, _("Tasks per node")),
    "gpus_per_task": (Kind.NUMBER, _("GPUs per task")),
    "signal": (Kind.TEXT, _("Signal before the end")),
    "requeue": (Kind.SWITCH, _("May run again")),
    "exclusive": (Kind.SWITCH, _("Nodes for itself")),
    "constraint": (Kind.TEXT, _("Features of the nodes")),
    "reservation": (Kind.TEXT, _("Reservation")),
    "software": (Kind.TEXT, _("Environment")),
    "datasets": (Kind.TEXT, _("Datasets")),
    "separate_errors": (Kind.SWITCH, _("Errors in a file of their own")),
    "script": (Kind.TEXT, _("Script")),
}
LONGEST_SCRIPT = 64 * 1024
_YES, _NO = ("on", "true", "yes", "1"), ("off", "false", "no", "0", "")
Rule = Mapping[str, Any]


class Shown(NamedTuple):
    """One field in words."""

    field: str
    label: str | Promise
    mode: str | Promise
    value: str
    allowed: str


class Rules(Mapping[str, Rule]):
    """The rules of a version, in the order of the form."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules

    def __getitem__(self, field: str) -> Rule:
        return self._rules[field]

    def __iter__(self) -> Iterator[str]:
        return (field for field in FIELDS if field in self._rules)

    def __len__(self) -> int:
        return sum(1 for _field in self)


def plain(field: str, value: Any) -> Any:
    """A value as it is compared: a number, a switch or text; what is no number stays text."""
    kind = FIELDS[field][0]
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    text = "" if value is None else str(value).replace("\r\n", "\n")
    text = text if field == "script" else text.strip()
    if kind is Kind.SWITCH and text.lower() in (*_YES, *_NO):
        return text.lower() in _YES
    if kind is Kind.NUMBER and text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text


def settle(rules: Mapping[str, Rule], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """(the fields of the request, field -> why what was given is refused). What the preset does not name passes."""
    raw, errors = dict(given), dict[str, list[str]]()
    for field in Rules(rules):
        rule = rules[field]
        value = plain(field, raw.get(field))
        is_said = field in raw and raw[field] is not None and value != ""
        if not is_said:
            raw[field] = rule.get("value")
        elif why := _refusal(field, rule, value):
            errors[field] = [why]
    return {name: value for name, value in raw.items() if value is not None}, errors


def _refusal(field: str, rule: Rule, value: Any) -> str:
    """Empty where the value may be given."""
    if rule["mode"] != DEFAULT:
        if value == plain(field, rule.get("value")):
            return ""
        if field == "script":
            return gettext("The preset brings its own script.")
        return gettext("The preset sets this to %(value)s.") % {"value": in_words(rule.get("value"))}
    if (words := allowed(rule)) and not _within(field, rule, value):
        return gettext("The preset allows %(values)s.") % {"values": words}
    return ""


def _within(field: str, rule: Rule, value: Any) -> bool:
    choices = [plain(field, choice) for choice in rule.get("choices", ())]
    if choices:
        return value in choices
    if not isinstance(value, int):
        return False
    return rule.get("min", value) <= value <= rule.get("max", value)


def allowed(rule: Rule) -> str:
    """Range or choices in words; empty where anything may be given."""
    if rule.get("choices"):
        return ", ".join(map(str, rule["choices"]))
    least, most = rule.get("min"), rule.get("max")
    if least is not None and most is not None:
        return gettext("%(least)d to %(most)d") % {"least": least, "most": most}
    if least is not None:
        return gettext("%(least)d or more") % {"least": least}
    return gettext("at most %(most)d") % {"most": most} if most is not None else ""


def in_words(value: Any) -> str:
    """A value as a page says it."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return "–" if value in (None, "") else str(value)


def shown(rules: Mapping[str, Rule]) -> list[Shown]:
    """Each field but the script."""
    return [
        Shown(field, FIELDS[field][1], MODES[rules[field]["mode"]], in_words(rules[field].get("value")),
              allowed(rules[field]))
        for field in Rules(rules) if field != "script"
    ]  # fmt: skip


def faults(rules: Mapping[str, Any]) -> dict[str, list[str]]:
    """Field -> what is wrong with what is said of it; an empty answer is a set of rules that can be kept."""
    found: dict[str, list[str]] = {}
    for field, rule in rules.items():
        if why := gettext("There is no such field.") if field not in FIELDS else _fault(field, rule):
            found[field] = [why]
    return found


def _fault(field: str, rule: Any) -> str:
    if not isinstance(rule, Mapping) or rule.get("mode") not in MODES:
        return gettext("Say whether it is fixed, hidden or to be changed.")
    if set(rule) - {"mode", "value", "min", "max", "choices"}:
        return gettext("A field has a value, a range or choices, and nothing else.")
    kind, value = FIELDS[field][0], rule.get("value")
    is_given = value not in (None, "")
    if is_given and not _fits(kind, value):
        return gettext("Enter a whole number.") if kind is Kind.NUMBER else gettext("This is not text.")
    if rule["mode"] != DEFAULT:
        return "" if is_given else gettext("What is fixed needs a value.")
    if field == "script" and len(str(value or "")) > LONGEST_SCRIPT:
        return gettext("The script of a preset has at most 64 KiB.")
    return _range_fault(kind, rule) or ("" if not is_given else _refusal(field, rule, plain(field, value)))


def _fits(kind: Kind, value: Any) -> bool:
    if kind is Kind.NUMBER:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return isinstance(value, bool if kind is Kind.SWITCH else str)


def _range_fault(kind: Kind, rule: Rule) -> str:
    least, most, choices = rule.get("min"), rule.get("max"), rule.get("choices")
    ends = [end for end in (least, most) if end is not None]
    if ends and (kind is not Kind.NUMBER or not all(_fits(Kind.NUMBER, end) for end in ends)):
        return gettext("Only numbers have a range.")
    if least is not None and most is not None and least > most:
        return gettext("The range ends before it begins.")
    if choices and (ends or kind is Kind.SWITCH or not isinstance(choices, list) or len(choices) > 50
                    or not all(_fits(kind, one) for one in choices)):  # fmt: skip
        return gettext("Give a range or choices, not both, and of choices at most 50.")
    return ""
