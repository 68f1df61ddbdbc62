"""Scripts as people write them, imported and submitted for real: what Slurm then has is what was approved."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from accounts.models import User
from cluster.models import Partition
from jobs import specs
from jobs.models import Handover, Job
from jobs.services.importing import Dictionary, Imported
from jobs.services.importing.reading import Reader
from jobs.services.people import Identity
from jobs.services.submissions import differences, submission_of
from projects.models import Project
from quotas.models import Allocation
from slurm.contract import JobRecord, Submission
from tests.contract.fake_lab import FakeLab
from tests.contract.lab import Lab
from tests.contract.real_lab import RealLab
from tests.contract.spellings import MALFORMED, SPELLINGS

GPU = Partition(
    name="gpu", node_names=["gpu01", "gpu02"], gpu_types={"a100": {"per_node": 4, "total": 8}}, max_nodes=2,
    max_time_minutes=1440, default_time_minutes=60, cpus_per_node=16, memory_mb_per_node=64_000,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is in the database: a number of Slurm's is nobody's job."""
    monkeypatch.setattr(Reader, "_job", lambda self, number: "")


def imported(lab: Lab, lines: str) -> Imported:
    project = Project(code="visao", slurm_account=lab.davi.account, folder=lab.folder(lab.davi), partitions=["gpu"])
    text = f"#!/bin/bash\n{lines}\nsleep 1\n"
    return Reader(project, [GPU], User(username="davi"), Dictionary(), "script.sh").read(text)


def asked(lab: Lab, found: Imported) -> tuple[specs.JobSpec, Submission]:
    """The approved request, and what the worker makes of it."""
    project = Project(code="visao", slurm_account=lab.davi.account, folder=lab.folder(lab.davi), partitions=["gpu"])
    spec = specs.check(dict(found.fields), project=project, partitions=[GPU])
    job = Job(
        pk=UUID(int=7), project=project, allocation=Allocation(qos=lab.davi.qos), name=spec.name,
        partition=spec.partition, gpu_type=spec.gpu_type, gpus=spec.gpus, nodes=spec.nodes, cpus=spec.cpus,
        memory_mb=spec.memory_mb, time_limit_minutes=spec.time_limit_minutes, script=spec.script,
        environment=dict(spec.environment), options=spec.options.stored(),
    )  # fmt: skip
    who = Identity("davi", lab.davi.uid, "/tmp", "/bin/bash")
    return spec, submission_of(job, Handover(job=job), who)


def as_said(lab: Lab, spec: specs.JobSpec) -> dict[str, Any]:
    """The approved request in the words of the table; what is as usual is left out."""
    usual = {"minutes": 60, "name": "script", "gb": 4, "cpus": 1, "nodes": 1, "per_node": 0, "per_task": 0, "gpus": 0,
             "array": "", "exclusive": False, "requeue": None, "signal": ""}  # fmt: skip
    of = spec.options
    found = {
        "minutes": spec.time_limit_minutes, "name": spec.name, "gb": spec.memory_mb // 1024, "cpus": spec.cpus,
        "nodes": spec.nodes, "per_node": of.tasks_per_node, "per_task": of.gpus_per_task, "gpus": spec.gpus,
        "array": of.array, "exclusive": of.exclusive, "requeue": of.requeue, "signal": of.signal,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value != usual[name]}


def test_sixty_spellings_are_accepted_as_approved(lab: Lab) -> None:
    """All at once, for each is a matter of milliseconds."""
    assert len(SPELLINGS) >= 60
    wrong: list[str] = []
    for lines, wanted in SPELLINGS:
        found = imported(lab, lines)
        assert found.state == "ready", (lines, found.in_the_way)
        spec, sent = asked(lab, found)
        begins = wanted.get("begins")
        if as_said(lab, spec) != {name: value for name, value in wanted.items() if name != "begins"}:
            wrong.append(f"{lines!r}: approved {as_said(lab, spec)}")
        job_id = lab.gateway.submit(sent, as_user="davi")
        record = lab.gateway.job(job_id, as_user="davi")
        assert record is not None
        differs = differences(sent, record, lab.davi.uid)
        if begins and not abs((record.eligible_time or lab.now()) - lab.now() - timedelta(minutes=begins)) < timedelta(
            minutes=2
        ):
            differs.append("begin time")
        if differs:
            wrong.append(f"{lines!r}: differs in {differs}")
        lab.gateway.cancel(job_id, as_user="davi")
    assert wrong == []


