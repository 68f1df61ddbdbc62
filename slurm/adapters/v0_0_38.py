"""REST v0.0.38, as Slurm 22.05 speaks it: plain numbers, one state, the environment an object."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from slurm import text
from slurm.adapters import Json, common
from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Refused, Submission

VERSION = "v0.0.38"


def submit_body(submission: Submission) -> dict[str, Any]:
    """Only keys 22.05 knows: an unknown one is refused."""
    job: dict[str, Any] = {
        "name": submission.name,
        "account": submission.account,
        "partition": submission.partition,
        "qos": submission.qos,
        "current_working_directory": submission.working_directory,
        "standard_output": submission.standard_output,
        "time_limit": submission.time_limit_minutes,
        "comment": submission.comment,
        "nodes": str(submission.nodes),
        "tasks": submission.tasks,
        "cpus_per_task": submission.cpus_per_task,
        "environment": dict(submission.environment),
        "hold": "true",
    }
    if submission.standard_error:
        job["standard_error"] = submission.standard_error
    if submission.memory_mb:
        job["memory_per_node"] = submission.memory_mb
    if submission.gpus:
        job["gres"] = f"gpu:{common.gpus(submission.gpu_type, submission.gpus)}"
    return {"script": submission.script, "job": job | _options(submission)}


def _options(asked: Submission) -> dict[str, Any]:
    said: dict[str, Any] = {
        "array": asked.array,
        "constraints": asked.constraint,
        "reservation": asked.reservation,
        "tasks_per_node": asked.tasks_per_node,
        "gpus_per_task": common.gpus(asked.gpu_type, asked.gpus_per_task) if asked.gpus_per_task else "",
        "exclusive": "exclusive" if asked.exclusive else "",
        "dependency": common.dependency(asked.dependencies),
        "begin_time": _begin(asked.begin),
        "signal": _signal(asked.signal),
        # its "requeue" only ever says yes, whatever stands in it
        "requeue": "true" if asked.requeue else "",
        "no_requeue": "true" if asked.requeue is False else "",
    }
    return {name: value for name, value in said.items() if value}


def _begin(at: datetime | None) -> str:
    """22.05 reads a time on slurmrestd's own clock, in a zone we do not know: seconds from now mean one thing."""
    seconds = (at - datetime.now(UTC)).total_seconds() if at else 0
    return f"now+{math.ceil(seconds)}" if seconds > 0 else ""


def _signal(text: str) -> str:
    if "B" in text.partition(":")[0] and ":" in text:
        raise Refused("Slurm 22.05 takes no signal for the batch script (B:) here; without B: srun's tasks get it")
    return text


def hold_body(held: bool) -> dict[str, Any]:
    return {"hold": "true" if held else "false"}


def job_record(job: Json) -> JobRecord:
    return common.job_record(job, text.wait_status(int(job.get("exit_code") or 0)))


def accounting_query(account: str, since: datetime) -> dict[str, str]:
    """22.05 filters by account and start; its filter by user is broken."""
    return {"account": account, "start_time": f"uts{int(since.timestamp())}"}


def accounting_record(job: Json, uid: int) -> JobRecord:
    """Without an exit status: 22.05's JSON says 0 for every failure, its text is right."""
    return common.accounting_record(job, uid, (None, None))


def node_record(node: Json) -> NodeRecord:
    return common.node_record(node, common.words([node["state"], *(node.get("state_flags") or ())]))


def partition_record(partition: Json) -> PartitionRecord:
    return common.partition_record(
        partition["name"],
        partition["state"],
        partition["nodes"],
        max_time=partition.get("max_time_limit"),
        default_time=partition.get("default_time_limit"),
        max_nodes=partition.get("maximum_nodes_per_job"),
        total_cpus=partition.get("total_cpus"),
        accounts=partition.get("allowed_accounts"),
        qos=partition.get("allowed_qos"),
        billing=partition.get("billing_weights"),
    )


def release(answer: Json) -> str:
    return str(answer["meta"]["Slurm"]["release"])


def is_up(answer: Json) -> bool:
    return any(ping.get("ping") == "UP" for ping in answer.get("pings") or ())
