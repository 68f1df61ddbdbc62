"""The data of a place: its dataset, whose steward is the place's PI, with everything a permission takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from datasets.models import DatasetUse
from datasets.services import agreements, asking, incidents, registering, terms, versions
from jobs.models import Job
from presets import services as presets
from presets.models import Environment
from projects.models import Project
from tests.matrix.canaries import Canaries


def plant(canaries: Canaries, name: str, project: Project, steward: User, mate: User, job: Job) -> dict[str, Any]:
    """Named like the project, so that one address leads to either; nobody but the steward decides."""

    def word(field: str, *permissions: str) -> str:
        return canaries.of(name, field, *(permissions or ("dataset_view",)))

    row = registering.register(
        project=project, steward=steward, by=None, code=project.code, name=word("dataset"), classification="personal",
        description=word("described"), licence=word("licence"), retention=word("retention"), legal_basis="7-IV",
        controller=word("controller"), processor=word("processor"), ethics=word("ethics"), transfer="no",
    )  # fmt: skip
    version = versions.add(
        dataset=row, label=word("label"), path=f"/srv/{word('datapath')}", by=steward, note=word("note")
    )
    terms.put_in_force(dataset=row, text=word("terms"), by=steward)
    registering.approve(dataset=row, by=steward)
    permission, wished = _permitted(row, project, mate, steward, word)
    DatasetUse.objects.create(
        job=job.pk, job_name=word("usedby"), dataset=row, version=version, grant=permission, project=project,
        user=mate, purpose="research", access="read",
    )  # fmt: skip
    return {
        "label": version.label, "version": version.pk, "permission": permission.pk, "wished": wished.pk,
        **_agreements(project, word), "incident": _incident(row, name, steward, canaries),
        "preset": _preset(project, word), "environment": _environment(project, mate, job, word),
    }  # fmt: skip


def _permitted(row: Any, project: Project, mate: User, steward: User, word: Any) -> tuple[Any, Any]:
    """(a permission of the project, a request of its own by somebody of whom the cells do not dispose)."""
    today = timezone.now().date()
    facts = {"purpose": "research", "starts_on": today, "ends_on": today + timedelta(days=90)}
    asked = asking.ask(dataset=row, by=mate, project=project, why=word("usewhy", "dataset_view"), **facts)
    permission = asking.approve(request=asked, by=steward)
    wished = asking.ask(dataset=row, by=mate, why=word("wishwhy", "trail_read", "dataset_steward"), **facts)
    return permission, wished


def _agreements(project: Project, word: Any) -> dict[str, Any]:
    """One in force that governs nothing, and one that has ended with a duty still owed."""
    today = timezone.now().date()
    facts = {
        "project": project, "by": None, "parties": word("parties", "project_view"),
        "document": word("document", "project_view"), "document_digest": "a" * 64, "starts_on": today,
        "ends_on": today + timedelta(days=300), "purposes": ["research"], "duties": word("duties", "project_view"),
    }  # fmt: skip
    agreement = agreements.add(title=word("agreed", "project_view"), **facts)
    ended = agreements.add(title=word("ended", "project_view"), **facts)
    old = registering.register(
        project=project, steward=project.memberships.filter(role="pi").first().user, by=None,  # type: ignore[union-attr]
        code=f"old-{project.pk}", name=word("olddata"), agreement=ended,
    )  # fmt: skip
    agreements.end(agreement=ended, by=None)
    return {"agreement": agreement.pk, "ended": ended.pk, "duty": ended.checklist.get(dataset=old).pk}


def _preset(project: Project, word: Any) -> Any:
    """A ready-made request of the project, seen by whoever sees the project."""
    made = presets.add(
        project=project, by=None, code="ours", title=word("preset", "project_view"), about=word("meant", "project_view"),
        rules={"script": {"mode": "default", "value": f"#!/bin/bash\n: {word('recipe', 'project_view')}\n"}},
    )  # fmt: skip
    return made.preset_id


def _environment(project: Project, mate: User, job: Job, word: Any) -> Any:
    """A build of somebody's, seen by whoever sees the project."""
    row = Environment.objects.create(
        project=project, name="ours", number=1, kind="pip", text=word("packages", "project_view"), job=job.pk, by=mate,
        ready_at=timezone.now(), lock=f"{word('locked', 'project_view')}==1\n", digest="b" * 64,
    )  # fmt: skip
    return row.pk


def _incident(row: Any, name: str, by: User, canaries: Canaries) -> Any:
    """Read by administrators and auditors alone."""

    def word(field: str) -> str:
        return "Said." if name == "listed" else canaries.of(name, field, "incident_view")

    incident = incidents.open_one(
        by=by, title=word("incident"), what=word("happened"), known_at=timezone.now(), subjects=word("subjects"),
        measures=word("measures"), datasets=[row],
    )  # fmt: skip
    incidents.notify(incident=incident, by=by, to="anpd", at=timezone.now(), text=word("notice"))
    return incident.pk
