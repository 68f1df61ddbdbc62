"""Each option of a request checked by itself and against the amounts it goes with; a message for each field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from jobs import code, table_checks, wrapping
from jobs.options import KINDS, After, Options
from slurm.text import ARRAY, throttle
from slurm.text import tasks as task_numbers

Errors = dict[str, list[str]]
MOST_AFTER = 20
LONGEST_ARRAY, LONGEST_WORDS = 2000, 200
MOST_AT_ONCE = 1_000_000  # tasks of an array, as far as one may say it
FARTHEST = timedelta(days=366)
LATE = timedelta(minutes=5)  # for how long a begin time may be past: forms stay open
_CONSTRAINT = re.compile(r"[A-Za-z0-9_.\-=&|!*()\[\]]+")
_RESERVATION = re.compile(r"[A-Za-z0-9_.\-]+")
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")
_FACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+/-]{0,79}@[A-Za-z0-9_.+-]{1,40}")
_SIGNAL = re.compile(r"(?:(?P<to>R?B|BR|R):)?(?:SIG)?(?P<name>[A-Z0-9]+)(?:@(?P<seconds>[0-9]{1,5}))?")
_SIGNALS = frozenset(
    [
        "HUP",
        "INT",
        "QUIT",
        "ABRT",
        "KILL",
        "USR1",
        "USR2",
        "TERM",
        "CHLD",
        "CONT",
        "STOP",
        "TSTP",
        "TTIN",
        "TTOU",
        "URG",
        "XCPU",
    ]
)


def check(raw: Mapping[str, Any], amounts: Mapping[str, int], errors: Errors) -> Options:
    """The options of a request; `amounts` are its gpus, nodes, cpus and time_limit_minutes, checked before."""
    table = table_checks.check(raw, errors)
    found = Options(
        tasks_per_node=_count(raw, "tasks_per_node", errors),
        gpus_per_task=_count(raw, "gpus_per_task", errors),
        exclusive=bool(_switch(raw, "exclusive", errors)),
        constraint=_words(raw, "constraint", _CONSTRAINT, errors),
        reservation=_words(raw, "reservation", _RESERVATION, errors),
        begin=_begin(raw, errors),
        signal=_signal(raw, amounts["time_limit_minutes"], errors),
        requeue=_switch(raw, "requeue", errors),
        array=_array(raw, len(table), errors),
        after=_after(raw, errors),
        separate_errors=bool(_switch(raw, "separate_errors", errors)),
        preset=_fact(raw, "preset", errors),
        software=_fact(raw, "software", errors),
        parameters=table,
        git=_git(raw, errors),
        folder=_folder(raw, errors),
    )
    _tasks_fit(found, amounts, errors)
    return found


def fault(field: str, value: str, minutes: int) -> str:
    """What is wrong with an array, a constraint, a reservation or a signal by itself; "" where nothing is."""
    errors: Errors = {}
    raw = {field: value}
    if field == "array":
        _array(raw, 0, errors)
    elif field == "signal":
        _signal(raw, minutes, errors)
    else:
        _words(raw, field, _CONSTRAINT if field == "constraint" else _RESERVATION, errors)
    return errors.get(field, [""])[0]


def _text(raw: Mapping[str, Any], field: str, errors: Errors) -> str:
    given = raw.get(field)
    if given is None or isinstance(given, str):
        return (given or "").strip()
    errors[field] = [_("This is not text.")]
    return ""


def _count(raw: Mapping[str, Any], field: str, errors: Errors) -> int:
    given = raw.get(field)
    if given in (None, ""):
        return 0
    text = "" if isinstance(given, bool) else str(given).strip()
    if re.fullmatch(r"[0-9]{1,6}", text):
        return int(text)
    errors[field] = [_("Enter a whole number.")]
    return 0


def _switch(raw: Mapping[str, Any], field: str, errors: Errors) -> bool | None:
    """As JSON or a form says it; None where nothing is said."""
    given = raw.get(field)
    if given is None or given == "":
        return None
    if isinstance(given, bool):
        return given
    word = str(given).lower()
    if word not in ("on", "true", "yes", "1", "off", "false", "no", "0"):
        errors[field] = [_("Say yes or no.")]
    return word in ("on", "true", "yes", "1")


def _words(raw: Mapping[str, Any], field: str, allowed: re.Pattern[str], errors: Errors) -> str:
    text = _text(raw, field, errors)
    if text and (len(text) > LONGEST_WORDS or not allowed.fullmatch(text)):
        signs = "& | ! * ( ) [ ] _ . - =" if allowed is _CONSTRAINT else "_ . -"
        errors[field] = [_("Letters, digits and %(signs)s, %(n)d at most.") % {"signs": signs, "n": LONGEST_WORDS}]
    return text


def _folder(raw: Mapping[str, Any], errors: Errors) -> str:
    """Slurm expands % in paths, and what a script does with others is its own affair: plain names only."""
    text = _text(raw, "folder", errors).strip("/")
    if text and (len(text) > LONGEST_WORDS or not _FOLDER.fullmatch(text)):
        errors["folder"] = [_("Give a folder in the project's, in letters, digits, _, -, + and . without spaces.")]
        return ""
    return text


def _git(raw: Mapping[str, Any], errors: Errors) -> str:
    """An address the site allows, at a whole commit; a line of shell fetches it, so the script must be one."""
    text = _text(raw, "git", errors)
    said = _git_fault(text, raw) if text else ""
    if said:
        errors["git"] = [said]
    return "" if said else text


def _git_fault(text: str, raw: Mapping[str, Any]) -> str:
    """Why code cannot be fetched so; "" where it can."""
    found = code.parsed(text)
    if not settings.GIT_PREFIXES:
        return _("Jobs fetch no code from git addresses here: the site has not turned it on.")
    if found is None:
        return _("Write it as https://host/path.git@commit, with all 40 digits of the commit.")
    if not code.allowed(found[0], settings.GIT_PREFIXES):
        return _("The site allows addresses that begin with: %(names)s") % {"names": ", ".join(settings.GIT_PREFIXES)}
    if str(raw.get("folder") or "").strip():
        return _("The code has a folder of its own: leave the other one out.")
    if not wrapping.is_shell(str(raw.get("script") or "")):
        return _("The script must be one for a shell, like bash, that starts what is in the code.")
    return ""


def _begin(raw: Mapping[str, Any], errors: Errors) -> str:
    """A time without a zone is meant on the asker's clock."""
    text = _text(raw, "begin", errors)
    if not text:
        return ""
    try:
        at = parse_datetime(text)
        at = timezone.make_aware(at) if at is not None and at.tzinfo is None else at
        at = at.astimezone(UTC) if at else None
    except (ValueError, OverflowError):
        at = None
    now = timezone.now()
    if at is None:
        errors["begin"] = [_("Give a day and a time, like 2026-12-24T18:00.")]
    elif at < now - LATE:
        errors["begin"] = [_("This time is past.")]
    elif at > now + FARTHEST:
        errors["begin"] = [_("At most a year ahead.")]
    return f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else ""


