"""Datasets over the API: the story by calls, refusals with their kind and field, the register of incidents."""

from __future__ import annotations

from typing import Any

import pytest

from audit.models import AuditEvent
from datasets.models import Dataset, Grant
from datasets.services import registering, terms
from tests.api import caller
from tests.conftest import Roles
from tests.datasets.conftest import PERSONAL, Shelf, today
from tests.factories import make_allocation, make_cluster, make_user

JOB: dict[str, Any] = {
    "project": "leitores", "name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n",
    "datasets": ["atlas"],
}  # fmt: skip
WISH = {"project": "leitores", "purpose": "research", "why": "For the paper."}


def said(answer: Any, status: int) -> Any:
    assert answer.status_code == status, answer.content.decode()
    return answer.json() if answer.content else None


def test_the_story_by_calls(shelf: Shelf, roles: Roles) -> None:
    make_cluster()
    make_allocation(shelf.users)
    lead, steward, pi, member = (caller(one) for one in (shelf.owner_pi, shelf.steward, shelf.pi, shelf.member))
    roles.use("web")
    new = {"project": "arquivo", "code": "fotos", "name": "Fotos", "steward": "curadora"}
    lacking = ["description", "licence", "retention", "terms", "version"]
    assert said(lead.post("/datasets", new), 201)["missing"] == lacking
    refused = said(steward.post("/datasets/fotos/approve", {}), 422)
    assert refused["type"].endswith("incomplete") and "a version with its path" in refused["detail"]
    assert "steward" in said(lead.post("/datasets", new | {"code": "x1", "steward": "ninguem"}), 422)["errors"]
    said(steward.post("/datasets/atlas/terms", {"text": "Be careful."}), 200)
    said(steward.patch("/datasets/atlas", PERSONAL | {"is_listed": True}), 200)
    assert said(steward.post("/datasets/atlas/approve", {}), 200)["state"] == "approved"
    assert said(steward.patch("/datasets/atlas", {"controller": ""}), 422)["type"].endswith("incomplete")
    assert [one["may_view"] for one in said(member.get("/datasets"), 200)] == [False]
    assert "datasets" in said(member.post("/jobs", JOB), 422)["errors"]
    wish = WISH | {"starts_on": str(today()), "ends_on": str(today(90))}
    said(member.post("/datasets/atlas/requests", wish), 403)  # who does not manage the project asks for themselves
    asked = said(pi.post("/datasets/atlas/requests", wish), 201)
    give = f"/datasets/atlas/requests/{asked['id']}/give"
    said(pi.post(give, {}), 403)
    given = said(steward.post(give, {"ends_on": str(today(30))}), 200)
    assert given["ends_on"] == str(today(30)) and given["in_force"]
    assert said(steward.post(give, {}), 409)["type"].endswith("decided")
    assert "terms" in said(member.post("/jobs", JOB), 422)["detail"]
    assert said(member.post("/datasets/atlas/terms/accept", {"number": 2}), 409)["type"].endswith("other-terms")
    assert said(member.post("/datasets/atlas/terms/accept", {"number": 1}), 200)["accepted"]
    job = said(member.post("/jobs", JOB), 201)
    assert job["datasets"] == ["atlas@v1"]
    page = said(steward.get("/datasets/atlas/uses?limit=1"), 200)
    assert page["items"][0]["job"] == job["id"] and page["items"][0]["person"] == "membro" and page["next"] is None
    revoke = f"/datasets/atlas/permissions/{given['id']}/revoke"
    said(steward.post(revoke, {"why": "It is over."}), 200)
    assert said(steward.post(revoke, {"why": "It is over."}), 409)["type"].endswith("revoked")
    refusal = said(member.post("/jobs", JOB), 422)
    assert refusal["type"].endswith("not-permitted") and "curadora" in refusal["errors"]["datasets"][0]
    assert said(member.get(f"/jobs/{job['id']}/log"), 403)["detail"].startswith("The job used personal data")


def test_nobody_gives_to_themselves(shelf: Shelf, roles: Roles) -> None:
    shelf.approved()
    steward = caller(shelf.steward)
    roles.use("web")
    wish = {"purpose": "research", "why": "x", "starts_on": str(today()), "ends_on": str(today(9))}
    asked = said(steward.post("/datasets/atlas/requests", wish), 201)
    answer = said(steward.post(f"/datasets/atlas/requests/{asked['id']}/give", {}), 403)
    assert answer["type"].endswith("own-request") and not Grant.objects.exists()


