"""REST v0.0.42, as Slurm 24.11 to 26.05 speak it: {"set", "infinite", "number"}, states and environment as lists."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from slurm.adapters import Json, common
from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Submission

VERSION = "v0.0.42"


def submit_body(submission: Submission) -> dict[str, Any]:
    """A key this version does not know is ignored with a warning: the record is read back and compared."""
    job: dict[str, Any] = {
        "script": submission.script,
        "name": submission.name,
        "account": submission.account,
        "partition": submission.partition,
        "qos": submission.qos,
        "current_working_directory": submission.working_directory,
        "standard_output": submission.standard_output,
        "time_limit": _number(submission.time_limit_minutes),
        "comment": submission.comment,
        "nodes": str(submission.nodes),
        "tasks": submission.tasks,
        "cpus_per_task": submission.cpus_per_task,
        "environment": [f"{name}={value}" for name, value in submission.environment.items()],
        "hold": True,
    }
    if submission.standard_error:
        job["standard_error"] = submission.standard_error
    if submission.memory_mb:
        job["memory_per_node"] = _number(submission.memory_mb)
    if submission.gpus:
        job["tres_per_node"] = f"gres/gpu:{common.gpus(submission.gpu_type, submission.gpus)}"
    return {"job": job | _options(submission)}


def _options(asked: Submission) -> dict[str, Any]:
    per_task = common.gpus(asked.gpu_type, asked.gpus_per_task) if asked.gpus_per_task else ""
    said: dict[str, Any] = {
        "array": asked.array,
        "constraints": asked.constraint,
        "reservation": asked.reservation,
        "tasks_per_node": asked.tasks_per_node,
        "tres_per_task": f"gres/gpu:{per_task}" if per_task else "",
        "shared": ["none"] if asked.exclusive else [],
        "dependency": common.dependency(asked.dependencies),
        "begin_time": _number(int(asked.begin.timestamp())) if asked.begin else None,
        **_signal(asked.signal),
    }
    known = {name: value for name, value in said.items() if value}
    return known if asked.requeue is None else known | {"requeue": asked.requeue}


_TO = {"B": "BATCH_JOB", "R": "RESERVATION_JOB"}


def _signal(text: str) -> dict[str, Any]:
    if not text:
        return {}
    to, _, rest = text.rpartition(":")
    name, _, seconds = rest.partition("@")
    return {
        "kill_warning_signal": name,
        "kill_warning_delay": _number(int(seconds or 60)),
        "kill_warning_flags": [_TO[letter] for letter in to if letter in _TO],
    }


def _number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def hold_body(held: bool) -> dict[str, Any]:
    return {"hold": held}


def _exit_pair(status: Json) -> tuple[int | None, int | None]:
    """Set and 0 means none for a signal."""
    signal = common.number((status.get("signal") or {}).get("id"))
    return (None, signal) if signal else (common.number(status.get("return_code")), None)


def job_record(job: Json) -> JobRecord:
    return common.job_record(_signs(job), _exit_pair(job.get("exit_code") or {}))


def _signs(job: Json) -> Json:
    """24.11 puts numbers into the paths of an array that has none yet."""
    if not job.get("array_task_string"):
        return job
    paths = {name: common.task_path(job.get(name)) for name in ("standard_output", "standard_error")}
    return {**job, **paths}


def accounting_query(account: str, since: datetime) -> dict[str, str]:
    return {"account": account, "start_time": f"uts{int(since.timestamp())}"}


def accounting_record(job: Json, uid: int) -> JobRecord:
    return common.accounting_record(job, uid, _exit_pair(job.get("exit_code") or {}))


def node_record(node: Json) -> NodeRecord:
    return common.node_record(node, common.words(node["state"]))


def partition_record(partition: Json) -> PartitionRecord:
    most, usual = partition["maximums"], partition["defaults"]
    return common.partition_record(
        partition["name"],
        next(iter(partition["partition"]["state"]), ""),
        partition["nodes"]["configured"],
        max_time=most.get("time"),
        default_time=usual.get("time"),
        max_nodes=most.get("nodes"),
        total_cpus=partition["cpus"].get("total"),
        accounts=partition["accounts"].get("allowed"),
        qos=partition["qos"].get("allowed"),
        billing=partition["tres"].get("billing_weights"),
    )


def release(answer: Json) -> str:
    return str(answer["meta"]["slurm"]["release"])


def is_up(answer: Json) -> bool:
    return any(ping.get("pinged") == "UP" for ping in answer.get("pings") or ())
