"""Members and limits of the portal as Slurm itself enforces them, for a job typed into a shell as for the portal's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.place import JSON, ROOT, Place, request, until
from tests.contract.race import together
from tests.governed import applied, governed
from tests.hand import Hand, opened

CARD = os.environ.get("BANCADA_STACK", "")
pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def place() -> Place:
    if not CARD:
        pytest.skip("BANCADA_STACK names no running stack")
    return Place(Path(CARD))


@pytest.fixture(scope="module")
def hand(place: Place) -> Iterator[Hand]:
    with opened(place.var) as made:
        yield made


@pytest.fixture
def project(place: Place, hand: Hand) -> Iterator[str]:
    with governed(hand, "gov") as code:
        yield code
    place.inside_as("root", "scancel", "--quiet", f"--account={code}")


def add(hand: Hand, code: str, user: str, role: str = "researcher") -> None:
    hand(f"projects.add_member(project=Project.objects.get(code={code!r}), user=User.objects.get(username={user!r}),"
         f" role={role!r}, by=None)")  # fmt: skip
    applied(hand, code)


def change(hand: Hand, code: str, **limits: Any) -> None:
    hand(f"quotas.change_allocation(allocation=Allocation.objects.get(project__code={code!r}), by=None, **{limits!r})")
    applied(hand, code)


def sbatch(place: Place, user: str, code: str, *options: str, gpus: int = 1) -> subprocess.CompletedProcess[str]:
    """As typed into a shell."""
    words = [
        "sbatch",
        "--parsable",
        "-A",
        code,
        "-p",
        "gpu",
        "-o",
        "/dev/null",
        "-D",
        "/tmp",
        f"--gres=gpu:a100:{gpus}",
    ]
    argv = [sys.executable, "-m", "stack", "exec", "--var", str(place.var), "--user", user, "--", *words, *options]
    return subprocess.run([*argv, "--wrap", "sleep 30"], cwd=ROOT, capture_output=True, text=True, check=False)


def reason(place: Place, job: str) -> str:
    return place.inside_as("root", "squeue", "-h", "-j", job, "-o", "%r").strip()


def test_a_member_added_submits_by_shell_and_a_removed_one_is_refused_everywhere(
    place: Place, hand: Hand, project: str
) -> None:
    assert sbatch(place, "davi", project).returncode != 0
    add(hand, project, "davi")
    done = sbatch(place, "davi", project, "--hold")
    assert done.returncode == 0, done.stderr
    hand(f"projects.remove_member(membership=Membership.objects.active().get(project__code={project!r},"
         " user__username='davi'), by=None, on_end='cancel')")  # fmt: skip
    applied(hand, project)
    assert sbatch(place, "davi", project).returncode != 0
    asked = json.loads(request("gone", "#!/bin/sh\ntrue\n")) | {"project": project, "allocation": ""}
    assert place.api("davi").post("/api/v1/jobs", json.dumps(asked).encode(), **JSON).status == 404
    job = done.stdout.strip()
    until(lambda: not in_queue(place, job), seconds=60, what="the held job left behind is cancelled")


@pytest.mark.parametrize("limits", [{"gpu_minutes": 600}, {"jobs_submitted": 10}])
def test_a_hundred_at_once_by_api_get_exactly_what_fits_and_slurm_holds_no_more(
    place: Place, hand: Hand, project: str, limits: dict[str, int]
) -> None:
    """Ten jobs of an hour and a GPU fit; a hundred processes ask at the same instant."""
    people = ["ana", "carla", "davi", "elisa"]
    for user in people[1:]:
        add(hand, project, user)
    change(hand, project, **limits)
    asked = {"project": project, "partition": "gpu", "gpus": 1, "gpu_type": "a100", "time_limit_minutes": 60}
    body = request("race", "#!/bin/sh\nsleep 600\n", **asked)
    assert together(place, people * 25, body) == {201: 10, 422: 90}
    until(lambda: len(held(place, project)) == 10, seconds=60, what="all that fit are in Slurm")
    handed = "SELECT count(*) FROM jobs_job j JOIN projects_project p ON p.id = j.project_id WHERE p.code = %s"
    assert place.one(handed, project) == 10
    assert held(place, project) == ["1:00:00"] * 10
    [row] = place.api("ana").get(f"/api/v1/projects/{project}/allocations").json()
    assert row["committed"] <= 600 and 0 <= row["free"] <= limits.get("gpu_minutes", 60_000) - row["committed"]


def held(place: Place, code: str) -> list[str]:
    """The time limit of each job Slurm has of the project, waiting or running."""
    return place.inside_as("root", "squeue", "-h", "-A", code, "-o", "%l").split()


def in_queue(place: Place, job: str) -> bool:
    return job in place.inside_as("root", "squeue", "-h", "-o", "%A").split()


def test_the_allocation_stops_a_job_typed_into_a_shell(place: Place, hand: Hand, project: str) -> None:
    change(hand, project, gpus_at_once=1)
    first, second = (sbatch(place, "ana", project).stdout.strip() for _ in range(2))
    assert first and second
    until(lambda: reason(place, second).startswith(("QOSGrp", "AssocGrp")), seconds=60, what="the second waits")
    change(hand, project, jobs_submitted=2)
    third = sbatch(place, "ana", project)
    assert third.returncode != 0 and "limit" in third.stderr
    change(hand, project, jobs_submitted=None, gpus_at_once=2)
    until(lambda: reason(place, second) == "None" or not in_queue(place, second), seconds=60, what="it may start now")


def test_a_share_binds_one_member_in_slurm_too(place: Place, hand: Hand, project: str) -> None:
    add(hand, project, "davi")
    hand(f"quotas.set_share(allocation=Allocation.objects.get(project__code={project!r}),"
         " user=User.objects.get(username='davi'), by=None, jobs_submitted=1)")  # fmt: skip
    applied(hand, project)
    assert sbatch(place, "davi", project, "--hold").returncode == 0
    assert sbatch(place, "davi", project, "--hold").returncode != 0
    assert sbatch(place, "ana", project, "--hold").returncode == 0
    assert sbatch(place, "ana", project, "--hold").returncode == 0


def test_a_share_of_a_type_binds_though_the_allocation_limits_the_type_too(
    place: Place, hand: Hand, project: str
) -> None:
    """The queue has that type alone, so Slurm is told of all GPUs there."""
    change(hand, project, gpus_by_type={"a100": 4})
    add(hand, project, "davi")
    hand(f"quotas.set_share(allocation=Allocation.objects.get(project__code={project!r}),"
         " user=User.objects.get(username='davi'), by=None, gpus_by_type={'a100': 1})")  # fmt: skip
    applied(hand, project)
    first, second = (sbatch(place, "davi", project).stdout.strip() for _ in range(2))
    assert first and second
    until(lambda: reason(place, second).startswith("AssocGrpBilling"), seconds=60, what="the second waits")


def test_a_closed_allocation_and_an_archived_project_take_nothing_more(place: Place, hand: Hand, project: str) -> None:
    running = sbatch(place, "ana", project)
    assert running.returncode == 0
    hand(f"quotas.close_allocation(allocation=Allocation.objects.get(project__code={project!r}), by=None)")
    applied(hand, project)
    assert sbatch(place, "ana", project).returncode != 0
    assert in_queue(place, running.stdout.strip())  # what runs goes on


def test_a_worker_killed_again_and_again_converges(place: Place, hand: Hand, project: str) -> None:
    """Killed at growing distances from the change: before it hears of it, while it speaks to slurmdbd, after."""
    try:
        for number, delay in enumerate((0.05, 0.3, 0.7, 1.2, 1.8)):
            gpus = 2 + number
            hand(f"quotas.change_allocation(allocation=Allocation.objects.get(project__code={project!r}), by=None,"
                 f" gpus_at_once={gpus})")  # fmt: skip
            time.sleep(delay)
            place.kill("worker-slurm")
            place.stack("start", "worker-slurm")
            applied(hand, project)
            until(seen(place, project, gpus), seconds=60, what="Slurm has the limit")
    finally:
        place.stack("start", "worker-slurm")


def seen(place: Place, code: str, gpus: int) -> Callable[[], bool]:
    """Whether slurmctld itself has the limit."""
    words = ("scontrol", "-o", "show", "assoc_mgr", "flags=qos", f"qos={code}-main-20200101")
    return lambda: f"gres/gpu={gpus}(" in place.inside_as("root", *words)


def test_with_slurmdbd_away_nothing_changes_and_afterwards_all_is_applied(
    place: Place, hand: Hand, project: str
) -> None:
    pid = place.kill("slurmdbd")
    try:
        until(lambda: not Path(f"/proc/{pid}").exists(), seconds=60, what="it is gone")
        hand(f"projects.add_member(project=Project.objects.get(code={project!r}),"
             " user=User.objects.get(username='davi'), role='researcher', by=None)")  # fmt: skip
        look = f"e = Enforcement.objects.get(project__code={project!r}); said = e.error"
        assert until(lambda: hand(look), seconds=60, what="the page can say why")
        assert sbatch(place, "davi", project).returncode != 0
    finally:
        place.stack("start", "slurmdbd", "slurmctld", "slurmrestd", "worker-slurm", "follower")
    applied(hand, project)
    until(lambda: sbatch(place, "davi", project, "--hold").returncode == 0, seconds=60, what="davi may submit")
