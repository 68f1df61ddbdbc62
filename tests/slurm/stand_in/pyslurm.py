"""Stands in for pyslurm in a child process: the same names, asking the fake cluster of the test that started it.

As the real one it reads its configuration and its token once, when it is imported, and ends the process without one;
it copies every SLURM_ variable into a job's environment; it prints; its hold("user") ends the process.
"""

from __future__ import annotations

import base64
import json
import os
import pwd
import socket
from types import SimpleNamespace
from typing import Any

__version__ = "25.11.2"


class RPCError(Exception):
    def __init__(self, errno: int, msg: str) -> None:
        super().__init__(msg)
        self.errno, self.msg = errno, msg


def _user() -> str:
    middle = os.environ["SLURM_JWT"].split(".")[1]
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))["sun"]


try:
    _WHO = _user()
    _DOOR = socket.socket(socket.AF_UNIX)
    _DOOR.connect(os.environ["SLURM_CONF"])
    _LINES = _DOOR.makefile("rwb")
except (OSError, KeyError):
    os._exit(1)


def _ask(call: str, **facts: Any) -> Any:
    _LINES.write(json.dumps({"user": _WHO, "call": call, "with": facts}).encode() + b"\n")
    _LINES.flush()
    told = json.loads(_LINES.readline())
    if "errno" in told:
        raise RPCError(told["errno"], told["msg"])
    return told["done"]


def _objects(found: Any) -> Any:
    """A dict under "object" stands for an object, others stay dicts."""
    if isinstance(found, list):
        return [_objects(one) for one in found]
    if not isinstance(found, dict):
        return found
    if "object" in found:
        return SimpleNamespace(**{name: _objects(value) for name, value in found["object"].items()})
    return {name: _objects(value) for name, value in found.items()}


def _entry(name: str) -> SimpleNamespace:
    """This machine's directory is the fake cluster's."""
    number = _ask("uid", name=name)
    if number is None:
        raise KeyError(name)
    return SimpleNamespace(pw_uid=number, pw_gid=number)


pwd.getpwnam = _entry  # type: ignore[assignment]


class JobSubmitDescription:
    def __init__(self, **said: Any) -> None:
        self.said = said

    def submit(self) -> int:
        print("tres gres/gpu")
        copied = {name: value for name, value in os.environ.items() if name.startswith("SLURM_")}
        environment = {**copied, **(self.said.get("environment") or dict(os.environ))}
        return _ask("submit", **{**self.said, "environment": environment})


class Job:
    def __init__(self, job_id: int) -> None:
        self.number = job_id

    @staticmethod
    def load(job_id: int) -> Any:
        return _objects(_ask("job", job_id=job_id))

    def cancel(self) -> None:
        _ask("cancel", job_id=self.number)

    def release(self) -> None:
        _ask("hold", job_id=self.number, held=False)

    def modify(self, changes: JobSubmitDescription) -> None:
        assert changes.said == {"priority": 0}
        _ask("hold", job_id=self.number, held=True)

    def hold(self, mode: str = "") -> None:
        os._exit(139)


class _Collection:
    call = ""

    @classmethod
    def load(cls, wanted: Any = None) -> Any:
        found = _objects(_ask(cls.call, **(wanted.said if wanted else {})))
        return dict(enumerate(found))


class Jobs(_Collection):
    call = "jobs"


class Nodes(_Collection):
    call = "nodes"


class Partitions(_Collection):
    call = "partitions"


class _Accounted(_Collection):
    call = "accounted"


db = SimpleNamespace(Jobs=_Accounted, JobFilter=JobSubmitDescription)
slurmctld = SimpleNamespace(
    ping_all=lambda: [SimpleNamespace(is_responding=_ask("ping"))],
    Config=SimpleNamespace(load=lambda: SimpleNamespace(version=_ask("version"))),
    diag=lambda: SimpleNamespace(dbd_agent_queue_size=0),
)
