"""From our request to what Slurm gets, and whether what Slurm has is what was asked for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from jobs import code, parameters, wrapping
from jobs.models import Handover, Job
from jobs.options import Options
from jobs.services import dependencies
from jobs.services.people import Identity
from presets import building
from presets.services import environments
from slurm import text
from slurm.contract import Gateway, JobRecord, Submission

PATH = "/usr/local/bin:/usr/bin:/bin"
NEARLY = timedelta(minutes=1)  # a begin time that goes as seconds from now arrives a little later


def submission_of(job: Job, handover: Handover, who: Identity, waits_for: frozenset[str] = frozenset()) -> Submission:
    """The complete request: it starts in the project's folder or the one asked for in it; output lies in logs/.

    `waits_for` are its dependencies as Slurm names them (jobs.services.dependencies).
    """
    asked = job.asked
    tasks = asked.tasks_per_node or 1
    output = f"{job.project.folder}/logs/{job.pk}-{'%A_%a' if asked.array else '%j'}"
    return Submission(
        name=job.name,
        account=job.project.slurm_account,
        partition=job.partition,
        qos=job.allocation.qos if job.allocation else "",
        script=wrapping.wrapped(
            job.script, wrapping.notes_path(job.project.folder, job.pk), _row_of_task(asked), _before(job)
        ),
        working_directory=f"{job.project.folder}/{asked.folder}" if asked.folder else job.project.folder,
        standard_output=f"{output}.out",
        standard_error=f"{output}.err" if asked.separate_errors else "",
        time_limit_minutes=job.time_limit_minutes or 1,
        comment=handover.comment,
        nodes=job.nodes,
        tasks=job.nodes * tasks,
        cpus_per_task=job.cpus // tasks,
        memory_mb=job.memory_mb,
        gpus=job.gpus,
        gpu_type=job.gpu_type,
        gpus_per_task=asked.gpus_per_task,
        tasks_per_node=asked.tasks_per_node,
        exclusive=asked.exclusive,
        constraint=asked.constraint,
        reservation=asked.reservation,
        begin=_ahead(asked.begin),
        signal=asked.signal,
        requeue=asked.requeue,
        array=asked.array,
        dependencies=waits_for,
        environment=_environment(job, who),
    )


def _row_of_task(asked: Options) -> str:
    return parameters.exports(asked.task_numbers, asked.parameters)


def _before(job: Job) -> str:
    """Before notes are written: code is fetched, and an environment of the project's is used, by a script of shell."""
    asked, own = job.asked, environments.named(job.asked.software)
    lines = [code.line(job.project.folder.rstrip("/"), job.pk, asked.git)] if asked.git else []
    return "; ".join([*lines, *([own.line] if own else [])])


def _unread(job: Job) -> dict[str, str]:
    """The same for a script into which no line of shell can be written."""
    own = None if wrapping.is_shell(job.script) else environments.named(job.asked.software)
    return building.variables(own.path, own.kind, PATH) if own else {}


def _environment(job: Job, who: Identity) -> dict[str, str]:
    return {
        **{str(name): str(value) for name, value in job.environment.items()},
        **{str(one["variable"]): str(one["path"]) for one in job.datasets},
        "HOME": who.home,
        "USER": who.login,
        "LOGNAME": who.login,
        "SHELL": who.shell,
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "BANCADA_JOB": str(job.pk),
        **({} if job.is_array else {"BANCADA_METRICS": wrapping.metrics_path(job.project.folder, job.pk)}),
        **_table(job),
        **_unread(job),
    }


def _table(job: Job) -> dict[str, str]:
    """The whole table, for a script into which no line of shell can be written."""
    asked = job.asked
    if not asked.parameters or wrapping.is_shell(job.script):
        return {}
    return {"BANCADA_PARAMETERS": parameters.as_json(asked.task_numbers, asked.parameters)}


def _ahead(begin: str) -> datetime | None:
    """A time that has come meanwhile asks for nothing."""
    at = datetime.fromisoformat(begin) if begin else None
    return at if at and at > timezone.now() else None


Facts = dict[str, tuple[Any, Any]]  # name -> (asked for, in Slurm's record)


