"""Whose a process is: cgroups, descent, its own word; and who lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpu.allotted import Allotments, numbers
from gpu.procfs import Proc
from gpu.usage import Usage
from gpu.whose import OUTSIDE, UNKNOWN, Whose, job_of_cgroup

PERSON, OTHER = 20001, 20002


class Processes:
    """A /proc made of files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(
        self, pid: int, parent: int = 1, *, uid: int = PERSON, comm: str = "python", title: str = "python",
        cgroup: str = "/", env: dict[str, str] | None = None, cpu: int = 10,
    ) -> None:  # fmt: skip
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "stat").write_text(f"{pid} ({comm}) S {parent} {'0 ' * 9}{cpu} 0 0 0 0 0 0 0 100 0 25 0 0\n")
        (folder / "status").write_text(f"Name:\t{comm}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        (folder / "cmdline").write_bytes(title.encode() + b"\0")
        (folder / "cgroup").write_text(f"0::{cgroup}\n")
        (folder / "environ").write_bytes(b"".join(f"{k}={v}".encode() + b"\0" for k, v in (env or {}).items()))
        (folder / "io").write_text(f"rchar: {pid * 10}\nwchar: 7\n")

    def step(self, pid: int, job: int, uid: int = 0) -> None:
        self.add(pid, uid=uid, comm="slurmstepd", title=f"slurmstepd: [{job}.batch]")


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


@pytest.fixture
def whose(tmp_path: Path) -> Whose:
    return Whose(Proc(str(tmp_path)))


@pytest.mark.parametrize(
    ("path", "job"),
    [
        ("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0", "7"),
        ("0::/system.slice/gpu01_slurmstepd.scope/job_12/step_batch", "12"),
        ("4:memory:/slurm/uid_1000/job_9/step_0", "9"),
        ("4:memory:/slurm_gpu01/uid_1000/job_9", "9"),
        ("0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_1000/job_9", ""),
        ("0::/user.slice/system.slice/slurmstepd.scope/job_9", ""),
        ("0::/system.slice/slurmstepd.scope/job_9x", ""),
        ("0::/", ""),
    ],
)
def test_a_cgroup_counts_only_in_its_own_place(path: str, job: str) -> None:
    assert job_of_cgroup(path.encode())[0] == job


def test_by_cgroup_then_by_descent(processes: Processes, whose: Whose) -> None:
    processes.add(50, cgroup="/system.slice/slurmstepd.scope/job_3/step_0")
    processes.step(60, 4)
    processes.add(61, 60)
    processes.add(62, 61, comm="a) (b", uid=OTHER)
    processes.add(70)
    whose.look()
    assert [whose.job_of(pid) for pid in (50, 61, 62, 70, 71)] == ["3", "4", "4", OUTSIDE, UNKNOWN]


def test_only_root_is_slurmstepd(processes: Processes, whose: Whose) -> None:
    processes.step(60, 4, uid=PERSON)
    processes.add(61, 60)
    whose.look()
    assert whose.job_of(61) == OUTSIDE
    assert whose.now.members == {}


def test_ones_own_word_counts_for_ones_own_running_job_only(processes: Processes, whose: Whose) -> None:
    processes.step(60, 4)
    processes.add(61, 60)
    processes.add(80, env={"SLURM_JOB_ID": "4"})
    processes.add(81, env={"SLURM_JOB_ID": "4"}, uid=OTHER)
    processes.add(82, env={"SLURM_JOB_ID": "5"})
    processes.add(83, env={"SLURM_JOB_ID": '4"} 1\nevil 2'})
    whose.look()
    assert [whose.job_of(pid) for pid in (80, 81, 82, 83)] == ["4", OUTSIDE, OUTSIDE, OUTSIDE]


def test_a_step_counts_only_where_slurmd_says_it_is_here(processes: Processes, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "gpu01_4.4294967291").touch()
    (spool / "gpu02_5.0").touch()
    processes.step(60, 4)
    processes.add(61, 60)
    processes.step(70, 5)
    processes.add(71, 70)
    here = Whose(Proc(str(tmp_path)), spool=spool, node="gpu01")
    here.look()
    assert here.job_of(61) == "4"
    assert here.job_of(71) == OUTSIDE
    os.chown(spool / "gpu01_4.4294967291", PERSON, PERSON)
    here.look()
    assert here.now.members == {}


def test_a_process_younger_than_the_look_is_not_called_a_stranger(processes: Processes, whose: Whose) -> None:
    whose.look()
    processes.add(90)
    stat = processes.root / "90" / "stat"
    stat.write_text(stat.read_text().replace(" 100 0 25", f" {whose.proc.clock() + 5} 0 25"))
    assert whose.job_of(90) == UNKNOWN


def test_cards_are_allotted_by_what_slurm_told_the_job(processes: Processes, whose: Whose) -> None:
    processes.step(60, 4)
    processes.add(61, 60, env={"SLURM_JOB_GPUS": "0,2-3", "CUDA_VISIBLE_DEVICES": "MIG-abc,1"})
    processes.add(62, 61, env={"SLURM_JOB_GPUS": "7"})
    cards = Allotments(whose)
    whose.look()
    cards.look()
    assert [cards.jobs(str(index)) for index in range(8)] == [{"4"}, set(), {"4"}, {"4"}, *[set()] * 4]
    assert cards.jobs("MIG-abc") == {"4"}


def test_a_card_two_jobs_claim_by_their_own_word_is_nobodys(processes: Processes, whose: Whose) -> None:
    for step, job in ((60, 4), (70, 5)):
        processes.step(step, job)
        processes.add(step + 1, step, env={"SLURM_JOB_GPUS": "1"})
    cards = Allotments(whose)
    whose.look()
    cards.look()
    assert cards.jobs("1") == set()


def test_what_the_prolog_wrote_comes_first(processes: Processes, whose: Whose, tmp_path: Path) -> None:
    folder = tmp_path / "mapping"
    folder.mkdir()
    (folder / "0").write_text("8\n9\nx;y\n")
    (folder / "1").write_text("8\n")
    os.chown(folder / "1", PERSON, PERSON)
    processes.step(60, 4)
    processes.add(61, 60, env={"SLURM_JOB_GPUS": "0"})
    cards = Allotments(whose, folder)
    whose.look()
    cards.look()
    assert cards.jobs("0") == {"8", "9"}
    assert cards.jobs("1") == set()


def test_numbers_of_cards() -> None:
    assert numbers("0,2-4,x,-1,5-") == {0, 2, 3, 4}
    assert len(numbers("0-999999999")) <= 65


def test_what_a_job_uses_without_cgroups(processes: Processes, whose: Whose) -> None:
    processes.step(60, 4)
    processes.add(61, 60, cpu=250)
    processes.add(62, 61, cpu=50)
    usage = Usage(whose, whose.proc.root / "cgroup")
    whose.look()
    found = {reading.name: reading.value for reading in usage.readings()}
    assert found["bancada_job_cpu_seconds_total"] == pytest.approx(300 / os.sysconf("SC_CLK_TCK"))
    assert found["bancada_job_read_bytes_total"] == 1230
    assert found["bancada_job_processes"] == 2
    for name in ("stat", "status"):
        (whose.proc.root / "62" / name).unlink()
    whose.look()
    again = {reading.name: reading.value for reading in usage.readings()}
    assert again["bancada_job_cpu_seconds_total"] == found["bancada_job_cpu_seconds_total"]
    assert again["bancada_job_processes"] == 1


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_job_uses_by_its_cgroup(processes: Processes, whose: Whose, tmp_path: Path, version: int) -> None:
    tree = tmp_path / "cgroup"
    path = "/slurm/uid_20001/job_4" if version == 1 else "/system.slice/slurmstepd.scope/job_4"
    processes.add(61, cgroup=f"{path}/step_0")
    if version == 1:
        for name, file, text in (
            ("cpuacct", "cpuacct.usage", "2500000000\n"),
            ("memory", "memory.stat", "cache 9\ntotal_rss 4096\n"),
        ):
            (tree / name / path[1:]).mkdir(parents=True)
            (tree / name / path[1:] / file).write_text(text)
    else:
        (tree / path[1:]).mkdir(parents=True)
        (tree / path[1:] / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
        (tree / path[1:] / "memory.stat").write_text("anon 4096\nfile 9\n")
        (tree / path[1:] / "io.pressure").write_text("some avg10=12.50 avg60=0 avg300=0 total=1\nfull avg10=1.0\n")
    whose.look()
    found = {(r.name, r.labels[-1]): r.value for r in Usage(whose, tree).readings()}
    assert found["bancada_job_cpu_seconds_total", "4"] == 2.5
    assert found["bancada_job_memory_bytes", "4"] == 4096
    assert found.get(("bancada_job_pressure_ratio", "io")) == (0.125 if version == 2 else None)