def _signal(raw: Mapping[str, Any], minutes: int, errors: Errors) -> str:
    """One way of writing it: the part it goes to, the name without SIG, the seconds before the end."""
    text = _text(raw, "signal", errors).upper()
    match = _SIGNAL.fullmatch(text)
    if not text:
        return ""
    if not match or not (match["name"] in _SIGNALS or (match["name"].isdigit() and 1 <= int(match["name"]) <= 64)):
        errors["signal"] = [
            _("Write it as Slurm does: B:USR1@120 sends USR1 to the script 120 seconds before the end.")
        ]
        return ""
    seconds = int(match["seconds"] or 60)
    if not 1 <= seconds < min(65536, minutes * 60):
        errors["signal"] = [_("Between 1 second before the end and the job's whole time limit.")]
    return f"{match['to'] + ':' if match['to'] else ''}{match['name']}@{seconds}"


def _array(raw: Mapping[str, Any], rows: int, errors: Errors) -> str:
    text = "".join(_text(raw, "array", errors).split()) or (f"0-{rows - 1}" if rows else "")
    said = _array_fault(text, rows) if text else ""
    if said:
        errors["array"] = [said]
    return "" if said else text


def _array_fault(text: str, rows: int) -> str:
    most = settings.MAX_ARRAY_SIZE
    if len(text) > LONGEST_ARRAY or not ARRAY.fullmatch(text):
        return _("Write tasks as 1-100, 0-9:2 or 1,5,7, and %8 behind them for at most 8 at once.")
    numbers = [int(number) for number in re.findall(r"\d+", text.partition("%")[0])]
    if any(number >= most for number in numbers):
        return _("The cluster numbers tasks up to %(n)d.") % {"n": most - 1}
    if throttle(text) > MOST_AT_ONCE:
        return _("At most %(n)d.") % {"n": MOST_AT_ONCE}
    if re.search(r":0+(,|%|$)", text) or re.search(r"%0+$", text):
        return _("A step and a number at once are 1 or more.")
    tasks = task_numbers(text)
    if not tasks:
        return _("There is no task in it.")
    if rows and len(tasks) != rows:
        return _("The table has %(rows)d rows and the array %(n)d tasks.") % {"rows": rows, "n": len(tasks)}
    return ""


def _after(raw: Mapping[str, Any], errors: Errors) -> tuple[After, ...]:
    """As JSON has it, or as a form may: "ok:<job> any:<job>". Whether the asker may see the jobs is asked later."""
    given = raw.get("after") or ()
    if isinstance(given, str):
        given = [dict(zip(("kind", "job"), one.split(":", 1), strict=False)) for one in given.replace(",", " ").split()]
    found = []
    for one in given if isinstance(given, list | tuple) else (None,):
        after = _one_after(one)
        if after is None:
            errors["after"] = [_("Name jobs of the portal by their id, each after ok, any or notok.")]
        elif after not in found:
            found.append(after)
    if len(found) > MOST_AFTER:
        errors["after"] = [_("A job waits for at most %(n)d others.") % {"n": MOST_AFTER}]
    return tuple(found)


def _one_after(given: Any) -> After | None:
    if not isinstance(given, Mapping) or given.get("kind") not in KINDS or set(given) - {"kind", "job"}:
        return None
    try:
        return After(given["kind"], str(UUID(str(given.get("job")))))
    except ValueError:
        return None


def _fact(raw: Mapping[str, Any], field: str, errors: Errors) -> str:
    text = _text(raw, field, errors)
    if text and not _FACT.fullmatch(text):
        errors[field] = [_("Give a name and a version, as name@3.")]
    return text


def _tasks_fit(found: Options, amounts: Mapping[str, int], errors: Errors) -> None:
    """CPUs and GPUs are a node's: its tasks share them out evenly."""
    tasks = found.tasks_per_node or 1
    if amounts["cpus"] % tasks:
        errors["tasks_per_node"] = [
            _("%(cpus)d CPUs per node cannot be shared out evenly to %(tasks)d tasks.")
            % {"cpus": amounts["cpus"], "tasks": tasks}
        ]
    if found.gpus_per_task and found.gpus_per_task * tasks != amounts["gpus"]:
        errors["gpus_per_task"] = [
            _("%(each)d GPUs for each of %(tasks)d tasks are not the %(gpus)d GPUs per node asked for.")
            % {"each": found.gpus_per_task, "tasks": tasks, "gpus": amounts["gpus"]}
        ]
