"""A seeded portal for looking at its pages: people, projects, jobs in every kind of state, and their sessions."""

from __future__ import annotations

import dataclasses
import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from accounts.models import User
from audit import context, trail
from audit.actions import Action
from audit.models.export import Form
from audit.services import desk, guests, keeping
from audit.services.exports import asking as exporting
from audit.services.sealing import Sealer
from audit.services.wanted import Wanted
from cluster.models import Cluster, Node
from datasets.models import DatasetUse
from datasets.services import asking, incidents, registering, terms, versions
from jobs.models import Handover, Job, Run
from jobs.states import Phase, State
from projects.models import Project
from quotas.models import Allocation
from tests import factories as make
from tests.audit.exporting import KEY

# name, phase, state, Slurm's states, reason, started and ended so many minutes ago
JOBS: tuple[tuple[str, Phase, State, str, str, int | None, int | None], ...] = (
    ("train-unet-v3", Phase.ACCEPTED, State.RUNNING, "RUNNING", "", 342, None),
    ("train-unet-v4", Phase.ACCEPTED, State.WAITING, "PENDING", "Resources", None, None),
    ("sweep-lr", Phase.REQUESTED, State.HANDING, "", "", None, None),
    ("check-arrival", Phase.CONFIRMING, State.CONFIRMING, "", "", None, None),
    ("eval-atlas", Phase.ENDED, State.OUT_OF_MEMORY, "OUT_OF_MEMORY", "", 240, 202),
    ("prepare", Phase.ENDED, State.FAILED, "FAILED", "", 300, 290),
    ("base-02", Phase.ENDED, State.TIMEOUT, "TIMEOUT", "", 900, 660),
    ("base-03", Phase.ENDED, State.NODE_FAILURE, "NODE_FAIL", "", 900, 700),
    ("encoder-06", Phase.ENDED, State.COMPLETED, "COMPLETED", "", 500, 128),
    ("old", Phase.ENDED, State.CANCELLED, "CANCELLED", "", 900, 800),
)


@dataclasses.dataclass
class Bench:
    """Who is there, the jobs by name, and what else an address names."""

    people: dict[str, User]
    jobs: dict[str, Job]
    sessions: dict[str, str]
    others: dict[str, str]

    def key(self, name: str) -> str:
        """What stands in an address for a job, or for one of the others."""
        return self.others[name] if name in self.others else str(self.jobs[name].pk)


def build() -> Bench:
    """Make it; the database must be empty."""
    cluster = make.make_cluster()
    people = {
        "researcher": make.make_user("ana", display_name="Ana Demo"),
        "pi": make.make_user("marina", display_name="Marina Demo"),
        "auditor": make.make_user("celia", display_name="Célia Demo", site_role="auditor"),
        "newcomer": make.make_user("novo", display_name="Novo Demo"),
        "guest": make.make_user("visita", display_name="Visita Demo"),
        "operator": make.make_user("olga", display_name="Olga Demo", site_role="operator"),
    }
    project = make.make_project("seg-rm", members={people["pi"]: "pi", people["researcher"]: "researcher"})
    allocation = make.make_allocation(project, used_gpu_minutes=52_000)
    jobs = {
        row[0]: job(cluster, project, allocation, people["researcher"], 48210 + n, *row) for n, row in enumerate(JOBS)
    }
    Node.objects.filter(name="gpu01").update(states=["MIXED"], gpus_allocated=4, cpus_allocated=32)
    Node.objects.filter(name="cpu01").update(states=["IDLE", "DRAIN"], reason="disk replaced")
    running = jobs["train-unet-v3"]
    data(project, people, running)
    trail.record(Action.LOG_READ, by=people["pi"], about=running, project=project)
    trail.record(Action.JOB_CANCEL_ASKED, by=people["auditor"], about=running, project=project, outcome="refused")
    sessions = {name: session(person) for name, person in people.items()}
    return Bench(people, jobs, sessions, evidence(project, people, running))


