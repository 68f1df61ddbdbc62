"""A job and its files by the submit page: one new folder, whole or not at all, through the files' real door."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse

from access.ids import uuid7
from audit.models import AuditEvent
from files.answers import Refused
from files.client import Door
from jobs import services
from jobs.models import Job
from jobs.services import attaching
from storage.services import bringing
from tests.factories import make_allocation, make_cluster
from tests.pages import signed_in
from tests.storage.conftest import Room

SCRIPT = "#!/bin/bash\npython3 train.py\n"


@pytest.fixture
def ready(room: Room) -> Room:
    """With a cluster and something to spend."""
    make_cluster()
    make_allocation(room.project)
    return room


def form(key: str = "", **more: Any) -> dict[str, Any]:
    """What a browser sends of the submit form."""
    return {
        "project": "ipe", "door": "script", "name": "treino", "partition": "gpu", "gpu_type": "a100", "gpus": "1",
        "nodes": "1", "cpus": "1", "memory_gb": "1", "time_limit_minutes": "10", "script": SCRIPT,
        "key": key or str(uuid7()), **more,
    }  # fmt: skip


def send(room: Room, **more: Any) -> HttpResponse:
    """Press "Submit job" as ANA."""
    return signed_in(room.ana).post("/jobs/new?project=ipe", form(**more), HTTP_ACCEPT_LANGUAGE="en")


def file(name: str, data: bytes = b"print(1)\n") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def packed(**entries: str) -> bytes:
    """A zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return data.getvalue()


def refused(response: HttpResponse, room: Room) -> str:
    """What the page says beside the field; nothing was made."""
    text = unescape(response.content.decode())
    assert response.status_code == 422, text[:500]
    assert "choose them again" in text  # without JavaScript
    assert not Job.objects.exists()
    assert not list((room.folder / "runs").iterdir() if (room.folder / "runs").exists() else [])
    return text.split('id="said-attach"')[1].split("</div>")[0]


def test_files_make_a_folder_where_the_job_starts(ready: Room) -> None:
    response = send(ready, attach=[file("train.py"), file("data.csv", b"a,b\n")])
    job = Job.objects.get()
    assert response["Location"] == f"/jobs/{job.pk}"
    folder = ready.folder / job.asked.folder
    assert (folder / "train.py").read_bytes() == b"print(1)\n"
    assert sorted(one.name for one in folder.iterdir()) == ["data.csv", "train.py"]
    assert (job.asked.folder.startswith("runs/2"), "-treino-" in job.asked.folder) == (True, True)
    told = AuditEvent.objects.filter(action="file.uploaded").values_list("detail__path", flat=True)
    assert sorted(told) == [f"{job.asked.folder}/data.csv", f"{job.asked.folder}/train.py"]


def test_a_dropped_folder_keeps_its_paths(ready: Room) -> None:
    paths = json.dumps(["src/train.py", "src/lib/net.py"])
    assert send(ready, attach=[file("train.py"), file("net.py", b"x")], attach_paths=paths).status_code == 302
    assert (ready.folder / Job.objects.get().asked.folder / "src/lib/net.py").read_bytes() == b"x"


def test_a_zip_alone_is_where_the_job_starts_and_among_others_a_folder(ready: Room) -> None:
    code = packed(**{"train.py": "print(1)", "lib/net.py": "x = 1"})
    assert send(ready, attach=[file("meu código.zip", code)]).status_code == 302
    folder = Job.objects.get().asked.folder
    assert folder.endswith("/meu-codigo")
    assert (ready.folder / folder / "lib/net.py").read_text() == "x = 1"
    assert send(ready, attach=[file("code.zip", code), file("data.csv")]).status_code == 302
    both = ready.folder / Job.objects.latest("created_at").asked.folder
    assert sorted(one.name for one in both.iterdir()) == ["code", "data.csv"]


@pytest.mark.parametrize(
    ("files", "paths", "said"),
    [([file("evil.zip", packed(**{"../out": "x"}))], "", "evil.zip: The zip holds something"),
     ([file("a.zip", b"no zip at all")], "", "a.zip: This is no zip"),
     ([file("a")], ["a\nb"], "This is not a name"), ([file("a")], ["\u202ea"], "This is not a name"),
     ([file("a")], ["../a"], "This is not a name"), ([file("a")], ["/etc/a"], "This is not a name"),
     ([file("a"), file("b")], ["a", "a"], "is there already"), ([file("a"), file("b")], ["a", "a/b"], "a: Something with this name is there already"),
     ([file("a")], ["a", "b"], "Not all files arrived"),
     ([file(f"{n}") for n in range(101)], "", "At most 100 files")],
)  # fmt: skip
def test_what_is_wrong_stands_beside_the_field_and_leaves_nothing(
    ready: Room, files: list[SimpleUploadedFile], paths: Any, said: str
) -> None:
    assert said in refused(send(ready, attach=files, attach_paths=json.dumps(paths) if paths else ""), ready)


def test_a_link_in_a_zip_is_refused(ready: Room) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        link = zipfile.ZipInfo("out")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert "(out)" in refused(send(ready, attach=[file("l.zip", data.getvalue())]), ready)


def test_more_than_fits_in_one_request(ready: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bringing, "MOST_BYTES", 10)
    assert "MB together" in refused(send(ready, attach=[file("a", bytes(11))]), ready)