def test_agreements_by_calls(shelf: Shelf, roles: Roles) -> None:
    shelf.approved()
    lead, steward, pi = caller(shelf.owner_pi), caller(shelf.steward), caller(shelf.pi)
    roles.use("web")
    new = {
        "title": "Sharing", "parties": "A and B", "document": "Archive", "document_digest": "a" * 64,
        "starts_on": str(today()), "ends_on": str(today(60)), "purposes": ["research"], "duties": "Delete all copies.",
    }  # fmt: skip
    said(lead.post("/projects/arquivo/agreements", new | {"document_digest": "x"}), 422)
    said(lead.post("/projects/arquivo/agreements", new | {"purposes": []}), 422)
    row = said(lead.post("/projects/arquivo/agreements", new), 201)
    said(steward.patch("/datasets/atlas", {"agreement": row["id"]}), 200)
    roles.use(None)
    registering.change(dataset=Dataset.objects.get(code="atlas"), by=shelf.steward, is_listed=True)
    roles.use("web")
    wish = WISH | {"starts_on": str(today()), "ends_on": str(today(61))}
    assert said(pi.post("/datasets/atlas/requests", wish), 422)["type"].endswith("outside-agreement")
    where = f"/projects/arquivo/agreements/{row['id']}"
    [duty] = said(lead.post(f"{where}/end", {}), 200)["checklist"]
    assert said(lead.post(f"{where}/end", {}), 409)["type"].endswith("agreement-ended")
    done = said(lead.post(f"{where}/duties/{duty['id']}", {"kind": "return", "how": "By courier."}), 200)
    assert done["settled_at"] is not None


def test_incidents_by_calls(shelf: Shelf, roles: Roles) -> None:
    operator, auditor = caller(make_user(site_role="operator")), caller(make_user(site_role="auditor"))
    stranger = caller(shelf.stranger)
    roles.use("web")
    new = {
        "title": "A copy", "what": "It was open.", "known_at": "2026-04-01T12:00:00Z", "subjects": "Patients.",
        "datasets": ["atlas"],
    }  # fmt: skip
    assert "datasets" in said(operator.post("/incidents", new | {"datasets": ["nix"]}), 422)["errors"]
    row = said(operator.post("/incidents", new), 201)
    assert (row["notice_due"], row["datasets"]) == ("2026-04-07", ["atlas"])  # Good Friday between
    where = f"/incidents/{row['id']}"
    assert "measures" in said(operator.post(f"{where}/close", {}), 422)["errors"]
    said(operator.patch(where, {"measures": "It was closed."}), 200)
    said(operator.post(f"{where}/notices", {"to": "anpd", "at": "2026-04-02T12:00:00Z", "text": "We tell you."}), 201)
    said(operator.post(f"{where}/close", {}), 200)
    assert said(operator.patch(where, {"people": 3}), 409)["type"].endswith("closed")
    assert [one["id"] for one in said(auditor.get("/incidents"), 200)] == [row["id"]]
    said(auditor.patch(where, {"people": 3}), 403)
    said(stranger.get("/incidents"), 403)


@pytest.mark.parametrize("path", ["/datasets/atlas", "/datasets/nowhere", "/datasets/atlas/uses"])
def test_what_is_not_theirs_is_not_there(shelf: Shelf, path: str) -> None:
    said(caller(shelf.stranger).get(path), 404)
    assert terms.in_force(shelf.dataset) is None


def test_a_code_that_is_taken_says_nothing_but_that_and_a_free_one_leaves_a_trace(shelf: Shelf, roles: Roles) -> None:
    """Codes are unique over the site, so that a dataset one cannot see takes one, too."""
    pi = caller(shelf.pi)
    roles.use("web")
    said(pi.get("/datasets/atlas"), 404)
    new = {"project": "leitores", "code": "atlas", "name": "Nosso", "steward": "coordenador"}
    taken = said(pi.post("/datasets", new), 422)
    assert list(taken["errors"]) == ["code"] and len(taken["errors"]["code"]) == 1
    for told in ("arquivo", "Atlas", "curadora", "Scans"):
        assert told not in str(taken)
    said(pi.post("/datasets", new | {"code": "atlas2"}), 201)
    event = AuditEvent.objects.get(action="dataset.registered", project_code="leitores")
    assert event.actor_name == "coordenador" and event.said["code"] == "atlas2"
    said(pi.delete("/datasets/atlas2"), 405)
