"""Acts that no door does with the matrix's lawful but empty calls, done by their services: each with the events it tells."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.test import RequestFactory, override_settings
from django.utils import timezone

from access.ids import uuid7
from access.roles import SiteRole
from accounts import services as accounts
from accounts.directory.entries import Entry
from accounts.models import User
from audit.catalogue.entry import RetentionClass
from audit.models import GuestAuditor, LegalHold
from audit.services import effective, guests, keeping, pseudonyms
from cluster.models import Announcement, Cluster, Maintenance
from cluster.services import announcing, operating
from datasets.models import Dataset, DatasetVersion, Grant
from datasets.services import registering, versions, warning
from jobs.acts import Act
from jobs.models import Handover, Job
from jobs.services import following, metrics, repeating
from jobs.services.acts import asking as acts
from jobs.services.importing import dictionary
from presets.building import Built
from presets.models import Environment, Preset, Software
from presets.services import editing, environments, validated
from projects import services as projects
from projects.models import Membership, Project
from quotas.models import Allocation
from quotas.services import drift
from quotas.services import warning as allocations
from tests.matrix.expect import OWN
from tests.matrix.people import World

Does = Callable[[World], object]
WHY = "It was agreed."
SOON = timedelta(days=2)


@dataclasses.dataclass(frozen=True)
class Service:
    """An act, and what must stand before it; `role`: of the process that does it."""

    events: str
    act: Does
    before: Does | None = None
    role: str = "web"

    def __str__(self) -> str:
        return self.events


def _project(world: World) -> Project:
    return Project.objects.get(code=world.places[OWN].code)


def _dataset(world: World) -> Dataset:
    return Dataset.objects.get(code=world.places[OWN].code)


def _job(world: World) -> Job:
    return Job.objects.get(pk=world.places[OWN].job)


def _membership(world: World) -> Membership:
    return Membership.objects.get(project=_project(world), user=world.users["researcher"])


def _environment(world: World) -> Environment:
    return Environment.objects.get(pk=world.places[OWN].environment)


def _preset(world: World) -> Preset:
    return Preset.objects.get(pk=world.places[OWN].preset)


def _sign_in(world: World) -> None:
    request: Any = RequestFactory().post("/")
    request.session = SessionStore()
    accounts.sign_in(request, user=world.users["viewer"])


def _entry(user: User, **changed: Any) -> Entry:
    facts = {"directory_id": user.directory_id, "username": user.username, "uid_number": user.uid_number,
             "gid_number": user.gid_number, "name": user.display_name, "mail": user.email}  # fmt: skip
    return Entry(**(facts | changed))


def _remember(name: str, site_role: SiteRole | None = None, **changed: Any) -> Does:
    return lambda world: accounts.remember(entry=_entry(world.users[name], **changed), site_role=site_role)


def _missing(world: World) -> None:
    accounts.deactivate(user=world.users["viewer"], by=None, why=WHY)
    User.objects.filter(pk=world.users["viewer"].pk).update(directory_missing_at=timezone.now())


def _draft(world: World) -> None:
    Dataset.objects.filter(pk=_dataset(world).pk).update(state="draft", approved_at=None)


def _unguarded() -> None:
    """What was fixed when it was written may be made older."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")


def _grant_ends(days: int) -> Does:
    def act(world: World) -> None:
        today, rows = timezone.now().date(), Grant.objects.filter(pk=world.places[OWN].permission)
        _unguarded()
        rows.update(starts_on=today - timedelta(days=9), ends_on=today + timedelta(days=days))

    return act


def _being_built(world: World) -> None:
    facts = {"project": _project(world), "job": uuid7(), "by": world.users["pi"]}
    Environment.objects.create(name="new", number=1, kind="pip", text="a", **facts)


def _keep_manifest(world: World) -> None:
    line = b"5 " + hashlib.sha256(b"x").hexdigest().encode() + b" a\n"
    said = f"bancada-manifest sha256={hashlib.sha256(line).hexdigest()} files=1 bytes=5\n".encode()
    version = DatasetVersion.objects.get(pk=world.places[OWN].version)
    versions.keep_manifest(version=version, output=[line, said], by=world.users["pi"])


def _software(world: World) -> Software:
    facts = {"name": "pytorch", "version": "2.5", "modules": "pytorch/2.5", "validated_on": timezone.now().date()}
    return validated.add_software(by=world.users["operator"], **facts)


