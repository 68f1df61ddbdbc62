"""From our request to what Slurm gets, and whether what Slurm has is what was asked for."""

from __future__ import annotations

from jobs.models import Handover, Job
from jobs.services.people import Identity
from slurm.contract import JobRecord, Submission

PATH = "/usr/local/bin:/usr/bin:/bin"


def submission_of(job: Job, handover: Handover, who: Identity) -> Submission:
    """The complete request: working directory is the project's folder, output lies in its logs/."""
    return Submission(
        name=job.name,
        account=job.project.slurm_account,
        partition=job.partition,
        qos=job.allocation.qos if job.allocation else "",
        script=job.script,
        working_directory=job.project.folder,
        standard_output=f"{job.project.folder}/logs/{job.pk}-%j.out",
        time_limit_minutes=job.time_limit_minutes or 1,
        comment=handover.comment,
        nodes=job.nodes,
        tasks=job.nodes,
        cpus_per_task=job.cpus,
        memory_mb=job.memory_mb,
        gpus=job.gpus,
        gpu_type=job.gpu_type,
        environment=_environment(job, who),
    )


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
    }


def differences(asked: Submission, record: JobRecord, uid: int) -> list[str]:
    """The names of the facts in which Slurm's record differs from what was asked; an empty list is the same."""
    facts = {
        "uid": (uid, record.uid),
        "account": (asked.account, record.account),
        "partition": (asked.partition, record.partition),
        "qos": (asked.qos, record.qos),
        "name": (asked.name, record.name),
        "time limit": (asked.time_limit_minutes, record.time_limit_minutes),
        "GPUs": (asked.gpus * asked.nodes, record.gpus),
        "working directory": (asked.working_directory, record.working_directory),
        "output": (
            asked.standard_output.replace("%j", str(record.job_id)),
            record.standard_output.replace("%j", str(record.job_id)),
        ),
        "token": (asked.comment, record.admin_comment or record.comment),
    }
    return [name for name, (wanted, got) in facts.items() if wanted != got]