def test_sbatch_itself_reads_them_the_same(lab: Lab) -> None:
    """The very files given to sbatch: its own reading beside ours."""
    if isinstance(lab, FakeLab):
        pytest.skip("the fake has no sbatch")
    assert isinstance(lab, RealLab)
    ours = [asked(lab, imported(lab, lines))[1] for lines, _wanted in SPELLINGS]
    theirs = sbatch(lab, [f"#!/bin/bash\n{lines}\nsleep 1\n" for lines, _wanted in SPELLINGS])
    wrong = [
        f"{lines!r}: {name} is {got} to sbatch and {wanted} here"
        for (lines, _wanted), mine, record in zip(SPELLINGS, ours, theirs, strict=True)
        for name, (wanted, got) in compared(lines, mine, record).items()
        if wanted != got
    ]
    assert wrong == []


def compared(lines: str, mine: Submission, record: JobRecord) -> dict[str, tuple[Any, Any]]:
    """What sbatch takes from the lines alone; the rest is the portal's to say (name, output, memory by default)."""
    found: dict[str, tuple[Any, Any]] = {
        "time limit": (mine.time_limit_minutes, record.time_limit_minutes), "nodes": (mine.nodes, record.node_count),
        "CPUs": (mine.tasks * mine.cpus_per_task, record.cpus), "GPUs": (mine.gpus * mine.nodes, record.gpus),
        "array": (bool(mine.array), bool(record.array)),
    }  # fmt: skip
    if "-J" in lines or "--job-n" in lines:
        found["name"] = (mine.name, record.name)
    if "--mem" in lines:
        found["memory"] = (mine.memory_mb * mine.nodes, record.memory_mb)
    if mine.requeue is not None:
        found["requeue"] = (mine.requeue, record.requeue)
    return found


def sbatch(lab: RealLab, scripts: list[str]) -> list[JobRecord]:
    """Each submitted held by sbatch in one go, as davi; then cancelled."""
    folder = lab.var / "home" / "spellings"
    folder.mkdir(mode=0o755, exist_ok=True)
    for number, text in enumerate(scripts):
        (folder / f"{number:03}.sh").write_text(text)
    words = f"--parsable --hold --account={lab.davi.account} --qos={lab.davi.qos} --partition=gpu --chdir=/tmp --output=/dev/null"
    loop = f'for one in /srv/var/home/spellings/*.sh; do sbatch {words} "$one" || exit 1; done'
    printed = lab._stack("exec", "--user", "davi", "--", "sh", "-c", loop)
    records = []
    for line in printed.split():
        record = lab.gateway.job(int(line), as_user="davi")
        assert record is not None
        records.append(record)
        lab.gateway.cancel(int(line), as_user="davi")
    return records


def test_each_malformed_script_is_refused_by_its_line_and_nothing_is_sent(lab: Lab) -> None:
    before = {record.job_id for record in lab.gateway.jobs()}
    for lines, line in MALFORMED:
        found = imported(lab, lines)
        assert found.state == "refused", lines
        assert line in {one.line for one in found.in_the_way} and all(one.said for one in found.in_the_way), lines
    assert {record.job_id for record in lab.gateway.jobs()} == before


def test_a_record_that_slurm_changed_is_told(lab: Lab) -> None:
    """The table would catch it: one fact of the approved request changed, and the records differ."""
    _spec, sent = asked(lab, imported(lab, "#SBATCH -t 10 -c 2 --gres=gpu:1 -a 1-3"))
    record = lab.gateway.job(lab.gateway.submit(sent, as_user="davi"), as_user="davi")
    assert record is not None
    for changes in ({"cpus_per_task": 1}, {"gpus": 2}, {"array": "1-4"}, {"time_limit_minutes": 11}):
        assert differences(dataclasses.replace(sent, **changes), record, lab.davi.uid), changes
