"""What the REST versions share once a number is read as plain or as {"set", "infinite", "number"}."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slurm import text
from slurm.contract import JobRecord, NodeRecord, PartitionRecord

Json = Mapping[str, Any]
_UNSET = (-1, -2, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFF, 0xFFFE)  # Slurm's INFINITE and NO_VAL, signed and not
_NO_TASK = str(0xFFFFFFFE)


def number(value: Any) -> int | None:
    """A number in either notation; None where it is unset, infinite or one of Slurm's marks for that."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return None if value is None or value in _UNSET else int(value)


def task_path(path: str | None) -> str:
    """The path of an array's output: Slurm's mark for "unset" is %a again, where no task has its number yet."""
    return (path or "").replace(_NO_TASK, "%a")


def words(value: str | Iterable[str] | None) -> frozenset[str]:
    """A state: one string in old versions, a list in new ones."""
    return text.states(value if isinstance(value, str) else ",".join(value or ()))


def gpus(gpu_type: str, count: int) -> str:
    """ "a100:2", or "2" where there is no type."""
    return ":".join(part for part in (gpu_type, str(count)) if part)


def dependency(asked: Iterable[str]) -> str:
    """All of them, in an order that is always the same."""
    return ",".join(sorted(asked))


def names(value: str | None) -> tuple[str, ...]:
    return tuple(part for part in (value or "").split(",") if part)


def reason(value: str | None) -> str:
    return "" if value in (None, "None") else str(value)


def times(states: frozenset[str], nodes: str, start: Any, end: Any) -> dict[str, Any]:
    """Slurm fills start and end with guesses before, and with the end for a job that never ran: keep facts only."""
    start, end = text.moment(start), text.moment(end)
    pending = "PENDING" in states
    return {
        "start_time": start if nodes and not pending else None,
        "expected_start_time": start if pending else None,
        "end_time": end if states & text.OVER else None,
    }


def amounts(tres: str | None) -> dict[str, Any]:
    """What is allocated, or asked for while it waits."""
    amount = text.tres(tres)
    return {
        "node_count": amount.nodes,
        "cpus": amount.cpus,
        "memory_mb": amount.memory_mb,
        "gpus": amount.gpus,
        "gpu_types": amount.gpu_types,
    }


def outcome(states: frozenset[str], pair: tuple[int | None, int | None]) -> dict[str, Any]:
    """An exit status means something only once the job is over."""
    code, signal = pair if states & text.OVER else (None, None)
    return {"exit_code": code, "exit_signal": signal}


def job_record(job: Json, exit_pair: tuple[int | None, int | None]) -> JobRecord:
    """cpus and node_count of a waiting job are unsure in JSON; the TRES it asks for are not."""
    states, nodes = words(job["job_state"]), job.get("nodes") or ""
    return JobRecord(
        job_id=number(job.get("array_job_id")) or int(job["job_id"]),
        array_task=number(job.get("array_task_id")),
        submit_time=text.instant(number(job["submit_time"])),
        uid=int(job["user_id"]),
        user=job.get("user_name") or "",
        states=states,
        account=job.get("account") or "",
        partition=job.get("partition") or "",
        qos=job.get("qos") or "",
        reason=reason(job.get("state_reason")),
        eligible_time=text.moment(number(job.get("eligible_time"))),
        time_limit_minutes=number(job.get("time_limit")),
        restart_count=number(job.get("restart_cnt")) or 0,
        nodes=nodes,
        **times(states, nodes, number(job.get("start_time")), number(job.get("end_time"))),
        **amounts(job.get("tres_alloc_str") or job.get("tres_req_str")),
        **outcome(states, exit_pair),
        **_free_text(job),
    )


def _free_text(job: Json) -> dict[str, Any]:
    """New versions name the one file of both streams twice."""
    output, error = job.get("standard_output") or "", job.get("standard_error") or ""
    return {
        "name": job.get("name") or "",
        "comment": job.get("comment") or "",
        "admin_comment": job.get("admin_comment") or "",
        "working_directory": job.get("current_working_directory") or "",
        "standard_output": output,
        "standard_error": "" if error == output else error,
        **_asked(job),
    }