def differences(asked: Submission, record: JobRecord, uid: int) -> list[str]:
    """The names of the facts in which Slurm's record differs from what was asked; an empty list is the same.

    What a release's record does not show (None) is not compared; the signal before the end is in no release's.
    """
    facts = _facts(asked, record, uid) | _amounts(asked, record) | _options(asked, record)
    return [name for name, (wanted, got) in facts.items() if wanted != got]


def compared(gateway: Gateway, asked: Submission, record: JobRecord, uid: int) -> tuple[str, ...]:
    """The same; where Slurm no longer shows a job to wait for, it is asked whether that one has ended since."""
    found = differences(asked, record, uid)
    if "dependencies" in found and dependencies.met_meanwhile(gateway, asked, record.dependencies):
        found.remove("dependencies")
    return tuple(found)


def _facts(asked: Submission, record: JobRecord, uid: int) -> Facts:
    return {
        "uid": (uid, record.uid),
        "account": (asked.account, record.account),
        "partition": (asked.partition, record.partition),
        "qos": (asked.qos, record.qos),
        "name": (asked.name, record.name),
        "time limit": (asked.time_limit_minutes, record.time_limit_minutes),
        "working directory": (asked.working_directory, record.working_directory),
        "output": (_path(asked.standard_output, record), _path(record.standard_output, record)),
        "errors": (_path(asked.standard_error, record), _path(record.standard_error, record)),
        "token": (asked.comment, record.admin_comment or record.comment),
    }


def _path(path: str, record: JobRecord) -> str:
    """Some releases show the job's number, others the sign for it."""
    return path.replace("%j", str(record.job_id)).replace("%A", str(record.job_id))


def _amounts(asked: Submission, record: JobRecord) -> Facts:
    types = {asked.gpu_type: asked.gpus} if asked.gpus else {}
    found: Facts = {
        "nodes": (asked.nodes, record.node_count),
        "CPUs": (asked.tasks * asked.cpus_per_task, record.cpus),
        "memory": (asked.memory_mb * asked.nodes or record.memory_mb, record.memory_mb),
        "GPUs": (asked.gpus * asked.nodes, record.gpus),
        "GPUs per node": (asked.gpus, record.requested_gpus_per_node),
        "GPU type": (types, dict(record.requested_gpu_types)),
    }
    shown: Facts = {
        "tasks": (asked.tasks, record.tasks),
        "CPUs per task": (asked.cpus_per_task, record.cpus_per_task),
        "GPUs per task": (asked.gpus_per_task, record.requested_gpus_per_task),
    }
    if asked.tasks_per_node:
        shown["tasks per node"] = (asked.tasks_per_node, record.tasks_per_node)
    return found | _where_shown(shown)


def _options(asked: Submission, record: JobRecord) -> Facts:
    found: Facts = {
        "array": _arrays(asked.array, record),
        "dependencies": (asked.dependencies, record.dependencies),
        "constraint": (asked.constraint, record.constraint),
        "reservation": (asked.reservation, record.reservation),
    }
    shown: Facts = {}
    if asked.begin:
        late = record.eligible_time - asked.begin if record.eligible_time else None
        found["begin time"] = (True, late is not None and abs(late) < NEARLY)
    if asked.requeue is not None:
        shown["requeue"] = (asked.requeue, record.requeue)
    if asked.exclusive:  # a partition may give whole nodes to everybody
        shown["exclusive"] = (True, record.exclusive)
    return found | _where_shown(shown)


def _where_shown(facts: Facts) -> Facts:
    return {name: (wanted, got) for name, (wanted, got) in facts.items() if got is not None}


def _arrays(asked: str, record: JobRecord) -> tuple[Any, Any]:
    """The tasks and how many at once. What Slurm cut short must be the beginning."""
    shown, _, limit = record.array.partition("%")
    if not asked or not shown:
        return bool(asked), bool(shown) or record.array_task is not None
    wanted, got = text.tasks(asked), text.tasks(shown.removesuffix(",..."))
    same = got == (wanted[: len(got)] if shown.endswith("...") else wanted)
    return (True, text.throttle(asked)), (same, int(limit or 0))