def _retired(world: World) -> None:
    validated.retire_software(software=_software(world), by=None)


def _window(world: World) -> Maintenance:
    now = timezone.now()
    return operating.plan(
        cluster=Cluster.objects.get(), by=world.users["operator"], affected=[], starts_at=now + SOON,
        ends_at=now + 2 * SOON, reason_en="A fan.", reason_pt="A fan.",
    )  # fmt: skip


def _announce(world: World) -> Announcement:
    said = {"text_en": "A fan.", "text_pt": "A fan.", "ends_at": timezone.now() + SOON}
    return announcing.publish(by=world.users["operator"], **said)


def _ask_pseudonym(world: World) -> None:
    pseudonyms.ask(person=world.newcomer, by=world.users["operator"], why=WHY)


def _carry_out(world: World) -> None:
    with override_settings(PSEUDONYM_AFTER_HOURS=0):
        pseudonyms.carry_out()


def _hold(world: World) -> LegalHold:
    return keeping.place_hold(reason=WHY, by=world.users["operator"], project=_project(world))


SERVICES = [
    Service("session.opened", _sign_in),
    Service(
        "token.issued",
        lambda w: accounts.issue_token(user=w.users["pi"], name="x", scopes=["read"], days=1, by=w.users["pi"]),
    ),
    Service(
        "user.created", lambda w: accounts.remember(entry=Entry(uuid7(), "somebody", 4242, 4242, name="Some Body"))
    ),
    Service("user.changed", _remember("viewer", uid_number=4243)),
    Service("user.role_changed", _remember("viewer", SiteRole.AUDITOR)),
    Service(
        "token.revoked token.revoked user.closed",
        lambda w: accounts.deactivate(user=w.users["viewer"], by=None, why=WHY),
    ),
    Service("user.reopened", _remember("viewer"), _missing),
    Service(
        "project.reopened",
        lambda w: projects.reopen_project(project=_project(w), by=None),
        lambda w: projects.archive_project(project=_project(w), by=None),
    ),
    Service(
        "member.expiry_changed",
        lambda w: projects.set_expiry(membership=_membership(w), until=timezone.now() + SOON, by=None),
    ),
    Service("member.expired", lambda w: projects.close_expired(), role="work"),
    Service(
        "allocation.warned",
        lambda w: allocations.warn(),
        lambda w: Allocation.objects.filter(code=w.places[OWN].allocation).update(gpu_minutes=120),
        role="work",
    ),
    Service(
        "allocation.changed drift.adopted",
        lambda w: drift.adopt(project=_project(w), by=w.users["operator"]),
    ),
    Service("job.lost", lambda w: following.lose(Handover.objects.get(job=w.places[OWN].job)), role="slurm"),
    Service(
        "job.change_asked",
        lambda w: acts.ask(job=_job(w), act=Act.REQUEUE, by=w.users["owner"]),
    ),
    Service("job.submitted job.repeated", lambda w: repeating.again(job=_job(w), by=w.users["owner"])),
    Service(
        "project.metrics_changed",
        lambda w: metrics.set_pattern(project=_project(w), text="loss {loss}", by=w.users["pi"]),
    ),
    Service("maintenance.planned", _window),
    Service(
        "maintenance.cancelled",
        lambda w: operating.cancel(window=Maintenance.objects.get(), by=w.users["operator"]),
        _window,
    ),
    Service("announcement.published", _announce),
    Service(
        "announcement.ended",
        lambda w: announcing.end(row=Announcement.objects.get(), by=w.users["operator"]),
        _announce,
    ),
    Service("dataset.approved", lambda w: registering.approve(dataset=_dataset(w), by=w.users["pi"]), _draft),
    Service("dataset.manifest_kept", _keep_manifest),
    Service("dataset.expired", lambda w: warning.look(), _grant_ends(-1), role="work"),
    Service("dataset.warned", lambda w: warning.look(), _grant_ends(1), role="work"),
    Service(
        "preset.added",
        lambda w: editing.add(project=_project(w), code="more", title="More", rules={}, by=w.users["pi"]),
    ),
    Service("preset.changed", lambda w: editing.change(preset=_preset(w), title="Else", rules={}, by=w.users["pi"])),
    Service(
        "preset.offered",
        lambda w: editing.offer_again(preset=_preset(w), by=w.users["pi"]),
        lambda w: editing.retire(preset=_preset(w), by=None),
    ),
    Service("software.added", _software),
    Service(
        "software.changed",
        lambda w: validated.change_software(software=Software.objects.get(name="pytorch"), by=None, about="For all."),
        _software,
    ),
    Service(
        "software.retired",
        lambda w: validated.retire_software(software=Software.objects.get(name="pytorch"), by=None),
        _software,
    ),
    Service(
        "software.offered",
        lambda w: validated.offer_software_again(software=Software.objects.get(name="pytorch"), by=None),
        _retired,
    ),
    Service(
        "environment.built",
        lambda w: environments.ready(row=Environment.objects.get(name="new"), built=Built("a==1\n", 7, "3.11")),
        _being_built,
        role="slurm",
    ),
    Service(
        "environment.offered",
        lambda w: environments.offer_again(environment=_environment(w), by=w.users["pi"]),
        lambda w: environments.retire(environment=_environment(w), by=w.users["pi"]),
    ),
    Service("environment.deleted", lambda w: environments.deleted(environment=_environment(w), by=w.users["pi"])),
    Service(
        "dictionary.changed",
        lambda w: dictionary.change(entries=[], base=0, note="", by=w.users["operator"]),
    ),
    Service("trail.settings_changed", lambda w: effective.note("worker", {"a": "b"}), role="work"),
    Service(
        "retention.changed",
        lambda w: keeping.change_retention(kind=RetentionClass.SESSION, days=None, by=w.users["operator"], why=WHY),
    ),
    Service("hold.placed", _hold),
    Service(
        "hold.lifted",
        lambda w: keeping.lift_hold(hold=LegalHold.objects.get(), by=w.users["operator"], why=WHY),
        _hold,
    ),
    Service("person.pseudonym_asked user.closed", _ask_pseudonym),
    Service("person.pseudonymised", _carry_out, _ask_pseudonym, role="seal"),
    Service(
        "guest.admitted",
        lambda w: guests.admit(
            user=w.users["outsider"], projects=[_project(w)], by=None, ends_at=timezone.now() + SOON, why=WHY
        ),
    ),
    Service(
        "guest.ended",
        lambda w: guests.end(guest=GuestAuditor.objects.get(), user=w.users["guest"], by=w.users["operator"]),
    ),
]

