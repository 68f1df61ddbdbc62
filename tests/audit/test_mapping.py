"""An event in the words of OCSF and ECS: by the table, with its stable code, and nothing where nothing is known."""

from __future__ import annotations

import pytest

from audit import context, trail
from audit.actions import Action, Outcome
from audit.mapping import ecs, ocsf
from audit.models import AuditEvent
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db


def refused() -> AuditEvent:
    user, project = make_user("davi"), make_project("visao")
    with context.coming_from("api", address="192.0.2.7", correlation="abc"):
        return trail.record(
            Action.ACCESS_REFUSED, by=user, about=user, project=project, outcome=Outcome.REFUSED, permission="job_view"
        )


def test_ocsf_says_class_activity_status_and_who() -> None:
    event = refused()
    said = ocsf(event)
    assert (said["category_uid"], said["class_uid"], said["activity_id"], said["type_uid"]) == (6, 6003, 2, 600302)
    assert (said["status_id"], said["status"], said["status_code"]) == (2, "Failure", "refused")
    assert (said["metadata"]["uid"], said["metadata"]["event_code"]) == (str(event.uid), "20071")
    assert said["actor"]["user"] == {"name": "davi", "uid": str(event.actor_id)}
    assert said["src_endpoint"] == {"ip": "192.0.2.7"}
    assert said["time"] == int(event.at.timestamp() * 1000)


def test_ecs_says_category_type_outcome_and_who() -> None:
    event = refused()
    said = ecs(event)
    assert said["event"] == {
        "kind": "event", "category": ["api"], "type": ["access", "denied"], "action": "access.refused", "code": "20071",
        "outcome": "failure", "id": str(event.uid), "dataset": "bancada.audit", "module": "bancada",
    }  # fmt: skip
    assert said["user"]["name"] == "davi" and said["trace"] == {"id": "abc"}
    assert said["@timestamp"].endswith("Z")


def test_addresses_are_left_out_of_a_projects_own() -> None:
    event = refused()
    assert "192.0.2.7" not in str(ocsf(event, everything=False)) + str(ecs(event, everything=False))


def test_what_nobody_knows_any_more_is_still_said() -> None:
    event = AuditEvent(at=refused().at, action="fax.sent", outcome="lost", channel="fax")
    assert ocsf(event)["metadata"]["event_code"] == "fax.sent" and ocsf(event)["status"] == "Unknown"
    assert ecs(event)["event"]["outcome"] == "unknown"


def test_an_alarm_is_grave() -> None:
    event = trail.record(Action.DIRECTORY_ALARM, outcome=Outcome.FAILED, missing=3, everybody=5)
    assert ocsf(event)["severity_id"] == 4 and ecs(event)["event"]["kind"] == "alert"
