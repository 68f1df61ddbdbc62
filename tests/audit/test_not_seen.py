"""What the trail does not see stands before the events of every form, is none of them, and is always the same bytes."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from audit.models import AuditSeal, Checkpoint
from audit.models.export import Form
from audit.services import unseen
from audit.services.exports import asking, making
from audit.services.exports.reading_copies import COLUMNS
from audit.services.sealing import Sealer
from audit.services.wanted import Wanted
from projects.models import Project
from tests.audit.exporting import KEY, fill
from tests.audit.hostile import plain_rows
from tests.conftest import Roles
from tests.factories import make_project, make_user

BACK = timezone.now().replace(microsecond=0)
AWAY = {"since": (BACK - timedelta(hours=3)).isoformat(), "until": BACK.isoformat()}
COPIES = [Form.CSV, Form.OCSF, Form.ECS]


@pytest.fixture
def place(db: None, settings: Any, tmp_path: Path, roles: Roles) -> tuple[User, Project]:
    settings.EXPORTS_FOLDER = str(tmp_path)
    user, project = make_user("davi"), make_project("visao")
    away(project, BACK)
    fill(user, project)
    roles.use("web")
    return user, project


def away(project: Project, back: datetime) -> None:
    """Three hours in which nobody followed Slurm."""
    unseen.back_again(back - timedelta(hours=3), about=project, now=back)


def taken(user: User, form: Form, wanted: Wanted | None = None, checkpoint: Checkpoint | None = None) -> bytes:
    """A small export, and that it counts the events alone."""
    row = asking.ask(form=form, wanted=wanted or Wanted(), by=user, whole=True, checkpoint=checkpoint)
    data = b"".join(making.streamed(row, by=user))
    row.refresh_from_db()
    first = 2 if form == Form.CSV else 1
    assert row.count == data.count(b"\n") - first
    return data


def first(user: User, form: Form, **more: Any) -> dict[str, Any]:
    """What the first line says."""
    found: dict[str, Any] = json.loads(taken(user, form, **more).splitlines()[0])
    return found


def note(data: bytes) -> dict[str, str]:
    """The row beneath the names of a table's columns."""
    return next(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_ecs_opens_with_a_state_of_a_dataset_of_its_own(place: tuple[User, Project]) -> None:
    said = first(place[0], Form.ECS)
    assert said["event"].keys() == {"kind", "id", "dataset", "module"}
    assert (said["event"]["kind"], said["event"]["dataset"]) == ("state", "bancada.note")
    assert said["ecs"] == {"version": "8.11.0"} and said["@timestamp"].endswith("Z")
    assert said["bancada"] == {"not_seen": list(unseen.WORDS), "not_followed": [AWAY]}
    assert all(words in said["message"] for words in (*unseen.WORDS, AWAY["since"], AWAY["until"]))


def test_ocsf_opens_with_a_base_event(place: tuple[User, Project]) -> None:
    said = first(place[0], Form.OCSF)
    assert (said["class_uid"], said["category_uid"], said["activity_id"], said["type_uid"]) == (0, 0, 99, 99)
    assert (said["severity_id"], said["activity_name"], said["metadata"]["version"]) == (1, "Note", "1.3.0")
    assert said["metadata"]["product"]["vendor_name"] == "Bancada" and "event_code" not in said["metadata"]
    assert said["time"] == int(Checkpoint.objects.latest("pk").at.timestamp() * 1000)
    assert said["unmapped"] == {"not_seen": list(unseen.WORDS), "not_followed": [AWAY]}
    assert said["message"].startswith("Not an event.")


def test_a_table_opens_with_a_row_that_has_nothing_of_an_event(place: tuple[User, Project]) -> None:
    data = taken(place[0], Form.CSV)
    found = note(data)
    assert tuple(found) == COLUMNS and {len(row) for row in plain_rows(data)} == {len(COLUMNS)}
    assert {name for name, value in found.items() if value} == {"action", "subject", "detail"}
    assert found["action"] == "note" and unseen.WORDS[0] in found["subject"]
    assert json.loads(found["detail"]) == {"not_seen": list(unseen.WORDS), "not_followed": [AWAY]}


def test_it_is_what_the_evidence_says(place: tuple[User, Project]) -> None:
    said = first(place[0], Form.ECS)
    assert said["bancada"]["not_seen"] == json.loads(exported_evidence(place[0]).splitlines()[0])["not_seen"]


def exported_evidence(user: User) -> bytes:
    row = asking.ask(form=Form.JSONL, wanted=Wanted(), by=user, whole=True)
    return b"".join(making.streamed(row, by=user))


@pytest.mark.parametrize("form", COPIES)
def test_what_comes_after_the_checkpoint_changes_nothing_of_it(
    place: tuple[User, Project], form: Form, roles: Roles
) -> None:
    user, project = place
    last = Checkpoint.objects.latest("pk")
    before = taken(user, form, checkpoint=last)
    away(project, BACK + timedelta(minutes=1))
    assert taken(user, form, checkpoint=last) == before
    roles.use("seal")
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)
    roles.use("web")
    assert taken(user, form, checkpoint=last) == before
    later = taken(user, form)
    assert AuditSeal.objects.count() > last.seq and later.splitlines()[:2] != before.splitlines()[:2]


@pytest.mark.parametrize("form", COPIES)
def test_of_a_time_after_it_the_break_is_not_told(place: tuple[User, Project], form: Form) -> None:
    wanted = Wanted(since=timezone.now() + timedelta(hours=1))
    data = taken(place[0], form, wanted)
    assert b"not_seen" in data and AWAY["since"].encode() not in data


def test_each_form_names_its_note_alike_and_other_notes_otherwise(place: tuple[User, Project]) -> None:
    user = place[0]
    name = first(user, Form.ECS)["event"]["id"]
    assert name == first(user, Form.OCSF)["metadata"]["uid"]
    later = Wanted(since=timezone.now() + timedelta(hours=1))
    assert first(user, Form.ECS, wanted=later)["event"]["id"] != name
