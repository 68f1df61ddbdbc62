"""Many jobs in one call, as text of fields that cannot hold free text; the last field is Slurm's own vocabulary."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from slurm import text
from slurm.adapters import common
from slurm.commands import Commands
from slurm.contract import JobRecord, Unanswered
from slurm.tokens import Token

SEPARATOR = "\x1f"  # no name of Slurm's can hold it
IDS_A_CALL = 2000
_TIME = "%Y-%m-%dT%H:%M:%S"
_AHEAD = timedelta(days=1)  # slurmctld's clock need not be ours
_RUNS_AGAIN = frozenset({"REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"})  # a run may follow that is the same job
_QUEUE = (
    *("JobID", "ArrayJobID", "ArrayTaskID", "UserID", "UserName", "Account", "Partition", "QOS", "State"),
    *("SubmitTime", "StartTime", "EndTime", "EligibleTime", "TimeLimit", "RestartCnt", "NodeList", "tres-alloc"),
    *("exit_code", "Reason"),
)
_ACCOUNTING = (
    *("JobID", "JobIDRaw", "UID", "User", "Account", "Partition", "QOS", "State", "Submit", "Start", "End", "Eligible"),
    *("TimelimitRaw", "NodeList", "AllocTRES", "ReqTRES", "ExitCode", "Reason"),
)


def queue(commands: Commands, token: Token) -> list[JobRecord]:
    """Every job and array task slurmctld has, finished ones until MinJobAge included."""
    fields = ",".join(f"{name}:{SEPARATOR}" for name in _QUEUE[:-1]) + f",{_QUEUE[-1]}:"
    printed = commands.read(token, "squeue", "--noheader", "--all", "--array", "--states=all", "--Format", fields)
    return _records(printed, _QUEUE, _queued)


def accounting(
    commands: Commands, token: Token, *, since: datetime, job_ids: Collection[int] = (), account: str = ""
) -> list[JobRecord]:
    """Every run slurmdbd knows of that was active since then.

    For some seconds after a short job slurmdbd has a row with an end and without a uid. Such rows are left out; where
    certain jobs, or an account's, are asked for, their absence would be taken for an answer, so this raises.
    """
    ids = sorted(set(job_ids))
    chunks = [ids[at : at + IDS_A_CALL] for at in range(0, len(ids), IDS_A_CALL)] or [[]]
    read = (commands.read(token, "sacct", *_sacct(since, chunk, account)) for chunk in chunks)
    found = list(itertools.chain.from_iterable(_records(printed, _ACCOUNTING, _accounted) for printed in read))
    whole = [record for record in found if record.partition]
    if len(whole) < len(found) and (ids or account):
        raise Unanswered("slurmdbd has not yet written down all of these jobs")
    return list(counted(whole))


def _sacct(since: datetime, job_ids: Sequence[int], account: str) -> Iterator[str]:
    yield from ("--allusers", "--allocations", "--duplicates", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}")
    yield f"--starttime={since.astimezone(UTC):{_TIME}}"
    yield f"--endtime={max(datetime.now(UTC), since) + _AHEAD:{_TIME}}"
    yield f"--format={','.join(_ACCOUNTING)}"
    if job_ids:
        yield f"--jobs={','.join(map(str, job_ids))}"
    if account:
        yield f"--accounts={account}"


def rows(printed: str, fields: Sequence[str]) -> Iterator[dict[str, str]]:
    """Lines to fields by name; a line of another shape means that nothing of this answer can be believed."""
    for line in printed.split("\n"):
        if not line:
            continue
        values = line.split(SEPARATOR)
        if len(values) != len(fields):
            raise Unanswered(f"a line of {len(values)} fields where {len(fields)} were asked for")
        yield dict(zip(fields, (value.strip() for value in values), strict=True))


def _records(printed: str, fields: Sequence[str], build: Callable[[dict[str, str]], JobRecord]) -> list[JobRecord]:
    try:
        return [build(row) for row in rows(printed, fields)]
    except ValueError as error:
        raise Unanswered(f"an answer that cannot be read: {error}") from None


def _queued(row: dict[str, str]) -> JobRecord:
    states, nodes = text.states(row["State"]), row["NodeList"]
    return JobRecord(
        job_id=int(row["ArrayJobID"]),
        own_id=int(row["JobID"]) if row["JobID"].isdecimal() else None,
        array_task=int(row["ArrayTaskID"]) if row["ArrayTaskID"].isdecimal() else None,
        submit_time=text.instant(row["SubmitTime"]),
        uid=int(row["UserID"]),
        user=row["UserName"],
        states=states,
        account=row["Account"],
        partition=row["Partition"],
        qos=row["QOS"],
        reason=common.reason(row["Reason"]),
        eligible_time=text.moment(row["EligibleTime"]),
        time_limit_minutes=text.minutes(row["TimeLimit"]),
        restart_count=int(row["RestartCnt"]),
        nodes=nodes,
        **common.times(states, nodes, row["StartTime"], row["EndTime"]),
        **common.amounts(row["tres-alloc"]),
        **common.outcome(states, text.exit_pair(row["exit_code"])),
    )


def _accounted(row: dict[str, str]) -> JobRecord:
    states, nodes = text.states(row["State"]), row["NodeList"].replace("None assigned", "")
    array, _, task = row["JobID"].partition("_")
    return JobRecord(
        job_id=int(array) if task else int(row["JobIDRaw"]),
        own_id=int(row["JobIDRaw"]) if row["JobIDRaw"].isdecimal() else None,
        array_task=int(task) if task.isdecimal() else None,
        submit_time=text.instant(row["Submit"]),
        uid=int(row["UID"]),
        user=row["User"],
        states=states,
        account=row["Account"],
        partition=row["Partition"],
        qos=row["QOS"],
        reason=common.reason(row["Reason"]),
        eligible_time=text.moment(row["Eligible"]),
        time_limit_minutes=int(row["TimelimitRaw"]) if row["TimelimitRaw"].isdecimal() else None,
        nodes=nodes,
        from_accounting=True,
        **common.times(states, nodes, row["Start"], row["End"]),
        **common.amounts(row["AllocTRES"] or row["ReqTRES"]),
        **common.outcome(states, text.exit_pair(row["ExitCode"])),
    )


def counted(records: Iterable[JobRecord]) -> Iterator[JobRecord]:
    """slurmdbd numbers no runs: count those of one job by their submit times, as far as this answer goes."""
    runs: dict[tuple[int, int | None, int], list[JobRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.submit_time):
        earlier = runs[record.job_id, record.array_task, record.uid]
        again = bool(earlier and earlier[-1].states & _RUNS_AGAIN)
        record = dataclasses.replace(record, restart_count=earlier[-1].restart_count + 1 if again else 0)
        earlier.append(record)
        yield record