def _asked(job: Json) -> dict[str, Any]:
    """What was asked for beside the amounts, as far as this version's record has it."""
    shared = job.get("shared")
    return {
        "requested_gpus_per_node": text.gpus_asked(job.get("tres_per_node")),
        "requested_gpu_types": text.gpus_asked_by_type(job.get("tres_per_node")),
        "requested_gpus_per_task": text.gpus_asked(job.get("tres_per_task")),
        "array": job.get("array_task_string") or "",
        "dependencies": text.dependencies(job.get("dependency")),
        "constraint": job.get("features") or "",
        "reservation": job.get("resv_name") or "",
        "tasks": number(job.get("tasks")),
        "tasks_per_node": number(job.get("tasks_per_node")),
        "cpus_per_task": number(job.get("cpus_per_task")),
        "requeue": bool(job["requeue"]) if "requeue" in job else None,
        "exclusive": "none" in ([shared] if isinstance(shared, str) else shared or ()) if "shared" in job else None,
    }


def accounting_record(job: Json, uid: int, exit_pair: tuple[int | None, int | None]) -> JobRecord:
    """slurmdbd's job: its times, TRES and comments are nested, the user is a name."""
    time, tres, comment, array = job["time"], job["tres"], job["comment"], job.get("array") or {}
    states, nodes = words(job["state"]["current"]), _assigned(job.get("nodes"))
    return JobRecord(
        job_id=number(array.get("job_id")) or int(job["job_id"]),
        array_task=number(array.get("task_id")),
        submit_time=text.instant(number(time["submission"])),
        uid=uid,
        user=job.get("user") or "",
        states=states,
        account=job.get("account") or "",
        partition=job.get("partition") or "",
        qos=job.get("qos") or "",
        reason=reason(job["state"].get("reason")),
        eligible_time=text.moment(number(time.get("eligible"))),
        time_limit_minutes=number(time.get("limit")),
        restart_count=number(job.get("restart_cnt")) or 0,
        nodes=nodes,
        name=job.get("name") or "",
        comment=comment.get("job") or "",
        admin_comment=comment.get("administrator") or "",
        working_directory=job.get("working_directory") or "",
        from_accounting=True,
        **times(states, nodes, number(time.get("start")), number(time.get("end"))),
        **amounts(_joined(tres.get("allocated") or tres.get("requested") or ())),
        **outcome(states, exit_pair),
    )


def _assigned(nodes: str | None) -> str:
    return "" if nodes in (None, "None assigned", "(null)") else str(nodes)


def _joined(entries: Iterable[Json]) -> str:
    """slurmdbd's list of {"type": "gres", "name": "gpu:a100", "count": 2} as the usual text."""
    kinds = ((entry, entry["type"] + (f"/{entry['name']}" if entry.get("name") else "")) for entry in entries)
    units = {"mem": "M"}
    return ",".join(f"{kind}={number(e.get('count')) or 0}{units.get(kind, '')}" for e, kind in kinds)


def node_record(node: Json, states: frozenset[str]) -> NodeRecord:
    types, used = text.gpu_types(node.get("gres")), text.tres(node.get("tres_used"))
    return NodeRecord(
        name=node["name"],
        states=states,
        cpus=int(node.get("cpus") or 0),
        cpus_allocated=int(node.get("alloc_cpus") or 0),
        memory_mb=number(node.get("real_memory")) or 0,
        memory_allocated_mb=number(node.get("alloc_memory")) or 0,
        gpu_types=types,
        gpus_allocated=used.gpus,
        partitions=tuple(node.get("partitions") or ()),
        reason=node.get("reason") or "",
        reason_since=text.moment(number(node.get("reason_changed_at"))),
    )


def partition_record(name: str, state: str, nodes: str, **limits: Any) -> PartitionRecord:
    """`limits`: PartitionRecord's own names, as JSON has them."""
    return PartitionRecord(
        name=name,
        state=state.upper(),
        nodes=text.hosts(nodes),
        max_time_minutes=number(limits.get("max_time")),
        default_time_minutes=number(limits.get("default_time")),
        max_nodes=number(limits.get("max_nodes")),
        total_cpus=number(limits.get("total_cpus")) or 0,
        allowed_accounts=names(limits.get("accounts")),
        allowed_qos=names(limits.get("qos")),
        billing=text.weights(limits.get("billing") or ""),
    )
