"""sacctmgr's rows as books: only fields that hold names and numbers, and no answer that is cut short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from slurm import text
from slurm.books import GPU, SHARE, Account, Association, Limits, Qos
from slurm.contract import Refused, Unanswered

Row: TypeAlias = Mapping[str, str]
_OVERRULING = {
    "MaxSubmitPU": "MaxSubmitJobsPerUser",
    "MaxSubmitPA": "MaxSubmitJobsPerAccount",
    "MaxJobsPU": "MaxJobsPerUser",
    "MaxJobsPA": "MaxJobsPerAccount",
}
QOS = ("Name", "GrpTRES", "GrpTRESMins", "MaxWall", "GrpSubmit", "GrpJobs", "Flags", *_OVERRULING)
ASSOCIATION = (
    *("Cluster", "Account", "User", "Partition", "QOS", "DefaultQOS"),
    *("GrpTRES", "GrpTRESMins", "MaxWall", "MaxSubmit", "MaxJobs", "ParentName"),
)


def of(printed: str, fields: Sequence[str]) -> list[Row]:
    """A row each: a line with another number of fields, or a last one without an end, is no answer."""
    if printed and not printed.endswith("\n"):
        raise Unanswered("sacctmgr's answer is cut short")
    found = [line.split("|") for line in printed.splitlines() if line]
    if any(len(values) != len(fields) for values in found):
        raise Unanswered("sacctmgr's answer has a row of another shape")
    return [dict(zip(fields, values, strict=True)) for values in found]


def of_one_cluster(found: Iterable[Row], cluster: str) -> list[Row]:
    """Those of this cluster; without a name there must be only one that slurmdbd serves."""
    found = list(found)
    names = {row["Cluster"] for row in found}
    if cluster:
        return [row for row in found if row["Cluster"] == cluster]
    if len(names) > 1:
        raise Refused(f"slurmdbd serves several clusters ({', '.join(sorted(names))}): which of them is meant?")
    return found


def associations(found: Iterable[Row]) -> Iterator[Association]:
    for row in found:
        yield Association(
            account=row["Account"],
            user=row["User"],
            partition=row["Partition"],
            qos=frozenset(name for name in row["QOS"].split(",") if name),
            default_qos=row["DefaultQOS"],
            limits=_limits(row, SHARE, "MaxSubmit", "MaxJobs"),
        )


def accounts(found: Iterable[Row]) -> Iterator[Account]:
    """An account is on this cluster when it has a row of its own."""
    return (Account(row["Account"], parent=row["ParentName"]) for row in found if not row["User"])


def qos(found: Iterable[Row]) -> Iterator[Qos]:
    for row in found:
        flags = row["Flags"].split(",")
        yield Qos(
            name=row["Name"],
            limits=_limits(row, GPU, "GrpSubmit", "GrpJobs"),
            deny_on_limit="DenyOnLimit" in flags,
            no_decay="NoDecay" in flags,
            overrules=frozenset(word for field, word in _OVERRULING.items() if row[field]),
        )


def _limits(row: Row, untyped: str, submitted: str, running: str) -> Limits:
    try:
        at_once, minutes = text.limits(row["GrpTRES"]), text.limits(row["GrpTRESMins"])
        return Limits(
            gpus_at_once=at_once.get(untyped),
            gpus_by_type=_by_type(at_once),
            gpu_minutes=minutes.get(untyped),
            gpu_minutes_by_type=_by_type(minutes),
            longest_minutes=text.minutes(row["MaxWall"]) if row["MaxWall"] else None,
            jobs_submitted=_number(row[submitted]),
            jobs_running=_number(row[running]),
        )
    except ValueError as error:
        raise Unanswered(f"sacctmgr's answer cannot be read ({error})") from None


def _by_type(limits: Mapping[str, int]) -> dict[str, int]:
    """A site's own limits on other TRES are not ours to judge or to take away."""
    return {name.removeprefix(f"{GPU}:"): amount for name, amount in limits.items() if name.startswith(f"{GPU}:")}


def _number(said: str) -> int | None:
    return int(said) if said else None