def test_a_disk_that_is_full_says_so_and_nothing_stays(ready: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    good = Door.begin

    def full(self: Door, path: str, *rest: Any, **more: Any) -> int:
        if path.endswith("/b"):
            raise Refused("full")
        return good(self, path, *rest, **more)

    monkeypatch.setattr(Door, "begin", full)
    said = refused(send(ready, attach=[file("a"), file("b")]), ready)
    assert "b: There is not enough room" in said


def test_files_and_a_folder_that_is_there_are_not_both(ready: Room) -> None:
    (ready.folder / "old").mkdir()
    response = send(ready, attach=[file("a")], folder="old")
    assert "not both" in unescape(response.content.decode())
    assert not Job.objects.exists()


def test_files_and_code_from_git_are_not_both(ready: Room, settings: LazySettings) -> None:
    settings.GIT_PREFIXES = ["https://git.example/"]
    asked = {"git": f"https://git.example/a.git@{'a' * 40}"}
    assert "either files or a git address" in refused(send(ready, attach=[file("a")], **asked), ready)
    assert send(ready, attach=[file("a")]).status_code == 302


def test_a_job_that_is_refused_takes_its_folder_with_it(room: Room) -> None:
    make_cluster()
    make_allocation(room.project, gpus_at_once=1)
    response = send(room, attach=[file("a")], gpus="2")
    assert response.status_code == 422
    assert (Job.objects.count(), list((room.folder / "runs").iterdir())) == (0, [])


def test_the_same_form_twice_is_one_job_and_one_folder(ready: Room) -> None:
    key = str(uuid7())
    first, again = (send(ready, key=key, attach=[file("a")]) for _ in range(2))
    assert first["Location"] == again["Location"]
    assert (Job.objects.count(), len(list((ready.folder / "runs").iterdir()))) == (1, 1)
    other = send(ready, key=key, attach=[file("a")], cpus="2")
    assert "sent before with other values" in other.content.decode()
    assert len(list((ready.folder / "runs").iterdir())) == 1


def test_who_comes_while_the_first_is_at_work_gets_its_job(ready: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is there and the job is not yet; then it is."""
    key, made = str(uuid7()), list[Job]()
    spec, allocation = services.prepare(
        {name: one for name, one in form().items() if name not in ("key", "door", "project")}, project=ready.project
    )
    sent = [bringing.Sent("a", 1, [b"x"])]
    asked = {"project": ready.project, "spec": spec, "allocation": allocation, "by": ready.ana}
    folder, _start = attaching.places(spec.name, key, ready.ana, sent)

    def first(_seconds: float) -> None:
        if not made:
            monkeypatch.setattr(bringing.changing, "make", real)
            (ready.folder / folder).rmdir()
            made.append(attaching.submit(**asked, files=sent, idempotency_key=key))

    real = bringing.changing.make
    real(project=ready.project, by=ready.ana, path=folder, parents=True)
    monkeypatch.setattr(attaching.time, "sleep", first)
    assert attaching.submit(**asked, files=[bringing.Sent("a", 1, [b"x"])], idempotency_key=key) == made[0]
    assert (ready.folder / folder / "a").read_bytes() == b"x"


@pytest.mark.django_db(transaction=True)
def test_six_at_once_of_one_form_are_one_job_and_one_folder(ready: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A double click, and more than that: each comes in a thread and a connection of its own."""
    monkeypatch.setattr(attaching, "PATIENCE", 60.0)
    key, answers = str(uuid7()), list[tuple[int, str]]()

    def press() -> None:
        try:
            answer = send(ready, key=key, attach=[file("a"), file("b")])
            answers.append((answer.status_code, answer.headers.get("Location", "")))
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert answers == [(302, f"/jobs/{Job.objects.get().pk}")] * 6
    (folder,) = (ready.folder / "runs").iterdir()
    assert sorted(one.name for one in folder.iterdir()) == ["a", "b"]


def test_one_that_never_ends_is_said(ready: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    key = str(uuid7())
    folder, _start = attaching.places("treino", key, ready.ana, [bringing.Sent("a", 1, ())])
    bringing.changing.make(project=ready.project, by=ready.ana, path=folder, parents=True)
    monkeypatch.setattr(attaching, "PATIENCE", 0.0)
    response = send(ready, key=key, attach=[file("a")])
    assert "still at work" in unescape(response.content.decode())
    assert f'name="key" value="{key}"' in response.content.decode()  # pressed again, it is still this form
    assert (ready.folder / folder).is_dir()


def test_while_filling_in_names_are_looked_at_and_the_folder_is_shown(ready: Room) -> None:
    def look(**more: Any) -> str:
        asked = signed_in(ready.ana).post("/jobs/new/check?look=1", form(**more), HTTP_ACCEPT_LANGUAGE="en")
        return unescape(asked.content.decode())

    assert "--chdir=" + str(ready.folder) + "/runs/2" in look(attach_paths='["train.py"]')
    text = look(attach_paths='["a\\nb"]')
    assert "a\\x0ab: This is not a name" in text
    assert "cannot be sent" in text
    for noise in ("{", '{"a": 1}', "[1]", "[" * 50_000):
        assert "Valid request" in look(attach_paths=noise)
    assert not (ready.folder / "runs").exists()


def test_the_page_offers_it_and_says_the_bounds(ready: Room) -> None:
    text = signed_in(ready.ana).get("/jobs/new?project=ipe", HTTP_ACCEPT_LANGUAGE="en").content.decode()
    assert 'type="file" name="attach"' in text
    assert "At most 100 files and 64 MB" in text
