"""A project of its own on a running stack, opened and archived by a hand, and waited for until Slurm has it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.bench.place import until
from tests.hand import Hand

MINUTE = 60.0  # how long a change may take on the slowest machine; the benchmark G2 measures how soon it is


@contextmanager
def governed(hand: Hand, prefix: str, people: Sequence[tuple[str, str]] = (("ana", "pi"),)) -> Iterator[str]:
    """Its code: with these people and one allocation, known to Slurm; archived afterwards, and Slurm told so."""
    code = f"{prefix}{time.time_ns() // 1_000_000 % 10**9}"
    hand(
        f"p = projects.open_project(by=None, code={code!r}, title='Governed', slurm_account={code!r},"
        " unix_group='prj-visao', folder='/srv/var/projects/visao', partitions=['gpu', 'prep']);"
        "[projects.add_member(project=p, user=User.objects.get(username=name), role=role, by=None)"
        f" for name, role in {list(people)!r}];"
        "import datetime;"
        "quotas.create_allocation(project=p, by=None, code='main', title='Main', qos='',"
        " starts_on=datetime.date(2020, 1, 1), gpus_at_once=8, gpu_minutes=60000)"
    )
    applied(hand, code)
    yield code
    hand(f"projects.archive_project(project=Project.objects.get(code={code!r}), by=None)")


def applied(hand: Hand, code: str) -> None:
    """Until the worker has brought Slurm up to date."""
    look = f"e = Enforcement.objects.filter(project__code={code!r}).select_related('project').first();"
    look += "said = e is not None and not e.error and e.change_applied >= e.project.change"
    until(lambda: hand(look), seconds=MINUTE, what="the change is applied", every=0.1)
