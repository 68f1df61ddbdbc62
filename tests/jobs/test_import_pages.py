"""Paste or upload, look, ask: the pages of imports, the site's dictionary, and their API."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from jobs.models import DictionaryVersion, Draft, Job
from jobs.services.importing import Entry, dictionary, drafts
from tests.api import Caller, issue
from tests.factories import make_member, make_project, make_user
from tests.jobs.conftest import Bench
from tests.pages import signed_in

SCRIPT = "#!/bin/bash\n#SBATCH -J digits -p gpu -G v100:1 -t 10 -A old\nmodule load cuda/10\ntrue\n"
BAD = "#!/bin/bash\n#SBATCH -p gpu --uid=0\ntrue\n"
OPEN = "#!/bin/bash\n#SBATCH -p gpu -t never\ntrue\n"


def in_english(user: User) -> Client:
    found = signed_in(user)
    found.defaults["HTTP_ACCEPT_LANGUAGE"] = "en"
    return found


@pytest.fixture
def client(bench: Bench) -> Client:
    return in_english(bench.user)


@pytest.fixture
def words(bench: Bench) -> None:
    entries = [Entry("gres", "v100", "a100"), Entry("module", "cuda/10", "cuda/12"), Entry("account", "old", "visao")]
    dictionary.change(entries=entries, base=0, note="first", by=bench.user)


def test_paste_look_undo_and_go_on_in_the_form(client: Client, bench: Bench, words: None) -> None:
    answer = client.post("/jobs/import", {"project": bench.project.code, "text": SCRIPT.replace("\n", "\r\n")})
    draft = Draft.objects.get()
    assert answer.headers["Location"] == f"/jobs/drafts/{draft.pk}" and draft.state == "ready"
    page = client.get(f"/jobs/drafts/{draft.pk}").content.decode()
    assert "cuda/12" in page and "module load cuda/10" not in page and "Here it is a100." in page
    client.post(f"/jobs/drafts/{draft.pk}", {"undone": ["module:cuda/10"]})
    draft.refresh_from_db()
    assert "module load cuda/10" in draft.fields["script"] and draft.fields["gpu_type"] == "a100"
    form = client.get(f"/jobs/new?project={bench.project.code}&draft={draft.pk}").content.decode()
    assert 'value="digits"' in form and f'value="draft {draft.pk}"' in form
    fields = {
        name: draft.fields[name] for name in ("name", "partition", "gpus", "gpu_type", "time_limit_minutes", "script")
    }
    client.post("/jobs/new", {**fields, "project": bench.project.code, "key": f"draft {draft.pk}"})
    draft.refresh_from_db()
    assert draft.job == Job.objects.get() and client.get(f"/jobs/drafts/{draft.pk}").status_code == 404


def test_many_files_become_a_table_and_the_ready_ones_jobs(client: Client, bench: Bench) -> None:
    files = [
        SimpleUploadedFile(name, text.encode())
        for name, text in (("a.sh", "#!/bin/sh\n#SBATCH -p gpu -t 5\ntrue\n"), ("b.sh", OPEN), ("c.sh", BAD))
    ]
    assert (
        client.post("/jobs/import", {"project": bench.project.code, "files": files}).headers["Location"]
        == "/jobs/drafts"
    )
    page = client.get("/jobs/drafts").content.decode()
    assert "Give a time limit." in page and "A job runs as who asks for it." in page
    assert sorted(Draft.objects.values_list("name", "state")) == [
        ("a.sh", "ready"), ("b.sh", "question"), ("c.sh", "refused"),
    ]  # fmt: skip
    ids = [str(pk) for pk in Draft.objects.values_list("pk", flat=True)]
    answer = client.post("/jobs/drafts/ask", {"draft": [*ids, "x", "0" * 36]}, follow=True)
    assert "1 job asked for." in answer.content.decode() and Job.objects.get().name == "a"
    client.post(f"/jobs/drafts/{Draft.objects.get(name='c.sh').pk}/delete")
    assert not Draft.objects.filter(name="c.sh").exists()
    client.post("/jobs/drafts/ask", {"draft": ids})
    assert Job.objects.count() == 1


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\x00b", b"#!" + b"x" * (4 * 1024 * 1024)])
def test_what_is_no_script_makes_no_draft(client: Client, bench: Bench, data: bytes) -> None:
    files = [SimpleUploadedFile("x.sh", data), SimpleUploadedFile("y.sh", b"#!/bin/sh\n")]
    answer = client.post("/jobs/import", {"project": bench.project.code, "files": files})
    assert answer.status_code == 422 and "x.sh" in answer.content.decode() and not Draft.objects.exists()
    assert client.post("/jobs/import", {"project": bench.project.code}).status_code == 422


def test_somebody_elses_draft_is_not_there(client: Client, bench: Bench) -> None:
    other = make_member(bench.project)
    (draft,) = drafts.keep(project=bench.project, files=[("x.sh", SCRIPT)], by=other)
    assert client.get(f"/jobs/drafts/{draft.pk}").status_code == 404
    assert client.get(f"/jobs/new?project={bench.project.code}&draft={draft.pk}").status_code == 404
    assert client.get(f"/jobs/new?project={bench.project.code}&draft=x").status_code == 404
    client.post("/jobs/drafts/ask", {"key": f"draft {draft.pk}"})
    assert client.post(f"/jobs/drafts/{draft.pk}/delete").status_code == 404
    assert client.post("/jobs/import", {"project": make_project("alheio").code, "text": SCRIPT}).status_code == 404
    assert not Job.objects.exists() and Draft.objects.count() == 1


def test_only_so_many_are_kept(client: Client, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_KEPT", 1)
    for expected in (302, 422):
        answer = client.post("/jobs/import", {"project": bench.project.code, "text": SCRIPT})
        assert answer.status_code == expected
    assert Draft.objects.count() == 1


def test_the_dictionary_has_versions_an_operator_makes(bench: Bench, client: Client) -> None:
    assert client.get("/dictionary").status_code == 200
    assert client.post("/dictionary", {"text": "gres a b", "base": "0"}).status_code == 404
    operator = in_english(make_user("chefe", site_role="operator"))
    text = "# partitions\npartition old gpu\n\npath /home/old /srv/new\n"
    assert operator.post("/dictionary", {"text": text, "base": "0", "note": "first"}).status_code == 302
    assert operator.post("/dictionary", {"text": text, "base": "0"}).status_code == 422
    assert [(one.kind, one.old, one.new) for one in dictionary.parse(text)] == [
        ("partition", "old", "gpu"), ("path", "/home/old", "/srv/new"),
    ]  # fmt: skip
    event = AuditEvent.objects.get(action=Action.DICTIONARY_CHANGED)
    assert event.detail["after"] == ["partition old gpu", "path /home/old /srv/new"]
    assert "Version 1" in client.get("/dictionary?version=1").content.decode()
    assert client.get("/dictionary?version=99999999999999999999").status_code == 200


@pytest.mark.parametrize(
    "line", ["gres a", "gres a b c", "qos a b", "path a b", "path / /x", f"gres {'a' * 201} b", "gres a b\ngres a c"]
)
def test_a_wrong_line_is_named(bench: Bench, line: str) -> None:
    with pytest.raises(dictionary.WrongLines) as wrong:
        dictionary.parse(f"# x\n{line}\n")
    assert ("2" in wrong.value.errors[0] or "3" in wrong.value.errors[0]) and not DictionaryVersion.objects.exists()


def test_the_api_reads_a_script_and_keeps_nothing(bench: Bench, words: None) -> None:
    asked: dict[str, Any] = {"project": bench.project.code, "script": SCRIPT}
    caller = Caller(issue(bench.user))
    answer = caller.post("/jobs/import", asked)
    found = answer.json()
    assert (answer.status_code, found["state"], found["fields"]["gpu_type"]) == (200, "ready", "a100")
    assert {one["key"] for one in found["findings"] if one["key"]} == {"gres:v100", "module:cuda/10", "account:old"}
    made = caller.post("/jobs", found["fields"])
    assert made.status_code == 201 and not Draft.objects.exists()
    places = {one["line"]: one["place"] for one in found["findings"]}
    assert places == {number: f"line {number}" if number else "" for number in places} and 2 in places
    spoken = caller.post("/jobs/import", asked, Accept_Language="pt-BR").json()["findings"]
    assert {one["place"] for one in spoken if one["line"]} == {f"linha {number}" for number in places if number}
    bad = caller.post("/jobs/import", asked | {"script": BAD}).json()
    assert bad["state"] == "refused"
    assert [one["line"] for one in bad["findings"] if one["became"] == "refused"] == [2]
