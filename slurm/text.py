"""Slurm's small notations: times, minutes, TRES, exit statuses, host lists."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

NEVER = frozenset({"", "0", "N/A", "NONE", "UNKNOWN", "NOT_SET", "INVALID", "(NULL)"})
OVER = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED"}
    | {"NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"}
)
_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
_MOST_HOSTS = 65536


@dataclasses.dataclass(frozen=True, slots=True)
class Tres:
    """What "cpu=4,mem=3000M,node=2,gres/gpu=4,gres/gpu:a100=4" says; memory in MB."""

    cpus: int = 0
    memory_mb: int = 0
    nodes: int = 0
    gpus: int = 0
    gpu_types: Mapping[str, int] = dataclasses.field(default_factory=dict)


def tres(text: str | None) -> Tres:
    """The untyped GPU entry is the total; where a site tracks only typed ones, their sum is."""
    amounts = dict(_amounts(text or ""))
    types = {name.split(":", 1)[1]: int(n) for name, n in amounts.items() if name.startswith("gres/gpu:")}
    return Tres(
        cpus=int(amounts.get("cpu", 0)),
        memory_mb=round(amounts.get("mem", 0)),
        nodes=int(amounts.get("node", 0)),
        gpus=int(amounts.get("gres/gpu", sum(types.values()))),
        gpu_types=types,
    )


def _amounts(text: str) -> Iterator[tuple[str, float]]:
    for part in text.split(","):
        name, _, value = part.partition("=")
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", value)
        if match:
            yield name, float(match[1]) * (_UNITS[match[2]] if match[2] else 1)


def limits(text: str) -> dict[str, int]:
    """A limit as sacctmgr prints it: {"gres/gpu": 6}; what is not limited is not in it."""
    return {name: int(value) for name, value in _amounts(text)}


def weights(text: str) -> dict[str, float]:
    """TRESBillingWeights by TRES in lower case: "CPU=0.5,GRES/gpu=1" is {"cpu": 0.5, "gres/gpu": 1.0}."""
    return {name.lower(): value for name, value in _amounts(text) if value}


def moment(seconds: int | str | None) -> datetime | None:
    """Unix seconds, as a number or as text, to aware UTC; None for every way Slurm says never."""
    text = str(seconds if seconds is not None else "").strip()
    return None if text.upper() in NEVER else datetime.fromtimestamp(int(text), UTC)


def instant(seconds: int | str | None) -> datetime:
    """The same where a time must be there."""
    found = moment(seconds)
    if found is None:
        raise ValueError(f"not a time: {seconds!r}")
    return found


def states(text: str) -> frozenset[str]:
    """ "CANCELLED by 70101" and "RUNNING,COMPLETING" to sets of words."""
    return frozenset(word.split()[0].rstrip("+") for word in text.upper().split(",") if word.strip())


def minutes(text: str) -> int | None:
    """ "1-02:03:04", "5:00" (minutes and seconds) or "UNLIMITED"; None means no limit or none known."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text.strip())
    if not match:
        return None
    days, hours, mins, secs = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + mins + (1 if secs else 0)


def wait_status(status: int) -> tuple[int | None, int | None]:
    """wait(2)'s status to (exit code, signal): a job ended by a signal has no exit code."""
    signal = status & 0x7F
    return (None, signal) if signal else (status >> 8 & 0xFF, None)


def exit_pair(text: str) -> tuple[int | None, int | None]:
    """ "3:0" and "0:15" (sacct, and squeue since 24.11) or a plain wait status (squeue before), the same way."""
    if text.isdecimal():
        return wait_status(int(text))
    code, _, signal = text.partition(":")
    return (None, int(signal)) if int(signal or 0) else (int(code or 0), None)


def gpus_asked(text: str | None) -> int:
    """The GPUs in a request per node: "gres:gpu:a100:2", "gres/gpu:a100=2" or "gpu" (one)."""
    total = 0
    for part in (text or "").split(","):
        match = re.fullmatch(r"(?:gres[:/])?gpu(?:[:=]([^:=()]+))?(?:[:=](\d+))?", part.split("(")[0])
        if match:
            name, count = match.groups()
            total += int(count or (name if name and name.isdigit() else 1))
    return total


def gpus_asked_by_type(text: str | None) -> dict[str, int]:
    """The typed ones among them: "gres/gpu:a100:2" is {"a100": 2}, "gpu:2" nothing."""
    found: dict[str, int] = {}
    for part in (text or "").split(","):
        match = re.fullmatch(r"(?:gres[:/])?gpu[:=]([^:=()]*[^:=()\d][^:=()]*)(?:[:=](\d+))?", part.split("(")[0])
        if match:
            found[match[1]] = found.get(match[1], 0) + int(match[2] or 1)
    return found


_TASKS = r"\d{1,10}(?:-\d{1,10}(?::\d{1,10})?)?"
ARRAY = re.compile(rf"(?P<tasks>{_TASKS}(?:,{_TASKS})*)(?:%(?P<throttle>\d{{1,10}}))?", re.ASCII)


def tasks(array: str) -> list[int]:
    """The tasks of "1-9:2,20%4", sorted, each once. Raises ValueError for what is no array."""
    match = ARRAY.fullmatch(array)
    if not match:
        raise ValueError(f"not an array: {array[:100]!r}")
    found: set[int] = set()
    for part in match["tasks"].split(","):
        first, _, rest = part.partition("-")
        last, _, step = rest.partition(":")
        found.update(range(int(first), int(last or first) + 1, int(step or 1) or 1))
    return sorted(found)


def throttle(array: str) -> int:
    """How many of its tasks may run at once; 0: no such limit."""
    match = ARRAY.fullmatch(array)
    return int(match["throttle"] or 0) if match else 0


def dependencies(text: str | None) -> frozenset[str]:
    """ "afterok:12(unfulfilled),afterany:13_4:14(failed)" to {"afterok:12", "afterany:13_4", "afterany:14"}."""
    found = set[str]()
    for part in re.split(r"[,?]", re.sub(r"\([^)]*\)", "", text or "")):
        kind, *jobs = part.strip().split(":")
        found.update(f"{kind}:{job.removesuffix('_*')}" for job in jobs if job.split("_")[0].isdecimal())
    return frozenset(found)


def gpu_types(text: str | None) -> dict[str, int]:
    """What a node has, as configured: "gpu:a100:4(S:0-1),gpu:h100:2" to {"a100": 4, "h100": 2}."""
    found: dict[str, int] = {}
    for part in re.sub(r"\([^)]*\)", "", text or "").split(","):
        match = re.fullmatch(r"gpu:(?:([^:]+):)?(\d+)", part)
        if match:
            found[match[1] or "gpu"] = found.get(match[1] or "gpu", 0) + int(match[2])
    return found


def hosts(text: str | None) -> tuple[str, ...]:
    """ "gpu[01-02,07],big01" to every name in it; at most 65,536 of them."""
    names = itertools.chain.from_iterable(_expand(part) for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text or ""))
    return tuple(itertools.islice(names, _MOST_HOSTS))


def _expand(part: str) -> Iterator[str]:
    match = re.match(r"([^\[]*)\[([^\]]*)\](.*)", part)
    if not match:
        yield part
        return
    for piece in match[2].split(","):
        first, _, last = piece.partition("-")
        for number in range(int(first), int(last or first) + 1):
            for rest in _expand(match[3]):
                yield f"{match[1]}{number:0{len(first)}d}{rest}"
