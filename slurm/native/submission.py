"""One complete request in pyslurm's words, as its owner submits it."""

from __future__ import annotations

import dataclasses
import pwd
import signal
from datetime import datetime
from typing import Any

from slurm.adapters import common
from slurm.contract import Refused, Submission

NO_SCRIPT, NO_ENVIRONMENT, NO_USER = 2125, 2127, 2010


def packed(submission: Submission) -> dict[str, Any]:
    """As JSON for the child."""
    facts = {field.name: getattr(submission, field.name) for field in dataclasses.fields(submission)}
    begin = submission.begin.isoformat() if submission.begin else None
    return {
        **facts,
        "begin": begin,
        "dependencies": sorted(submission.dependencies),
        "environment": dict(submission.environment),
    }


def unpacked(facts: dict[str, Any]) -> Submission:
    begin = datetime.fromisoformat(facts["begin"]) if facts["begin"] else None
    return Submission(**{**facts, "begin": begin, "dependencies": frozenset(facts["dependencies"])})


def described(asked: Submission, user: str) -> dict[str, Any]:
    """JobSubmitDescription's arguments. Raises Refused for what pyslurm would read as something else.

    A script that is a path it would read as a file; without an environment it would send its own.
    """
    if not asked.script.startswith("#!"):
        raise Refused("This does not look like a batch script", code=NO_SCRIPT)
    if not asked.environment:
        raise Refused("environment must be set", code=NO_ENVIRONMENT)
    said: dict[str, Any] = {
        "name": asked.name,
        "account": asked.account,
        "partitions": [asked.partition],
        "qos": asked.qos,
        "script": asked.script,
        "working_directory": asked.working_directory,
        "standard_output": asked.standard_output,
        "time_limit": asked.time_limit_minutes,
        "comment": asked.comment,
        "nodes": str(asked.nodes),
        "ntasks": asked.tasks,
        "cpus_per_task": asked.cpus_per_task,
        "environment": dict(asked.environment),
        "priority": 0,  # held
        **_owner(user),
    }
    return said | _options(asked)


def _owner(user: str) -> dict[str, int]:
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise Refused(f"this machine does not know the user {user}", code=NO_USER) from None
    return {"user_id": entry.pw_uid, "group_id": entry.pw_gid}


def _options(asked: Submission) -> dict[str, Any]:
    said = {
        "standard_error": asked.standard_error,
        "memory_per_node": f"{asked.memory_mb}M" if asked.memory_mb else "",
        "gres_per_node": f"gpu:{common.gpus(asked.gpu_type, asked.gpus)}" if asked.gpus else "",
        "gpus_per_task": f"gpu:{common.gpus(asked.gpu_type, asked.gpus_per_task)}" if asked.gpus_per_task else "",
        "ntasks_per_node": asked.tasks_per_node,
        "resource_sharing": "exclusive" if asked.exclusive else "",
        "constraints": asked.constraint,
        "reservations": [asked.reservation] if asked.reservation else [],
        "begin_time": int(asked.begin.timestamp()) if asked.begin else 0,
        "signal": _signal(asked.signal) if asked.signal else {},
        "array": asked.array,
        "dependencies": common.dependency(asked.dependencies),
    }
    known = {name: value for name, value in said.items() if value}
    return known if asked.requeue is None else known | {"is_requeueable": asked.requeue}


def _signal(text: str) -> dict[str, Any]:
    """pyslurm's own reading of "USR1" knows no such name."""
    to, _, rest = text.rpartition(":")
    name, _, seconds = rest.partition("@")
    try:
        number = int(name) if name.isdigit() else int(signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"])
    except KeyError:
        raise Refused(f"no signal is called {name[:20]!r}") from None
    return {
        "signal": number,
        "time": int(seconds or 60),
        "batch_only": "B" in to,
        "allow_reservation_overlap": "R" in to,
    }
