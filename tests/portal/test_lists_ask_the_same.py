"""How many queries a page with a list costs does not depend on how long the list is."""

from __future__ import annotations

import itertools
import re

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access.roles import Role
from audit import trail
from audit.actions import Action
from cluster.models import Node
from jobs.models import Job
from jobs.states import Phase, State
from tests import factories as make
from tests.browser import bench

NUMBERS = itertools.count(1)  # of jobs in Slurm
# who looks, and where a list may grow
LISTS = [
    ("researcher", "/"),
    ("researcher", "/jobs/"),
    ("researcher", "/jobs/?whose=all&project=seg-rm&state=failed"),
    ("researcher", "/jobs/?whose=all&q=job"),
    ("auditor", "/jobs/?whose=all"),
    ("pi", "/projects/seg-rm"),
    ("pi", "/projects/seg-rm/trail"),
    ("auditor", "/projects/"),
    ("researcher", "/cluster/"),
    ("auditor", "/audit/?action=log.read&project=seg-rm"),
    ("pi", "/jobs/{eval-atlas}?tab=events"),
]


def test_a_list_of_fifty_asks_no_more_than_one_of_five(db: None) -> None:
    built = bench.build()
    grow(built, 5)
    few = {row: asked(built, *row) for row in LISTS}
    grow(built, 45)
    many = {row: asked(built, *row) for row in LISTS}
    assert many == few


def asked(built: bench.Bench, who: str, address: str) -> int:
    """How many queries the page costs."""
    where = re.sub(r"\{(.*?)\}", lambda found: str(built.jobs[found.group(1)].pk), address)
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = built.sessions[who]
    client.get(where)  # who reads the trail for the first time is written down beside it
    with CaptureQueriesContext(connection) as queries:
        assert client.get(where).status_code == 200
    return len(queries)


def grow(built: bench.Bench, many: int) -> None:
    """More of everything, each with people of its own: jobs under way and over, members, projects, nodes, events."""
    model = built.jobs["eval-atlas"]
    kinds = (("RUNNING", Phase.ACCEPTED, State.RUNNING, None), ("FAILED", Phase.ENDED, State.FAILED, 5),
             ("CANCELLED", Phase.ENDED, State.CANCELLED, 5))  # fmt: skip
    first = Job.objects.count()
    for n in range(first, first + many):
        person = make.make_member(model.project, Role.RESEARCHER)
        for owner in (person, built.people["researcher"]):
            for said, phase, state, ended in kinds:
                row = bench.job(
                    model.cluster, model.project, model.allocation, owner, next(NUMBERS), f"job-{n}", phase, state, said, "",
                    60, ended,
                )  # fmt: skip
                Job.objects.filter(pk=row.pk).update(cancel_asked_by=person)
        make.make_project(members={person: Role.VIEWER})
        Node.objects.create(cluster=model.cluster, name=f"n{n}", gpu_types={"a100": 4})
        trail.record(Action.LOG_READ, by=person, about=model, project=model.project)
