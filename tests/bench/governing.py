"""G2, G3: from a change in the portal until Slurm itself enforces it: a member added, a limit changed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator

from tests.bench.figures import Figure, quantile
from tests.bench.place import Place, until
from tests.hand import Hand

CODE, USER, LIMIT = "g2bench", "gabi", 5.0  # seconds


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """Nobody else is at work meanwhile, but whatever the stack does by itself."""
    times = 5 if small else 25
    hand = Hand(place.var)
    try:
        hand(_OPEN)
        until(lambda: hand(_APPLIED), seconds=30, what="the project is in Slurm", every=0.1)
        added = [once(hand, _ADD, lambda: _may_submit(place), _REMOVE) for _ in range(times)]
        changed = [once(hand, _CHANGE.format(5 + n), _has(place, 5 + n), "pass") for n in range(times)]
    finally:
        hand(f"projects.archive_project(project=Project.objects.get(code={CODE!r}), by=None)")
        hand.close()
    yield _figure("G2", f"a member added until `sbatch` takes a job of theirs, {times} times", added)
    yield _figure("G3", f"a limit changed until slurmctld shows it, {times} times", changed)


def once(hand: Hand, change: str, look: Callable[[], bool], undo: str) -> float:
    """Seconds from before the change is asked for; the look's own time is in it."""
    began = time.monotonic()
    hand(change)
    until(look, seconds=60, what="Slurm enforces it", every=0.02)
    took = time.monotonic() - began
    hand(undo)
    until(lambda: hand(_APPLIED), seconds=30, what="it is undone", every=0.1)
    return took


def _figure(number: str, what: str, took: list[float]) -> Figure:
    late = quantile(took, 0.95)
    value = f"{quantile(took, 0.5):.2f} / {late:.2f} s (p50 / p95)"
    return Figure(number, what, value, goal=f"p95 ≤ {LIMIT:.0f} s", good=late <= LIMIT)


def _may_submit(place: Place) -> bool:
    words = ["sbatch", "--test-only", "-A", CODE, "-p", "prep", "-D", "/tmp", "--wrap", "true"]
    process = place.popen(USER, *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.wait(timeout=30) == 0


def _has(place: Place, gpus: int) -> Callable[[], bool]:
    words = ("scontrol", "-o", "show", "assoc_mgr", "flags=qos", f"qos={CODE}-main-20200101")
    return lambda: f"gres/gpu={gpus}(" in place.inside_as("root", *words)


_OPEN = f"""
import datetime
p = Project.objects.filter(code={CODE!r}).first()
if p is None:
    p = projects.open_project(by=None, code={CODE!r}, title='Bench', slurm_account={CODE!r}, unix_group='prj-visao',
        folder='/srv/var/projects/visao', partitions=['prep'])
    projects.add_member(project=p, user=User.objects.get(username='ana'), role='pi', by=None)
    quotas.create_allocation(project=p, by=None, code='main', title='Main', qos='',
        starts_on=datetime.date(2020, 1, 1), gpus_at_once=4)
projects.reopen_project(project=p, by=None)
"""
_APPLIED = (
    f"e = Enforcement.objects.filter(project__code={CODE!r}).select_related('project').first();"
    "said = e is not None and e.change_applied >= e.project.change"
)
_ADD = (
    f"projects.add_member(project=Project.objects.get(code={CODE!r}), user=User.objects.get(username={USER!r}),"
    " role='researcher', by=None)"
)
_REMOVE = (
    f"projects.remove_member(membership=Membership.objects.active().get(project__code={CODE!r},"
    f" user__username={USER!r}), by=None)"
)
_CHANGE = (
    f"quotas.change_allocation(allocation=Allocation.objects.get(project__code={CODE!r}), by=None, gpus_at_once={{}})"
)
