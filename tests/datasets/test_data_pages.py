"""Pages of datasets: the whole story by forms, few queries a page, denials, tables without formulas."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.actions import Action
from audit.models import AuditEvent
from datasets.forms import AskForm
from datasets.models import Agreement, Dataset, DatasetState, Grant, GrantRequest, SecurityIncident
from datasets.services import registering
from jobs import services
from jobs.models import Job
from projects import services as projects
from tests.conftest import Roles
from tests.datasets.conftest import PERSONAL, WHOLE, Shelf, today
from tests.factories import make_allocation, make_cluster, make_project, make_user
from tests.pages import signed_in

MOST = 8  # queries of a page
ASKED = {"purpose": "research", "access": "read", "why": "For the paper."}


def ok(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, (answer.status_code, answer.content.decode()[:3000])
    return str(answer.content.decode())


def get(who: Any, path: str) -> str:
    """The page, in English, with few queries and no write."""
    client = signed_in(who)
    client.get("/help", headers={"Accept-Language": "en"})
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(path, headers={"Accept-Language": "en"})
    assert len(asked) <= MOST, "\n".join(
        one["sql"][:70] + " FROM" + one["sql"].partition(" FROM")[2][:60] for one in asked
    )
    return ok(answer)


def following(who: Any, where: str) -> str:
    """What the page says that a form leads back to."""
    return ok(signed_in(who).post(where, headers={"Accept-Language": "en"}, follow=True))


def post(who: Any, where: str, status: int = 302, **data: Any) -> str:
    return ok(signed_in(who).post(where, data, headers={"Accept-Language": "en"}), status)


def test_registered_completed_approved_asked_for_given_accepted_revoked(shelf: Shelf, roles: Roles) -> None:
    lead, steward, pi = shelf.owner_pi, shelf.steward, shelf.pi
    roles.use("web")
    assert "Register a dataset" in get(lead, "/projects/arquivo/new-dataset")
    new = {"code": "raios-x", "name": "Raios X", "steward": "curadora", "classification": "personal"}
    post(lead, "/projects/arquivo/new-dataset", 422, **(new | {"steward": "ninguem"}))
    post(lead, "/projects/arquivo/new-dataset", **new)
    page = get(steward, "/datasets/raios-x")
    assert "Still missing for approval" in page and "legal basis" in page
    said = "Still missing: description, licence, retention, legal basis, controller, processor, international transfer,"
    assert f"{said} ethics approval, terms of use, a version with its path on shared storage" in following(
        steward, "/datasets/raios-x/approve"
    )
    post(steward, "/datasets/raios-x/new-terms", text="Be careful.")
    post(steward, "/datasets/raios-x/edit", name="Raios X", downloads="on", is_listed="on", **PERSONAL)
    post(steward, "/datasets/raios-x/new-version", 422, label="v 1", path="data")
    post(steward, "/datasets/raios-x/new-version", label="v1", path="/srv/data/x/v1")
    assert "it can be approved" in get(steward, "/datasets/raios-x")
    post(steward, "/datasets/raios-x/approve")
    row = Dataset.objects.get(code="raios-x")
    assert row.state == DatasetState.APPROVED
    assert "Raios X" in get(pi, "/datasets/")
    assert "Be careful" in get(pi, "/datasets/raios-x/terms")
    wish = {"for_whom": "leitores", "starts_on": today(), "ends_on": today(90)}
    post(pi, "/datasets/raios-x/ask", 422, **(ASKED | wish | {"ends_on": today(-1)}))
    post(pi, "/datasets/raios-x/ask", **(ASKED | wish))
    asked = GrantRequest.objects.get()
    assert "leitores" in get(steward, "/data/stewardship") and "leitores" in get(steward, "/datasets/raios-x")
    decide = f"/datasets/raios-x/requests/{asked.pk}/decide"
    post(steward, decide, act="refuse", answer="")
    assert GrantRequest.objects.get().is_open
    post(steward, decide, act="give", ends_on=today(30), answer="Welcome.")
    grant = Grant.objects.get()
    assert grant.ends_on == today(30)
    assert "You have not accepted" in get(shelf.member, "/datasets/raios-x")
    post(shelf.member, "/datasets/raios-x/terms", number="1")
    assert "accepted by you" in get(shelf.member, "/datasets/raios-x")
    revoke = f"/datasets/raios-x/permissions/{grant.pk}/revoke"
    post(steward, revoke)
    grant.refresh_from_db()
    assert grant.revoked_at is None
    post(steward, revoke, why="The study is over.")
    assert "The study is over." in get(steward, "/datasets/raios-x")
    assert ok(signed_in(shelf.member).get("/datasets/raios-x"), 403)  # listed: it is there, and not theirs
    assert "Raios X" in get(shelf.member, "/datasets/raios-x/ask")


def test_each_page_for_who_may_see_it(shelf: Shelf, roles: Roles) -> None:
    shelf.personal()
    agreement, grant = shelf.agreement(), shelf.grant()
    operator, auditor = make_user(site_role="operator"), make_user(site_role="auditor")
    roles.use("web")
    for who in (shelf.steward, shelf.owner_pi, shelf.member, operator, auditor):
        assert "Atlas" in get(who, "/datasets/atlas")
        assert "Atlas" in get(who, "/datasets/?q=atl")
    assert "read only by who may use" in get(shelf.member, "/datasets/atlas/ask")
    for path in ("edit", "new-version", "new-terms", "steward"):
        get(shelf.steward, f"/datasets/atlas/{path}")
        assert ok(signed_in(shelf.member).get(f"/datasets/atlas/{path}"), 403)
        assert ok(signed_in(shelf.stranger).get(f"/datasets/atlas/{path}"), 404)
    page = f"/projects/arquivo/agreements/{agreement.pk}"
    assert "Demo Hospital" in get(shelf.owner_pi, page)
    get(shelf.owner_pi, f"{page}/change")
    assert ok(signed_in(shelf.stranger).get(page), 404)
    assert "atlas" in get(shelf.owner_pi, "/projects/arquivo/datasets")
    assert "may be used until" in get(shelf.member, "/projects/leitores/datasets")
    assert "Demo University" in get(auditor, "/data/processing") and "Atlas" in get(shelf.steward, "/data/processing")
    assert "No personal data" in get(shelf.member, "/data/processing")
    assert ok(signed_in(shelf.stranger).post(f"/datasets/atlas/permissions/{grant.pk}/revoke", {"why": "x"}), 404)


def test_uses_are_seen_by_the_steward_whole_and_by_others_of_their_own(shelf: Shelf, roles: Roles) -> None:
    make_cluster()
    make_allocation(shelf.users)
    shelf.approved()
    shelf.grant()
    raw = {"name": "treino", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n", "datasets": ["atlas"]}
    spec, allocation = services.prepare(raw, project=shelf.users)
    services.submit(project=shelf.users, spec=spec, allocation=allocation, by=shelf.member)
    roles.use("web")
    for who in (shelf.steward, shelf.owner_pi, shelf.pi):
        assert "treino" in get(who, "/datasets/atlas")
        table = b"".join(signed_in(who).get("/datasets/atlas/uses.csv").streaming_content).decode()
        assert "membro" in table and "leitores" in table
    assert AuditEvent.objects.filter(action=Action.DATASETS_EXPORTED).count() == 3
    shelf_steward = get(shelf.steward, "/data/stewardship")
    assert "treino" in shelf_steward
    job = Job.objects.get()
    assert "atlas@v1" in get(shelf.member, f"/jobs/{job.pk}")
    assert "Here you may use: atlas" in get(shelf.member, "/jobs/new?project=leitores")
    roles.use(None)
    registering.change(dataset=shelf.dataset, by=shelf.steward, name="=1+1")
    roles.use("web")
    table = b"".join(signed_in(shelf.steward).get("/data/processing.csv").streaming_content).decode()
    assert ",=1" not in table


def test_a_refused_job_says_why_beside_the_field_and_shut_outputs_say_whom_to_ask(shelf: Shelf, roles: Roles) -> None:
    make_cluster()
    make_allocation(shelf.users)
    shelf.personal()
    grant = shelf.grant()
    roles.use("web")
    form = {
        "project": "leitores", "name": "treino", "partition": "gpu", "gpus": "1", "allocation": "main",
        "script": "#!/bin/bash\n#BANCADA dataset=atlas@v1\ntrue\n",
    }  # fmt: skip
    page = post(shelf.member, "/jobs/new", 422, **form)
    assert "you have not accepted its terms of use" in page
    post(shelf.member, "/datasets/atlas/terms", number="1")
    post(shelf.member, "/jobs/new", **form)
    job = Job.objects.get()
    post(shelf.steward, f"/datasets/atlas/permissions/{grant.pk}/revoke", why="The study is over.")
    page = get(shelf.member, f"/jobs/{job.pk}")
    assert "permission revoked" in page and "Ask its data steward" in page and "log-viewer" not in page
    for path in ("log", "log/download", "log/find?q=x"):
        assert ok(signed_in(shelf.member).get(f"/jobs/{job.pk}/{path}"), 403)
    assert "neither the project nor you" in post(shelf.member, "/jobs/new", 422, **form)


def test_an_agreement_by_forms_from_its_document_to_the_last_duty(shelf: Shelf, roles: Roles) -> None:
    lead = shelf.owner_pi
    roles.use("web")
    fields = {
        "title": "Sharing", "parties": "A; B", "document": "Archive", "starts_on": today(-1), "ends_on": today(90),
        "purposes": ["research"], "duties": "Delete all copies.",
    }  # fmt: skip
    assert "give its digest" in post(lead, "/projects/arquivo/new-agreement", 422, **fields)
    signed = SimpleUploadedFile("signed.pdf", b"%PDF")
    post(lead, "/projects/arquivo/new-agreement", **(fields | {"signed": signed}))
    row = Agreement.objects.get()
    assert len(row.document_digest) == 64
    post(shelf.steward, "/datasets/atlas/edit", name="Atlas", classification="internal", agreement=row.pk, **WHOLE)
    page = f"/projects/arquivo/agreements/{row.pk}"
    change = {name: value for name, value in fields.items() if name != "starts_on"} | {"document_digest": "b" * 64}
    post(lead, f"{page}/change", **(change | {"ends_on": today(60)}))
    post(lead, f"{page}/end")
    assert "Return or delete" in get(lead, page)
    [duty] = row.checklist.all()
    get(lead, f"{page}/duties/{duty.pk}")
    post(lead, f"{page}/duties/{duty.pk}", 422, kind="", how="")
    post(lead, f"{page}/duties/{duty.pk}", kind="delete", how="By hand.")
    assert "nothing owed" in get(lead, page)


def test_the_register_of_incidents(shelf: Shelf, roles: Roles) -> None:
    operator, auditor = make_user(site_role="operator"), make_user(site_role="auditor")
    roles.use("web")
    assert "No security incident" in get(operator, "/incidents/")
    entry = {
        "title": "A copy was left open", "what": "=cmd()", "subjects": "Patients of the demo.",
        "known_at": (timezone.localtime() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M"), "datasets": [shelf.dataset.pk],
    }  # fmt: skip
    post(operator, "/incidents/new", 422, **(entry | {"title": ""}))
    post(operator, "/incidents/new", **entry)
    row = SecurityIncident.objects.get()
    page = f"/incidents/{row.pk}"
    assert "working day" in get(auditor, page) and "atlas" in get(auditor, "/incidents/")
    get(operator, f"{page}/change")
    get(operator, f"{page}/notice")
    post(operator, f"{page}/change", **(entry | {"measures": "The folder was closed."}))
    now = timezone.localtime().strftime("%Y-%m-%dT%H:%M")
    post(operator, f"{page}/notice", to="anpd", at=now, text="We tell you.")
    assert "the authority was told" in get(operator, page)
    post(operator, f"{page}/close")
    table = b"".join(signed_in(auditor).get("/incidents/register.csv").streaming_content).decode()
    assert "'=cmd()" in table
    for path in ("/incidents/new", f"{page}/change"):
        assert ok(signed_in(auditor).get(path), 403)
    for path in ("/incidents/", page, "/incidents/register.csv", "/incidents/new"):
        assert ok(signed_in(shelf.steward).get(path), 404)


def test_home_and_403_say_what_is_wanted(shelf: Shelf, roles: Roles) -> None:
    shelf.approved()
    roles.use("web")
    assert signed_in(shelf.steward).get("/data/waiting").status_code == 204
    wish = {"for_whom": "", "starts_on": today(), "ends_on": today(90)}
    roles.use(None)
    registering.change(dataset=shelf.dataset, by=shelf.steward, is_listed=True)
    roles.use("web")
    post(shelf.stranger, "/datasets/atlas/ask", **(ASKED | wish))
    assert "Atlas" in get(shelf.steward, "/data/waiting")
    asked = GrantRequest.objects.get()
    assert ok(signed_in(shelf.member).post(f"/datasets/atlas/requests/{asked.pk}/withdraw"), 404)
    post(shelf.stranger, f"/datasets/atlas/requests/{asked.pk}/withdraw")


def test_no_permission_is_asked_for_an_archived_project(db: None) -> None:
    here, over = make_project("aberto"), make_project("fechado")
    projects.archive_project(project=over, by=None)
    over.refresh_from_db()
    assert set(AskForm(projects=[here, over]).projects) == {"aberto"}


def taken(who: Any, path: str) -> list[str]:
    answer = signed_in(who).get(path, headers={"Accept-Language": "en"})
    assert answer.status_code == 200, path
    return b"".join(answer.streaming_content).decode().splitlines()[1:]


def test_datasets_their_permissions_and_their_versions_are_taken_away(shelf: Shelf) -> None:
    shelf.approved()
    grant, own = shelf.grant(), shelf.grant(to_person=shelf.member)
    page = get(shelf.steward, "/datasets/atlas")
    assert "atlas/permissions.csv" in page and "atlas/versions.csv" in page
    assert "/data/datasets.csv?q=atl" in get(shelf.member, "/datasets/?q=atl")
    assert taken(shelf.member, "/data/datasets.csv?q=atl") == [
        "atlas,Atlas,internal,arquivo,Curadora Demo,approved,yes"
    ]
    assert taken(shelf.stranger, "/data/datasets.csv") == taken(shelf.member, "/data/datasets.csv?q=other") == []
    days = f"research,read,{grant.starts_on},{grant.ends_on},yes,,"
    everybodys = taken(shelf.steward, "/datasets/atlas/permissions.csv")
    assert everybodys == [f",membro,{days}", f"leitores,,{days}"] and own.user == shelf.member
    assert taken(shelf.pi, "/datasets/atlas/permissions.csv") == [f"leitores,,{days}"], "their project's alone"
    [version] = taken(shelf.member, "/datasets/atlas/versions.csv")
    assert version.startswith("v1,/srv/data/atlas/v1,,,,")
    events = AuditEvent.objects.filter(action=Action.DATASETS_EXPORTED)
    assert {event.detail["table"] for event in events} == {"datasets", "permissions", "versions"}
