"""The values of directives as sbatch reads them: times, sizes, counts, GPUs, days to begin on."""

from __future__ import annotations

import dataclasses
import math
import re
from datetime import datetime, timedelta

_UNITS = {"": 1.0, "M": 1.0, "K": 1 / 1024, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_CLOCK = {"midnight": (0, 0), "noon": (12, 0), "elevenses": (11, 0), "fika": (15, 0), "teatime": (16, 0)}
_STEPS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def minutes(text: str) -> int:
    """ "90", "90:30" (minutes and seconds), "2:00:00", "1-12", "1-12:30", "1-12:30:59": minutes, seconds rounded up.

    ValueError for anything else, and for no limit at all, which a request here always has.
    """
    days, sign, rest = text.strip().partition("-") if "-" in text else ("", "", text.strip())
    parts = rest.split(":")
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in [*parts, *([days] if sign else [])]) or len(parts) > 3:
        raise ValueError(text)
    numbers = [int(part) for part in parts]
    if sign:
        hours, mins, secs = [*numbers, 0, 0][:3]
    elif len(numbers) == 3:
        hours, mins, secs = numbers
    else:
        hours, mins, secs = 0, numbers[0], numbers[1] if len(numbers) == 2 else 0
    return int(days or 0) * 1440 + hours * 60 + mins + math.ceil(secs / 60)


def megabytes(text: str) -> float:
    """ "4000", "4G", "512m", "1.5T" or "8GB": megabytes unless a unit says otherwise. 0: all that a node has."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)B?", text.strip().upper())
    if not match:
        raise ValueError(text)
    return float(match[1]) * _UNITS[match[2]]


def count(text: str) -> int:
    """A whole number of 1 or more, or 0; "2k" is 2048 as sbatch has it."""
    match = re.fullmatch(r"\+?(\d{1,9})([kKmM]?)", text.strip())
    if not match:
        raise ValueError(text)
    return int(match[1]) * {"": 1, "K": 1024, "M": 1024**2}[match[2].upper()]


def nodes(text: str) -> tuple[int, int]:
    """ "2", or "2-4": the fewest and the most."""
    first, sign, last = text.strip().partition("-")
    fewest = count(first)
    most = count(last) if sign else fewest
    if not 0 < fewest <= most:
        raise ValueError(text)
    return fewest, most


@dataclasses.dataclass(frozen=True, slots=True)
class Gpus:
    """How many of which type; "" where none is named."""

    number: int
    type: str = ""


def gpus(text: str) -> Gpus:
    """ "2", "a100:2", "a100": of --gpus, --gpus-per-node and --gpus-per-task. One type only."""
    match = re.fullmatch(r"(?:([A-Za-z][\w.-]*)(?::|$))?(\d{1,6})?", text.strip())
    if not match or not text.strip():
        raise ValueError(text)
    return Gpus(int(match[2]) if match[2] else 1, match[1] or "")


def gres(text: str) -> tuple[Gpus, list[str]]:
    """The GPUs in "gpu:a100:2,nvme:1", and what else stands there. Two types of GPU are a ValueError."""
    found, others = list[Gpus](), list[str]()
    for part in text.strip().split(","):
        name, _, rest = part.strip().removeprefix("gres/").removeprefix("gres:").partition(":")
        if name.lower() == "gpu":
            found.append(gpus(rest.partition("(")[0].replace("=", ":") or "1"))
        elif name and name.lower() not in ("none", "0"):
            others.append(part.strip())
    if len({one.type for one in found}) > 1:
        raise ValueError(text)
    return Gpus(sum(one.number for one in found), found[0].type if found else ""), others


def begin(text: str, now: datetime) -> datetime:
    """ "now+1hour", "16:00", "tomorrow", "2026-12-24T18:00", "12/24", "noon": by the clock `now` carries (aware)."""
    word = text.strip().lower()
    if match := re.fullmatch(r"now(?:\s*\+\s*(\d{1,9})\s*(second|minute|hour|day|week)?s?)?", word):
        return now + timedelta(seconds=int(match[1] or 0) * _STEPS[match[2] or "second"])
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word in ("today", "tomorrow"):
        return midnight + timedelta(days=1) if word == "tomorrow" else now
    dated = re.fullmatch(r"([\d/-]+)(?:t(.+))?", word)
    on = _day(dated[1], midnight) if dated else midnight
    hour, minute, second = _at((dated[2] or "00:00") if dated else word)
    at = on.replace(hour=hour, minute=minute, second=second)
    return at + timedelta(days=1) if not dated and at < now else at


def _at(word: str) -> tuple[int, int, int]:
    if word in _CLOCK:
        return (*_CLOCK[word], 0)
    match = re.fullmatch(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?", word)
    if not match:
        raise ValueError(word)
    hour = int(match[1]) % 12 + (12 if match[4] == "pm" else 0) if match[4] else int(match[1])
    return hour, int(match[2]), int(match[3] or 0)


def _day(word: str, midnight: datetime) -> datetime:
    if match := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", word):
        return midnight.replace(year=int(match[1]), month=int(match[2]), day=int(match[3]))
    match = re.fullmatch(r"(\d{1,2})/(\d{1,2})(?:/(\d{2}))?", word) or re.fullmatch(r"(\d\d)(\d\d)(\d\d)?", word)
    if not match:
        raise ValueError(word)
    year = 2000 + int(match[3]) if match[3] else midnight.year
    on = midnight.replace(year=year, month=int(match[1]), day=int(match[2]))
    return on if match[3] or on >= midnight else on.replace(year=on.year + 1)
