"""How answers look in a terminal: short lines, nothing that could steer it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_JOB = (
    ("id", "id"), ("name", "name"), ("state", "state_label"), ("reason", "reason_label"), ("in Slurm", "slurm_states"),
    ("number in Slurm", "slurm_job_id"), ("refused because", "refusal"), ("project", "project"),
    ("allocation", "allocation"), ("owner", "owner"), ("partition", "partition"), ("GPUs per node", "gpus"),
    ("GPU type", "gpu_type"), ("nodes", "nodes"), ("CPUs per node", "cpus"), ("memory per node, GiB", "memory_gb"),
    ("time limit, minutes", "time_limit_minutes"), ("ran on", "node_list"), ("asked for", "created_at"),
    ("started", "started_at"), ("ended", "ended_at"), ("exit code", "exit_code"), ("signal", "exit_signal"),
    ("called", "alias"), ("note", "note"), ("page", "url"),
)  # fmt: skip

_MORE_OF_WHY = (("who", "who can change it"), ("hint", "what to try"))


def plain(value: Any) -> str:
    """Text of a value without control characters."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return "".join(char if char.isprintable() else "�" for char in text)


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns as wide as they must be."""
    cells = [list(heads), *[[plain(value) for value in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def jobs(rows: Iterable[Mapping[str, Any]]) -> str:
    """A list of jobs."""
    heads = ("ID", "NUMBER", "NAME", "PROJECT", "OWNER", "STATE", "GPUS", "PARTITION")
    return table(heads, [(
        row["id"], row["slurm_job_id"], row["alias"] or row["name"], row["project"], row["owner"], row["state_label"],
        row["gpus"] * row["nodes"], row["partition"],
    ) for row in rows])  # fmt: skip


def tasks(told: Mapping[str, Any]) -> str:
    """The tasks of an array: state, exit code, parameters, last and best values."""
    heads = ["TASK", "STATE", "EXIT", *map(plain, told["parameters"])]
    heads += [f"{plain(name)} {kind}" for name in told["values"] for kind in ("last", "best")]
    return table(heads, [(
        row["task"], row["state_label"], row["exit_code"], *(row["parameters"].get(one) for one in told["parameters"]),
        *(row["values"].get(name, {}).get(kind) for name in told["values"] for kind in ("last", "best")),
    ) for row in told["items"]])  # fmt: skip


def entries(rows: Iterable[Mapping[str, Any]]) -> str:
    """A folder's entries."""
    heads = ("SIZE", "CHANGED", "OWNER", "NAME")
    return table(heads, [(
        row["size"] if row["kind"] == "file" else "", (row["changed_at"] or "")[:16].replace("T", " "),
        row["owner"] or "", row["name"] + {"folder": "/", "file": ""}.get(row["kind"], "@"),
    ) for row in rows])  # fmt: skip


def job(row: Mapping[str, Any]) -> str:
    """One job, a line for each thing that is known."""
    known = [(label, plain(row[name])) for label, name in _JOB if row[name] not in (None, "", [])]
    return "\n".join(f"{label:>21}  {value}" for label, value in known)


def me(row: Mapping[str, Any]) -> str:
    """Who is asking."""
    token = row["token"]
    scopes = f"\ntoken {plain(token['prefix'])}… ({plain(token['scopes'])}) until {plain(token['expires_at'])}"
    return f"{plain(row['login'])} ({plain(row['name'])})" + (scopes if token else "")


def cluster(picture: Mapping[str, Any]) -> str:
    """Partitions with what is free in them, and how old that is."""
    free: dict[str, int] = {}
    for node in picture["nodes"]:
        for name in node["partitions"]:
            free[name] = free.get(name, 0) + node["gpus_free"]
    rows = [
        (part["name"], part["state"], len(part["nodes"]), _gpus(part), free.get(part["name"], 0), _limit(part))
        for part in picture["partitions"]
    ]
    age = picture["age_seconds"]
    seen = "never seen" if age is None else f"seen {age:.0f} s ago"
    return f"{plain(picture['name'])}, {seen}\n" + table(("PARTITION", "STATE", "NODES", "GPUS", "FREE", "LIMIT"), rows)


def _gpus(part: Mapping[str, Any]) -> str:
    return ", ".join(f"{kind['total']} {name}" for name, kind in part["gpu_types"].items()) or "-"


def _limit(part: Mapping[str, Any]) -> str:
    minutes = part["max_time_minutes"]
    return "-" if minutes is None else f"{minutes // 60}:{minutes % 60:02} h"


