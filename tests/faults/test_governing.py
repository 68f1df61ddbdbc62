"""Changes of members and limits on their way to slurmdbd: whoever carries them is killed between every two steps."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.place import ROOT, Place, until
from tests.governed import applied, governed
from tests.hand import Hand, opened

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
STEPS = 7  # of each change: two queues for who comes, who goes and who stays, and the limit

# a worker in the real one's place: same user, same rights, same code; a door that says one step and then waits
_WORKER = """
import json, os, sys, time
from cluster import slurm_door
from projects.models import Project
from quotas.services import applying
from quotas.services.telling import qos_owners
from quotas.services.wanted import wanted
from slurm.plan import plan
door = slurm_door.accounts()
def say(value): print("\\x01" + json.dumps(value), flush=True)
class StepByStep:
    books = staticmethod(door.books)
    def carry_out(self, steps):
        for step in steps:
            say("next"); sys.stdin.readline()
            door.carry_out([step])
        say("next"); sys.stdin.readline()
        return []
act, code = sys.stdin.readline().split()
project = Project.objects.get(code=code)
if act == "apply":
    slurm_door.accounts = StepByStep
    say(["applied", applying.apply()])
else:
    goal = wanted([project])
    there = door.books([project.slurm_account], sorted(goal.qos))
    known = applying.known_people(goal, there)
    say(["left", len(plan(known, there).steps), sorted(map(list, there.associations)), sorted(there.qos)])
"""


class Worker:
    """One of it, which waits before every step until it is told to go on, or is killed."""

    def __init__(self, place: Place, act: str, code: str) -> None:
        words = ["-m", "stack", "manage", "--var", str(place.var), "--user", "slurm", "shell", "-v", "0", "-c", _WORKER]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, *words], cwd=ROOT, **pipes)
        self.go_on(f"{act} {code}")

    def go_on(self, word: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def said(self) -> Any:
        """Its next word; None where it is gone."""
        assert self.process.stdout is not None
        return next((json.loads(line[1:]) for line in self.process.stdout if line.startswith("\x01")), None)

    def kill(self) -> None:
        """By SIGKILL: it cleans up nothing."""
        self.process.kill()
        assert self.process.wait(timeout=60) == -9


@pytest.fixture
def hand(place: Place) -> Iterator[Hand]:
    with opened(place.var) as made:
        yield made


@pytest.fixture
def project(place: Place, hand: Hand) -> Iterator[str]:
    """With ana and davi, applied; the stack's own worker stands still until it is over."""
    with governed(hand, "kill", [("ana", "pi"), ("davi", "researcher")]) as code:
        place.stack("stop", "worker-slurm")
        yield code
        place.stack("start", "worker-slurm")
    applied(hand, code)


def change(hand: Hand, code: str, number: int) -> None:
    """One comes, another goes, the limit and the share of who stays are others: back and forth."""
    comes, goes = ("elisa", "davi") if number % 2 == 0 else ("davi", "elisa")
    hand(
        f"p = Project.objects.get(code={code!r}); a = Allocation.objects.get(project=p);"
        f"projects.add_member(project=p, user=User.objects.get(username={comes!r}), role='researcher', by=None);"
        f"projects.remove_member(membership=Membership.objects.active().get(project=p, user__username={goes!r}),"
        " by=None, on_end='finish');"
        f"quotas.change_allocation(allocation=a, by=None, gpus_at_once={2 + number});"
        f"quotas.set_share(allocation=a, user=User.objects.get(username='ana'), by=None, jobs_submitted={5 + number})"
    )


def left(place: Place, code: str) -> list[Any]:
    """How many steps are left to what is wanted, and whose rows there are, by Slurm's own books."""
    worker = Worker(place, "look", code)
    said: list[Any] = worker.said()
    worker.process.wait(timeout=60)
    return said


def events(place: Place, code: str) -> int:
    words = "SELECT count(*) FROM audit_auditevent e JOIN projects_project p ON p.id = e.project_id"
    return int(place.one(f"{words} WHERE p.code = %s AND e.action = 'limits.applied'", code))


def test_killed_between_every_two_steps_of_a_change_of_members_and_limits_it_converges(
    place: Place, hand: Hand, project: str
) -> None:
    for number in range(STEPS + 1):
        change(hand, project, number)
        told = events(place, project)
        worker = Worker(place, "apply", project)
        for _step in range(number):
            assert worker.said() == "next"
            worker.go_on()
        assert worker.said() == "next"
        worker.kill()
        assert events(place, project) == told + 1  # told before Slurm was, whatever became of who told it
        assert left(place, project)[1] == STEPS - number
        until(lambda: whole_pass(place, project), seconds=60, what="the next pass is through", every=0.5)
        known = {(project, user, queue) for user in ("ana", "davi", "elisa") for queue in ("gpu", "prep")}
        word, steps, rows, qos = left(place, project)
        assert (word, steps, qos) == ("left", 0, [f"{project}-main-20200101"])
        assert {tuple(row) for row in rows} == known | {(project, "", "")}
    place.stack("start", "worker-slurm")
    applied(hand, project)
    assert submits(place, "davi", project) and submits(place, "ana", project) and not submits(place, "elisa", project)


def whole_pass(place: Place, code: str) -> bool:
    """Another worker, of which nobody wants anything; False where the dead one's lock is not free yet."""
    worker = Worker(place, "apply", code)
    while (said := worker.said()) == "next":
        worker.go_on()
    worker.process.wait(timeout=60)
    return bool(said == ["applied", 1])


def submits(place: Place, user: str, code: str) -> bool:
    words = ["sbatch", "--parsable", "--hold", "-A", code, "-p", "gpu", "-o", "/dev/null", "-D", "/tmp"]
    argv = [sys.executable, "-m", "stack", "exec", "--var", str(place.var), "--user", user, "--", *words]
    done = subprocess.run(
        [*argv, "--gres=gpu:a100:1", "--wrap", "true"], cwd=Path(ROOT), capture_output=True, check=False
    )
    if done.returncode == 0:
        place.inside_as("root", "scancel", "--quiet", done.stdout.decode().strip())
    return done.returncode == 0