_READ, _REFUSED = "a read: nothing is changed", "a refusal: nothing is changed"
_SAID = "what another system said; the row that holds it is written with the event"
_SLURM = "an act on Slurm, which shares no transaction: its intent stands until the event is there"
_FILES = "an export is a file: it is asked for, made and handed over piece by piece"
BESIDE = {
    "session.refused": _REFUSED, "token.refused": _REFUSED, "access.refused": _REFUSED, "dataset.refused": _REFUSED,
    "project.listed": _READ, "report.read": _READ, "log.read": _READ, "log.downloaded": _READ, "file.read": _READ,
    "job.metrics_read": _READ, "file.downloaded": _READ, "file.handed_out": _READ, "dataset.exported": _READ,
    "incident.exported": _READ, "trail.read": _READ, "trail.export_fetched": _READ, "access.asked": _READ,
    "person.reported": _READ, "directory.alarm": _READ, "follower.away": _READ, "trail.verified": _READ,
    "limits.applied": _SLURM, "limits.failed": _SLURM, "job.accepted": _SLURM, "job.released": _SLURM,
    "job.refused": _SLURM, "job.unconfirmed": _SLURM, "job.adopted": _SLURM, "job.held": _SLURM,
    "job.cancelled": _SLURM, "job.changed": _SLURM, "node.changed": _SLURM, "maintenance.changed": _SLURM,
    "drift.seen": _SAID, "job.started": _SAID, "job.requeued": _SAID, "job.ended": _SAID, "job.discovered": _SAID,
    "gpu.used_outside": _SAID, "dataset.declared": "with job.submitted", "dataset.started": _SAID,
    "dataset.ended": _SAID, "trail.export_asked": _FILES, "trail.exported": _FILES,
    "trail.checkpoint_mailed": "a mail went out before it", "trail.bodies_removed": "tests/audit/test_removed.py",
    "command.run": "it stands before the command begins",
}  # fmt: skip