def why(row: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """Why it waits, with the numbers of this moment, or how it ended: in the portal's words and then in Slurm's."""
    lines = [f"{plain(row['name'])}: {plain(row['state_label'])}"]
    lines += [plain(said) for said in (told["sentence"] or row["reason_label"], row["refusal"]) if said]
    lines += [f"  {plain(said)}" for said in told["numbers"]]
    lines += [f"{label}: {plain(told[name])}" for name, label in _MORE_OF_WHY if told[name]]
    if row["reason"]:
        lines.append(f"Slurm says: {plain(row['reason'])}")
    if row["exit_signal"] or row["exit_code"]:
        lines.append(f"signal {row['exit_signal']}" if row["exit_signal"] else f"exit code {row['exit_code']}")
    return "\n".join(lines)


def report(row: Mapping[str, Any], gpus: Mapping[str, Any] | None, after: Mapping[str, Any] | None = None) -> str:
    """A job, its tasks where it is an array, what its GPUs did, and what is told once it is over."""
    lines = [job(row)]
    if row["task_counts"]:
        lines.append(
            f"{'tasks':>21}  " + ", ".join(f"{count} {plain(name)}" for name, count in row["task_counts"].items())
        )
    if gpus and row["gpus"]:
        used = "not known" if gpus["active_hours"] is None else f"{gpus['active_hours']:.2f}"
        lines.append(f"{'GPU-hours':>21}  {gpus['gpu_hours']:.2f}, active: {used}")
        lines += [f"{'':>21}  {plain(said)}" for said in gpus["advice"]]
    return "\n".join([*lines, *_beside(gpus), *_after(after)])


_MEASURES = {
    "active": "GPU-hours active", "gpu_memory": "GPU memory, fullest", "cpus": "CPUs busy", "memory": "memory, peak",
}  # fmt: skip


def _beside(kept: Mapping[str, Any] | None) -> Iterator[str]:
    """Shares of what was asked for beside the person's last jobs of the name; nothing from a portal that tells none."""
    for one in (kept or {}).get("compared", ()):
        term = _MEASURES.get(one["measure"], plain(one["measure"]))
        yield f"{term:>21}  {100 * one['own']:.0f} %, usual {100 * one['usual']:.0f} % ({one['jobs']} earlier jobs)"


def _after(told: Mapping[str, Any] | None) -> Iterator[str]:
    """Used against asked, then what the output shows with the lines that show it, then advice."""
    used = told["used"] if told else None
    if told is None:
        return
    if used:
        limit = "" if used["limit_seconds"] is None else f" of {used['limit_seconds'] / 60:.0f}"
        yield f"{'minutes used':>21}  {used['seconds'] / 60:.1f}{limit}"
    if used and used["cpus_used"] is not None:
        yield f"{'CPUs busy':>21}  {used['cpus_used']:.1f} of {used['cpus']}"
    if used and used["peak_memory_mb"] is not None:
        yield f"{'memory, peak':>21}  {used['peak_memory_mb'] / 1024:.1f} of {used['memory_mb'] / 1024:.1f} GB"
    if told["killed"]:
        yield f"{'killed':>21}  {plain(told['killed'])}"
    for one in told["findings"]:
        yield f"{'found':>21}  {plain(one['sentence'])} {plain(one['hint'])}"
        yield f"{_place(one):>21}  {plain(one['text'])}"
    if told["traceback"]:
        yield f"{'first traceback':>21}  {_place(told['traceback'])}"
    yield from (f"{'next time':>21}  {plain(said)}" for said in told["advice"])


def _place(one: Mapping[str, Any]) -> str:
    return one["stream"] if one["line"] is None else f"{one['stream']}, line {one['line']}"


def allocations(rows: Iterable[Mapping[str, Any]]) -> str:
    """Hours used, committed by jobs under way, and free."""
    heads = ("CODE", "UNTIL", "GPU-HOURS", "USED", "COMMITTED", "FREE", "GPUS AT ONCE")
    return table(heads, [(
        row["code"] + ("*" if row["is_default"] else ""), row["ends_on"] or "-", _hours(row["gpu_minutes"]),
        _hours(row["used"]), _hours(row["committed"]), _hours(row["free"]), row["gpus_at_once"] or "-",
    ) for row in rows])  # fmt: skip


def _hours(minutes: int | None) -> str:
    return "no limit" if minutes is None else f"{minutes / 60:.1f}"
