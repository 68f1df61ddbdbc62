"""Answers the stand-in for pyslurm from a fake cluster: its records and refusals in pyslurm's words."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Refused, SlurmError, Submission, Unreachable
from slurm.fake import Cluster
from slurm.orders import Order, Verb

PORTAL = ("bancada", "bancada-read")
DOWN, SILENT = 1800, 5004


class Desk(socketserver.ThreadingUnixStreamServer):
    """Listens at `path` until it is closed."""

    daemon_threads = True

    def __init__(self, path: Path, cluster: Cluster) -> None:
        super().__init__(str(path), _Line)
        self.cluster = cluster
        self.submitted: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, user: str, call: str, facts: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"done": _CALLS[call](self, user, **facts)}
        except Refused as error:
            return {"errno": error.code or 1, "msg": error.message}
        except SlurmError as error:
            return {"errno": DOWN if isinstance(error, Unreachable) else SILENT, "msg": str(error)}

    def submit(self, user: str, **said: Any) -> int:
        self.submitted.append(said)
        if said["user_id"] != self.cluster.users.get(user):
            raise Refused("Invalid user id", code=2010)
        return self.cluster.gateway().submit(_submission(said), as_user=user)

    def hold(self, user: str, job_id: int, held: bool) -> None:
        accounts, gateway = self.cluster.accounts(), self.cluster.gateway()
        if user in PORTAL:
            accounts.hold_any(job_id) if held else accounts.order_any(Order(Verb.RELEASE, job_id))
        else:
            (gateway.hold if held else gateway.release)(job_id, as_user=user)

    def cancel(self, user: str, job_id: int) -> None:
        if user in PORTAL:
            self.cluster.accounts().cancel_any(job_id)
        else:
            self.cluster.gateway().cancel(job_id, as_user=user)

    def job(self, user: str, job_id: int) -> dict[str, Any]:
        found = self.cluster.gateway().job(job_id, as_user=None if user in PORTAL else user)
        if found is None:
            raise Refused("Invalid job id specified", code=2017)
        return _job(found, self._is_array(job_id))

    def jobs(self, user: str) -> list[dict[str, Any]]:
        gateway = self.cluster.gateway()
        found = [(gateway._whole(one), one) for one in self.cluster.present() if user in (*PORTAL, one.user)]
        seen = {(record.job_id, record.array_task): _job(record, bool(one.asked.array)) for record, one in found}
        return list(seen.values())

    def _is_array(self, job_id: int) -> bool:
        return bool(self.cluster.get(job_id).asked.array)

    def accounted(self, user: str, accounts: list[str], start_time: int) -> list[dict[str, Any]]:
        since, gateway = datetime.fromtimestamp(start_time, UTC), self.cluster.gateway()
        uids = self.cluster.users.values()
        found = [row for uid in uids for row in gateway.accounting_details(accounts[0], since, uid)]
        return [_object(_times(row) | _plain(row) | {"nodelist": row.nodes}) for row in found]

    def nodes(self, user: str) -> list[dict[str, Any]]:
        return [_node(one) for one in self.cluster.gateway().nodes()]

    def partitions(self, user: str) -> list[dict[str, Any]]:
        return [_partition(one) for one in self.cluster.gateway().partitions()]

    def uid(self, user: str, name: str) -> int | None:
        return self.cluster.users.get(name)

    def ping(self, user: str) -> bool:
        self.cluster.gateway().version()
        return True

    def version(self, user: str) -> str:
        return self.cluster.gateway().version()


class _Line(socketserver.StreamRequestHandler):
    server: Desk

    def handle(self) -> None:
        for line in self.rfile:
            asked = json.loads(line)
            told = self.server.answer(asked["user"], asked["call"], asked["with"])
            self.wfile.write(json.dumps(told).encode() + b"\n")


_NAMES = ("submit", "hold", "cancel", "job", "jobs", "accounted", "nodes", "partitions", "uid", "ping", "version")
_CALLS: dict[str, Callable[..., Any]] = {name: getattr(Desk, name) for name in _NAMES}


def _submission(said: dict[str, Any]) -> Submission:
    typed, _, number = said.get("gres_per_node", "").removeprefix("gpu:").rpartition(":")
    signal = said.get("signal")
    return Submission(
        **{name: said[name] for name in ("name", "account", "qos", "script", "working_directory", "comment")},
        standard_output=said["standard_output"],
        standard_error=said.get("standard_error", ""),
        partition=said["partitions"][0],
        time_limit_minutes=said["time_limit"],
        nodes=int(said["nodes"]),
        tasks=said["ntasks"],
        cpus_per_task=said["cpus_per_task"],
        tasks_per_node=said.get("ntasks_per_node", 0),
        memory_mb=int(said.get("memory_per_node", "0M").removesuffix("M")),
        gpus=int(number or 0),
        gpu_type=typed,
        gpus_per_task=int(said.get("gpus_per_task", "0").rpartition(":")[2]),
        exclusive=said.get("resource_sharing") == "exclusive",
        constraint=said.get("constraints", ""),
        reservation=",".join(said.get("reservations", [])),
        begin=datetime.fromtimestamp(said["begin_time"], UTC) if said.get("begin_time") else None,
        signal=f"{signal['signal']}@{signal['time']}" if signal else "",
        requeue=said.get("is_requeueable"),
        array=said.get("array", ""),
        dependencies=frozenset(filter(None, said.get("dependencies", "").split(","))),
        environment=said["environment"],
    )


def _object(facts: dict[str, Any]) -> dict[str, Any]:
    return {"object": facts}


def _count(number: int) -> dict[str, Any]:
    return _object({"count": number})


def _seconds(at: datetime | None) -> int | None:
    return int(at.timestamp()) if at else None


def _times(record: JobRecord) -> dict[str, Any]:
    times = ("submit_time", "eligible_time", "start_time", "end_time")
    return {name: _seconds(getattr(record, name)) for name in times}


def _plain(record: JobRecord) -> dict[str, Any]:
    same = ("account", "partition", "qos", "name", "comment", "admin_comment", "working_directory", "exit_code")
    return {
        **{name: getattr(record, name) for name in same},
        "id": record.job_id,
        "array_id": None,
        "array_task_id": record.array_task,
        "user_id": record.uid,
        "user_name": record.user,
        "state": next(iter(record.states)),
        "state_reason": record.reason or "None",
        "time_limit": record.time_limit_minutes,
        "exit_code_signal": record.exit_signal,
    }


def _job(record: JobRecord, is_array: bool) -> dict[str, Any]:
    waiting, _, limit = record.array.partition("%")
    kinds = {one.partition(":")[0] for one in record.dependencies}
    after = {kind: [one.partition(":")[2] + "(unfulfilled)" for one in record.dependencies if one.startswith(kind)]
             for kind in kinds}  # fmt: skip
    per_node = {f"gres/gpu:{kind}": number for kind, number in record.requested_gpu_types.items()}
    return _object(
        _plain(record)
        | _times(record)
        | {
            "array_id": record.job_id if is_array else None,
            "requeue_count": record.restart_count,
            "allocated_nodes": record.nodes,
            "allocated_tres": None if not record.nodes else _tres(record),
            "requested_tres": _tres(record),
            "standard_output": record.standard_output.replace("%a", "4294967294"),
            "standard_error": record.standard_error,
            "array_tasks_waiting": waiting or None,
            "array_tasks_parallel": int(limit) if limit else None,
            "gres_per_node": per_node,
            "dependencies": {**after, "singleton": False, "satisfy": "all"} if after else None,
            "constraints": [record.constraint] if record.constraint else [],
            "reservation": record.reservation or None,
            "ntasks": record.tasks,
            "ntasks_per_node": record.tasks_per_node,
            "cpus_per_task": record.cpus_per_task,
            "is_requeueable": record.requeue,
            "resource_sharing": "NO" if record.exclusive else "OK",
        }
    )


def _tres(record: JobRecord) -> dict[str, Any]:
    gres = {"gpu": _count(record.gpus)} if record.gpus else {}
    gres |= {f"gpu:{kind}": _count(number) for kind, number in record.gpu_types.items()}
    return _object(
        {"cpu": _count(record.cpus), "mem": _count(record.memory_mb), "node": _count(record.node_count), "gres": gres}
    )


def _node(one: NodeRecord) -> dict[str, Any]:
    return _object(
        {
            "name": one.name,
            "state": "+".join(sorted(one.states)),
            "total_cpus": one.cpus,
            "allocated_cpus": one.cpus_allocated,
            "real_memory": one.memory_mb,
            "allocated_memory": one.memory_allocated_mb,
            "configured_gres": {f"gpu:{kind}": number for kind, number in one.gpu_types.items()},
            "allocated_tres": {"gres/gpu": one.gpus_allocated} if one.gpus_allocated else {},
            "partitions": list(one.partitions),
            "reason": one.reason or None,
            "reason_time": _seconds(one.reason_since),
        }
    )


def _partition(one: PartitionRecord) -> dict[str, Any]:
    return _object(
        {
            "name": one.name,
            "state": one.state,
            "nodes": ",".join(one.nodes),
            "max_time": one.max_time_minutes,
            "default_time": one.default_time_minutes,
            "max_nodes": one.max_nodes,
            "total_cpus": one.total_cpus,
            "allowed_accounts": list(one.allowed_accounts) or ["ALL"],
            "allowed_qos": list(one.allowed_qos) or ["ALL"],
        }
    )
