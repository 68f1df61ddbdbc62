"""The world: two projects of one tenant, one of another, one that lets itself be found, and every kind of person."""

from __future__ import annotations

import dataclasses
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.test import Client
from django.utils import timezone

from access.ids import uuid7
from access.roles import Role, SiteRole
from accounts.models import SessionInfo, TokenScope, User
from accounts.services import issue_token
from audit import trail
from audit.actions import Action
from audit.services import guests
from jobs import services as jobs
from jobs.models import Handover, HandoverOutcome, Job, Phase, Run
from jobs.services.importing import drafts
from jobs.states import State
from projects import services as projects
from projects.models import JoinRequest, Membership, Project, ProjectRequest
from quotas import services as quotas
from quotas.models import Allocation, AllocationRequest, Enforcement, FundingSource, Usage
from quotas.services import requests as wishes
from tests.factories import make_cluster, make_user
from tests.matrix.canaries import Canaries, mates, mates_or_guest
from tests.matrix.data import plant
from tests.matrix.expect import ABSENT, BESIDE, OTHER, OWN, PLACES, ROLES, TENANT, role

LISTED = "listed"
REAL = [name for name in ROLES if name not in ("nobody", "reader", "browser")]  # the others are the PI, or nobody
BEFORE = {"removed": Role.PI, "expired": Role.PI, "disabled": Role.PI}  # in the own project, until it ended
SCOPES = tuple(TokenScope.values)


@dataclasses.dataclass
class Place:
    """The names of everything in one project; of an absent one they lead nowhere."""

    code: str
    allocation: str = "zzcode-xx-zz"
    login: str = "zzlogin-mate_x-zz"
    funding: int = 987_654
    job: UUID = dataclasses.field(default_factory=uuid7)
    wish: UUID = dataclasses.field(default_factory=uuid7)
    join: UUID = dataclasses.field(default_factory=uuid7)
    asked: UUID = dataclasses.field(default_factory=uuid7)
    uid: UUID = dataclasses.field(default_factory=uuid7)  # of an event of the project
    label: str = "zzlabel-xx-zz"  # of a version of the project's dataset, which is called like the project
    version: UUID = dataclasses.field(default_factory=uuid7)
    permission: UUID = dataclasses.field(default_factory=uuid7)
    wished: UUID = dataclasses.field(default_factory=uuid7)
    agreement: UUID = dataclasses.field(default_factory=uuid7)
    ended: UUID = dataclasses.field(default_factory=uuid7)
    duty: UUID = dataclasses.field(default_factory=uuid7)
    incident: UUID = dataclasses.field(default_factory=uuid7)
    preset: UUID = dataclasses.field(default_factory=uuid7)
    environment: UUID = dataclasses.field(default_factory=uuid7)


@dataclasses.dataclass
class Mine:
    """The rows that are one person's own, with the keys to their doors."""

    user: User
    session_key: str
    secrets: dict[str, str]
    session: int
    token: UUID
    request: UUID
    draft: UUID
    job: UUID | None = None


