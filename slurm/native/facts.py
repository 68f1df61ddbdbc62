"""pyslurm's objects in the words of slurmrestd's JSON: plain numbers, one state, TRES as text."""

from __future__ import annotations

from typing import Any

from slurm.adapters.common import task_path


def job(one: Any) -> dict[str, Any]:
    """As slurm.adapters.common.job_record reads it, with its exit as a pair. GPUs per task it does not show."""
    return {
        "job_id": one.id,
        "array_job_id": one.array_id,
        "array_task_id": one.array_task_id,
        "submit_time": one.submit_time,
        "user_id": one.user_id,
        "user_name": one.user_name,
        "job_state": one.state,
        "state_reason": one.state_reason,
        "account": one.account,
        "partition": one.partition,
        "qos": one.qos,
        "eligible_time": one.eligible_time,
        "start_time": one.start_time,
        "end_time": one.end_time,
        "time_limit": _number(one.time_limit),
        "restart_cnt": one.requeue_count,
        "nodes": one.allocated_nodes,
        "tres_alloc_str": tres(one.allocated_tres),
        "tres_req_str": tres(one.requested_tres),
        "exit": pair(one),
        **_words(one),
        **_asked(one),
    }


def _words(one: Any) -> dict[str, Any]:
    """libslurm puts numbers into the paths of an array that has none yet: its mark for "unset" where %a stood."""
    return {
        "name": one.name,
        "comment": one.comment,
        "admin_comment": one.admin_comment,
        "current_working_directory": one.working_directory,
        "standard_output": task_path(one.standard_output),
        "standard_error": task_path(one.standard_error),
    }


def _asked(one: Any) -> dict[str, Any]:
    waiting, limit = one.array_tasks_waiting, one.array_tasks_parallel
    return {
        "tres_per_node": ",".join(f"{name}:{count}" for name, count in (one.gres_per_node or {}).items()),
        "array_task_string": f"{waiting}%{limit}" if waiting and limit else waiting,
        "dependency": _dependency(one.dependencies),
        "features": ",".join(one.constraints or ()),
        "resv_name": one.reservation,
        "tasks": _number(one.ntasks),
        "tasks_per_node": _number(one.ntasks_per_node),
        "cpus_per_task": _number(one.cpus_per_task),
        "requeue": bool(one.is_requeueable),
        "shared": "none" if one.resource_sharing == "NO" else "",
    }


def _dependency(conditions: dict[str, Any] | None) -> str:
    kinds = ((kind, jobs) for kind, jobs in (conditions or {}).items() if isinstance(jobs, list))
    return ",".join(f"{kind}:{number}" for kind, jobs in kinds for number in jobs)


def _number(value: Any) -> int | None:
    """ "UNLIMITED" and the like are none."""
    return value if isinstance(value, int) else None


def tres(found: Any) -> str:
    if found is None:
        return ""
    parts = {"cpu": found.cpu, "mem": found.mem, "node": found.node}
    plain = [f"{name}={part.count}{'M' if name == 'mem' else ''}" for name, part in parts.items() if part]
    return ",".join([*plain, *(f"gres/{name}={part.count}" for name, part in found.gres.items())])


def pair(one: Any) -> tuple[int | None, int | None]:
    """A job ended by a signal has no exit code."""
    signal = one.exit_code_signal
    return (None, signal) if signal else (one.exit_code or 0, None)


def accounted(one: Any) -> dict[str, Any]:
    """As slurm.adapters.common.accounting_record reads it: for its words."""
    return {
        "job_id": one.id,
        "array": {"job_id": one.array_id, "task_id": one.array_task_id},
        "user": one.user_name,
        "state": {"current": one.state, "reason": one.state_reason},
        "time": {"submission": one.submit_time, "eligible": one.eligible_time, "start": one.start_time,
                 "end": one.end_time, "limit": _number(one.time_limit)},
        "tres": {},
        "comment": {"job": one.comment, "administrator": one.admin_comment},
        "account": one.account,
        "partition": one.partition,
        "qos": one.qos,
        "nodes": one.nodelist,
        "name": one.name,
        "working_directory": one.working_directory,
        "exit": pair(one),
    }  # fmt: skip


def node(one: Any) -> dict[str, Any]:
    """As slurm.adapters.common.node_record reads it."""
    return {
        "name": one.name,
        "states": one.state.replace("+", ","),
        "cpus": one.total_cpus,
        "alloc_cpus": one.allocated_cpus,
        "real_memory": one.real_memory,
        "alloc_memory": one.allocated_memory,
        "gres": ",".join(f"{name}:{count}" for name, count in (one.configured_gres or {}).items()),
        "tres_used": ",".join(f"{name}={count}" for name, count in (one.allocated_tres or {}).items()),
        "partitions": one.partitions or [],
        "reason": one.reason,
        "reason_changed_at": one.reason_time,
    }


def partition(one: Any) -> dict[str, Any]:
    """PartitionRecord's limits by the names slurm.adapters.common.partition_record takes."""
    return {
        "name": one.name,
        "state": one.state,
        "nodes": one.nodes,
        "max_time": _number(one.max_time),
        "default_time": _number(one.default_time),
        "max_nodes": _number(one.max_nodes),
        "total_cpus": one.total_cpus,
        "accounts": _all_but(one.allowed_accounts),
        "qos": _all_but(one.allowed_qos),
    }


def _all_but(names: list[str] | None) -> str:
    return ",".join(name for name in names or () if name != "ALL")