def evidence(project: Project, people: dict[str, User], about: Job) -> dict[str, str]:
    """What an auditor's pages show: a hold in force and a lifted one, a guest, a saved filter, seals and an export."""
    auditor, operator = people["auditor"], people["operator"]
    keeping.place_hold(reason="Complaint 7 of the demo", by=operator, person=people["researcher"])
    over = keeping.place_hold(reason="Inquiry that is over", by=operator, project=project, dataset="torax")
    keeping.lift_hold(hold=over, by=operator, why="It was closed.")
    ends = timezone.now() + timedelta(days=30)
    guests.admit(user=people["guest"], projects=[project], ends_at=ends, by=operator, why="Inspection of the demo")
    desk.keep(by=auditor, name="Outputs", query="action=log.read")
    with context.coming_from("web", address="192.0.2.7"):
        event = trail.record(Action.LOG_READ, by=people["pi"], about=about, project=project, stream="stdout")
        trail.record(Action.LOG_DOWNLOADED, by=people["pi"], about=about, project=project, stream="stdout")
    sealer = Sealer.where_it_stands()
    for _ in range(2):
        sealer.seal()
        sealer.checkpoint(KEY)
    export = exporting.ask(form=Form.CSV, wanted=Wanted(), by=auditor, whole=True)
    return {"event": str(event.uid), "export": str(export.pk)}


def data(project: Project, people: dict[str, User], used_by: Job) -> None:
    """A dataset with all that its pages show: a version, terms, a permission, a request and a use; and an incident."""
    today = timezone.now().date()
    row = registering.register(
        project=project, steward=people["pi"], by=None, code="torax", name="Tórax", description="Invented scans.",
        classification="sensitive", licence="CC0", retention="Until 2030.", legal_basis="11-II-c", controller="Demo",
        processor="Demo", ethics="CAAE 0", transfer="no", is_listed=True,
    )  # fmt: skip
    version = versions.add(dataset=row, label="v1", path="/srv/data/torax/v1", by=people["pi"])
    terms.put_in_force(dataset=row, text="Be careful.", by=people["pi"])
    registering.approve(dataset=row, by=people["pi"])
    facts = {"purpose": "research", "starts_on": today, "ends_on": today + timedelta(days=90), "why": "For the paper."}
    asked = asking.ask(dataset=row, by=people["researcher"], project=project, **facts)
    grant = asking.approve(request=asked, by=people["pi"])
    asking.ask(dataset=row, by=people["newcomer"], **facts)
    DatasetUse.objects.create(
        job=used_by.pk, job_name=used_by.name, dataset=row, version=version, grant=grant, project=project,
        user=people["researcher"], purpose="research", access="read", started_at=used_by.started_at,
    )  # fmt: skip
    incidents.open_one(
        by=people["operator"], title="A copy was left open", what="A folder was open.", known_at=timezone.now(),
        subjects="Patients of the demo.", datasets=[row],
    )  # fmt: skip


def job(
    cluster: Cluster, project: Project, allocation: Allocation, owner: User, number: int, name: str, phase: Phase,
    state: State, said: str, reason: str, started: int | None, ended: int | None,
) -> Job:  # fmt: skip
    """One job with its hand-over and run."""
    now = timezone.now()
    ago = lambda minutes: None if minutes is None else now - timedelta(minutes=minutes)  # noqa: E731
    known = phase in (Phase.ACCEPTED, Phase.ENDED)
    fields: dict[str, Any] = {
        "slurm_job_id": number if known else None, "accepted_at": now if known else None, "started_at": ago(started),
        "ended_at": ago(ended), "node_list": "gpu01" if started else "", "allocated_gpus": 4 if started else 0,
        "exit_code": 127 if state is State.FAILED else 0, "created_at": ago((started or 0) + 4),
    }  # fmt: skip
    row = Job.objects.create(
        cluster=cluster, project=project, allocation=allocation, owner=owner, owner_login=owner.username, name=name,
        partition="gpu", gpu_type="a100", gpus=4, cpus=32, memory_mb=131_072, time_limit_minutes=720, phase=phase,
        state=state, slurm_states=[said] if said else [], reason=reason, script="#!/bin/bash\n\npython3 train.py\n",
        digest="0" * 64, **fields,
    )  # fmt: skip
    if known:
        handed = Handover.objects.create(job=row, cluster=cluster, outcome="accepted", slurm_job_id=number)
        Run.objects.create(handover=handed, started_at=row.started_at, ended_at=row.ended_at, node_list="gpu01")
    return row


def session(person: User) -> str:
    """The key of a session as sign-in makes it."""
    store = SessionStore()
    store[SESSION_KEY], store[BACKEND_SESSION_KEY] = str(person.pk), settings.AUTHENTICATION_BACKENDS[-1]
    store[HASH_SESSION_KEY] = person.get_session_auth_hash()
    store["epoch"], store["began"] = person.session_epoch, time.time()
    store.save()
    return str(store.session_key)