class World:
    """Everything, planted with words that only the right people may meet."""

    def __init__(self) -> None:
        self.canaries = Canaries()
        with connection.cursor() as cursor:  # numbers as long as those that lead nowhere, and found nowhere else
            cursor.execute("SELECT setval(pg_get_serial_sequence('quotas_fundingsource', 'id'), 765432)")
        self.users = {name: self._person(name) for name in REAL}
        cluster = make_cluster()
        long_ago = timezone.now() - timedelta(hours=3, minutes=30)  # said in hours, so the same for a whole run
        for field in ("jobs_seen_at", "nodes_seen_at", "partitions_seen_at", "accounting_seen_at"):
            setattr(cluster, field, long_ago)
        cluster.save()
        self.newcomer = make_user("newcomer", directory_id=uuid7())
        self.places = {name: self._place(name) for name in (*PLACES, LISTED)}
        self.places[ABSENT] = Place("zzcode-x-zz")
        self.mine = {name: self._mine(name) for name in REAL}
        self._end()
        self._admit_guest()

    def _admit_guest(self) -> None:
        """For a week, to what happened in the own project."""
        guests.admit(
            user=self.users["guest"], projects=[Project.objects.get(code=self.places[OWN].code)], by=None,
            ends_at=timezone.now() + timedelta(days=7), why="An ethics committee asks.",
        )  # fmt: skip

    # --- people ------------------------------------------------------------------------------------------------

    def _person(self, name: str) -> User:
        known, named = (mates, mates_or_guest) if name in TENANT else (None, None)
        canary, site = self.canaries, "project_view"
        return make_user(
            canary.private(name, "login", site, named),
            display_name=canary.private(name, "name", site, known),
            email=f"{canary.private(name, 'mail', 'cluster_view')}@x.example",  # on the report of what is held
            site_role=SiteRole(name) if name in ("operator", "auditor") else "",
            directory_id=uuid7(),
        )

    def _mine(self, name: str) -> Mine:
        """Before the end of memberships: a session, tokens, a request of one's own, and for two of them a job."""
        user, canary = self.users[name], self.canaries
        client = Client()
        client.force_login(user, backend="accounts.directory.backend.DirectoryBackend")
        session = client.session
        session["began"], session["epoch"] = time.time(), user.session_epoch
        session.save()
        agent = canary.private(name, "agent")
        info = SessionInfo.objects.create(session_key=session.session_key, user=user, user_agent=agent)
        title = canary.private(name, "token", "trail_read")
        token, whole = issue_token(user=user, name=title, scopes=SCOPES, days=1, by=user)
        _token, reads = issue_token(user=user, name=title, scopes=["read"], days=1, by=user)
        why = canary.private(name, "asks", "project_manage", lambda reader: reader == "auditor")
        asked = projects.ask_project(by=user, code=f"wanted-{name}", title=why, why=why)
        own = Project.objects.get(code=self.places[OWN].code)
        brought = (canary.private(name, "draft"), "#!/bin/bash\n#SBATCH -p gpu -t 5\ntrue\n")
        (draft,) = drafts.keep(project=own, files=[brought], by=user)
        mine = Mine(user, session.session_key, {"all": whole, "read": reads}, info.pk, token.pk, asked.pk, draft.pk)
        if name in BEFORE:
            mine.job = self._job(OWN, user).pk
        return mine

    def _end(self) -> None:
        """One was removed, one's time is over (and the grants still stand), one has an account no more."""
        rows = Membership.objects.filter(project__code=self.places[OWN].code).select_related("user", "project")
        by_name = {row.user_id: row for row in rows}
        projects.remove_member(membership=by_name[self.users["removed"].pk], by=None, why="It was agreed.")
        expired = rows.filter(user=self.users["expired"])
        expired.update(ends_at=timezone.now() - timedelta(minutes=1), starts_at=timezone.now() - timedelta(days=9))
        User.objects.filter(pk=self.users["disabled"].pk).update(is_active=False)

    # --- projects ----------------------------------------------------------------------------------------------

    def _place(self, name: str) -> Place:
        word = self.canaries.of
        project = projects.open_project(
            by=None, code=word(name, "code", "project_view"), title=word(name, "title", "project_view"),
            organization=word(name, "organization", "project_view"),
            slurm_account=word(name, "account", "project_view"), unix_group=word(name, "group", "project_view"),
            folder=f"/srv/{word(name, 'folder', 'project_view')}", partitions=["gpu", "prep"], is_listed=name == LISTED,
        )  # fmt: skip
        mate = self._members(name, project)
        source = quotas.add_funding(
            project=project, by=None, agency=word(name, "agency", "project_view"), starts_on=timezone.now().date(),
            number=word(name, "number", "project_view"), acknowledgement=word(name, "thanks", "project_view"),
        )  # fmt: skip
        allocation = self._allocation(name, project, source, mate)
        job = self._job(name, self.users["owner"] if name == OWN else mate, project, allocation)
        wish = self._wish(name, project, allocation, source, mate)
        join, asked = self._asked(name, project)
        told = trail.record(Action.REPORT_READ, by=mate, project=project, note=word(name, "detail", "trail_read"))
        Enforcement.objects.create(project=project, differences=[self._difference(allocation)], change_applied=10**6)
        return Place(
            project.code, allocation.code, mate.username, source.pk, job.pk, wish.pk, join.pk, asked.pk, told.uid,
            **plant(self.canaries, name, project, self._steward(name, project), mate, job),
        )  # fmt: skip

    def _steward(self, name: str, project: Project) -> User:
        """The PI among the people of the cells, where there is one; else the place's own."""
        known = self.users.get({OWN: "pi", OTHER: "other_pi"}.get(name, ""))
        return known or Membership.objects.filter(project=project, role=Role.PI).select_related("user")[0].user

    def _members(self, name: str, project: Project) -> User:
        """Everybody with a role there; and a researcher and a PI besides, of whom the cells may dispose."""
        why = self.canaries.of(name, "why", "member_manage", "trail_read")
        for person, user in self.users.items():
            held = BEFORE.get(person, "-") if name == OWN and person in BEFORE else role(person, name)
            if held in Role.values:
                projects.add_member(project=project, user=user, role=held, by=None, why=why)
        pi, mate = (self._user_of(name, kind, "project_view") for kind in ("chief", "mate"))
        projects.add_member(project=project, user=pi, role=Role.PI, by=None)
        projects.add_member(project=project, user=mate, role=Role.RESEARCHER, by=None, why=why)
        return mate

    def _user_of(self, name: str, kind: str, *permissions: str) -> User:
        """Somebody whose name is read by who holds one of these in the project."""
        login, said = (self.canaries.of(name, f"{field}{kind}", *permissions) for field in ("login", "name"))
        mail = self.canaries.of(name, f"mail{kind}", "cluster_view")  # on the report of what is held on a person
        return make_user(login, display_name=said, email=f"{mail}@x.example", directory_id=uuid7())

    def _allocation(self, name: str, project: Project, source: FundingSource, mate: User) -> Allocation:
        word, today = self.canaries.of, timezone.now().date()
        allocation = quotas.create_allocation(
            project=project, by=None, code=word(name, "alloc", "project_view"), funding=source,
            title=word(name, "budget", "project_view"), qos=word(name, "qos", "project_view"), starts_on=today,
            ends_on=today + timedelta(days=300), gpus_at_once=8, gpu_minutes=60_000, longest_minutes=2880,
        )  # fmt: skip
        quotas.set_share(allocation=allocation, user=mate, by=None, gpu_minutes=12_345)
        Usage.objects.create(
            project=project, allocation=allocation, user=mate, login=mate.username, job=str(uuid7()), run=str(uuid7()),
            partition="gpu", day=today, gpu_type="a100", gpu_seconds=7200, cpu_seconds=7200, as_of=timezone.now(),
        )  # fmt: skip
        return allocation

    def _job(self, name: str, owner: User, project: Project | None = None, allocation: Any = None) -> Job:
        """Running, with output."""
        word = self.canaries.of
        project = project or Project.objects.get(code=self.places[name].code)
        raw = {
            "name": word(name, "job", "job_view"), "partition": "gpu", "gpus": 1,
            "script": f"#!/bin/bash\necho {word(name, 'script', 'job_view')}\n",
        }  # fmt: skip
        spec, spent = jobs.prepare(raw, project=project)
        job = jobs.submit(project=project, spec=spec, allocation=allocation or spent, by=owner)
        for phase in (Phase.HANDING, Phase.ACCEPTED):
            Job.objects.filter(pk=job.pk).update(phase=phase)
        Job.objects.filter(pk=job.pk).update(
            state=State.RUNNING, started_at=timezone.now(), node_list=word(name, "node", "job_view"), allocated_gpus=1,
            environment={"NAME": word(name, "environment", "job_view")},
        )  # fmt: skip
        handed = Handover.objects.create(
            job=job, cluster=job.cluster, outcome=HandoverOutcome.ACCEPTED, slurm_job_id=1000 + Job.objects.count(),
            submit_time=timezone.now(), uid=owner.uid_number, accepted_at=timezone.now(),
            stdout_path=f"/srv/{word(name, 'path')}", ticket=word(name, "output", "log_read"),
        )  # fmt: skip
        for count in (0, 1):  # requeued once
            node = word(name, "ran", "job_view")
            Run.objects.create(handover=handed, restart_count=count, started_at=timezone.now(), node_list=node)
        Run.objects.create(handover=handed, array_task=1, started_at=timezone.now(), ticket=handed.ticket)
        return job

    def _wish(
        self, name: str, project: Project, allocation: Allocation, source: FundingSource, mate: User
    ) -> AllocationRequest:
        word = self.canaries.of
        wish = wishes.ask(
            project=project, kind="more", by=mate, why=word(name, "wish", "trail_read"), allocation=allocation,
            gpu_minutes=90_000, funding=source,
        )  # fmt: skip
        wishes.comment(request=wish, by=mate, text=word(name, "comment", "trail_read"))
        return wish

    def _asked(self, name: str, project: Project) -> tuple[JoinRequest, ProjectRequest]:
        """Somebody asks to join, and for a project; both belong to nobody among the people of the cells."""
        word, asker = self.canaries.of, self._user_of(name, "asker", "member_manage", "trail_read")
        join = projects.ask_to_join(project=project, by=asker, why=word(name, "join", "member_manage", "trail_read"))
        asked = projects.ask_project(by=asker, code=f"asked-{name}", title="Asked", why="It is new.")
        return join, asked

    def _difference(self, allocation: Allocation) -> dict[str, Any]:
        return {"user": "", "partition": "", "qos": allocation.qos, "field": "gpus_at_once", "wanted": 8, "there": 9}


def other_of(person: str) -> str:
    """Somebody whose rows are not this person's."""
    return "pi" if person == "other_pi" else "other_pi"


__all__ = ["ABSENT", "BESIDE", "LISTED", "OTHER", "OWN", "REAL", "Mine", "Place", "World", "other_of"]
