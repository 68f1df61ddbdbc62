"""A project's files in the browser, through the real door: looked into, taken out, brought in, changed; and recorded."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Iterator

import pytest
from django.core import signals
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import close_old_connections, connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from access.errors import Refused as Denied
from access.permissions import Permission
from audit import trail
from audit.models import AuditEvent
from files.answers import Refused
from files.client import Door, DoorDown
from storage.services import changing, looking, pace, passes
from tests.factories import make_user
from tests.files.door import BETO, own
from tests.pages import signed_in
from tests.storage.conftest import Room

FILES = "/projects/ipe/files"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
EN = {"HTTP_ACCEPT_LANGUAGE": "en"}


def page(room: Room, path: str = "", *, who: str = "ana", act: str = "", **more: object) -> HttpResponse:
    """GET below the project's files."""
    return signed_in(getattr(room, who)).get(f"{FILES}{act}?path={path}", **EN, **more)


def post(room: Room, act: str, query: str, data: object = None, **more: object) -> HttpResponse:
    """POST below the project's files as ANA."""
    return signed_in(room.ana).post(f"{FILES}/{act}?{query}", data or {}, **EN, **more)


def end(response: HttpResponse) -> None:
    """The server's own close, less what it does to the connection of the test's transaction."""
    signals.request_finished.disconnect(close_old_connections)
    try:
        response.close()
    finally:
        signals.request_finished.connect(close_old_connections)


def events(action: str) -> list[AuditEvent]:
    """Those of one action."""
    return list(AuditEvent.objects.filter(action=action).order_by("pk"))


def test_an_empty_folder_says_what_to_do_first(room: Room) -> None:
    assert "Drop your script" in page(room).content.decode()
    assert "What members and their jobs write" in page(room, who="beto").content.decode()


def test_a_folder_shows_names_sizes_owners_and_what_is_no_file(room: Room) -> None:
    room.place.write("train.py", b"print(1)\n")
    room.place.write("model.safetensors", bytes(5000))
    (room.folder / "runs").mkdir()
    (room.folder / "out").symlink_to(room.place.secret)
    room.place.write("odd\n\u202e\udcff<b>.txt", b"x")
    text = page(room).content.decode()
    assert "train.py" in text
    assert "checkpoint" in text
    assert "odd\\x0a\\u202e\\xff&lt;b&gt;.txt" in text
    assert room.ana.name in text
    assert text.index("runs") < text.index("train.py")
    assert page(room, "odd%0A%E2%80%AE%FF%3Cb%3E.txt").status_code == 200


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [("a.txt", b"<script>alert(1)</script>", "&lt;script&gt;alert(1)"), ("t.csv", b"epoch,loss\n1,0.5\n", "<td>0.5</td>"),
     ("c.json", b'{"a":{"b":1}}', "&quot;b&quot;: 1"), ("e", b"", "The file is empty"), ("b.bin", b"\0\1", "is not shown here"),
     ("esc.log", b"\x1b[2Jred", "\ufffd[2Jred"), ("p.svg", b"<svg onload=x>", "&lt;svg onload=x&gt;"),
     ("n.ipynb", b'{"cells":[{"cell_type":"code","source":["x=1"],"outputs":[{"text":["42"]}]}]}', "42</pre>"),
     ("i.png", PNG, "/files/image?path=i.png"), ("big.txt", b"line\n" * 100_000, "This is its beginning")],
)  # fmt: skip
def test_a_file_is_shown_as_what_it_is_and_never_as_markup(room: Room, name: str, data: bytes, shown: str) -> None:
    room.place.write(name, data)
    response = page(room, name)
    assert shown in response.content.decode()
    assert "<svg onload" not in response.content.decode()


def test_an_image_is_one_by_its_bytes(room: Room) -> None:
    room.place.write("ok.txt", PNG)
    room.place.write("not.png", b"<svg/>")
    good = page(room, "ok.txt", act="/image")
    assert (good["Content-Type"], good["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert "sandbox" in good["Content-Security-Policy"]
    assert page(room, "not.png", act="/image").status_code == 422


def test_a_download_is_whole_closed_and_recorded_with_its_digest(room: Room) -> None:
    data = os.urandom(200_000)
    room.place.write("m\u00e9todo.bin", data)
    response = page(room, "m%C3%A9todo.bin", act="/download")
    assert b"".join(response.streaming_content) == data
    end(response)
    assert response["Content-Disposition"] == "attachment; filename*=utf-8''m%C3%A9todo.bin"
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    assert "sandbox" in response["Content-Security-Policy"]
    (begun,), (ended,) = events("file.downloaded"), events("file.handed_out")
    assert (begun.detail["path"], begun.detail["size"]) == ("m\u00e9todo.bin", 200_000)
    assert (ended.detail["bytes"], ended.detail["digest"]) == (200_000, hashlib.sha256(data).hexdigest())
    assert ended.outcome == "done"


def test_a_range_is_a_range(room: Room) -> None:
    room.place.write("f", b"0123456789")
    response = page(room, "f", act="/download", HTTP_RANGE="bytes=2-4")
    assert (response.status_code, response["Content-Range"], response["Content-Length"]) == (206, "bytes 2-4/10", "3")
    assert b"".join(response.streaming_content) == b"234"
    past = page(room, "f", act="/download", HTTP_RANGE="bytes=50-")
    assert (past.status_code, past["Content-Range"]) == (416, "bytes */10")


def test_one_that_breaks_off_is_recorded_as_failed(room: Room) -> None:
    room.place.write("f", bytes(5_000_000))
    taken = looking.take(project=room.project, by=room.ana, path="f")
    next(iter(taken))
    taken.close()
    taken.close()
    (ended,) = events("file.handed_out")
    assert (ended.outcome, ended.detail["bytes"] < 5_000_000) == ("failed", True)


def test_a_folder_that_breaks_off_does_not_look_whole(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length is not said: so the connection breaks, and does not end as if that were all."""
    (room.folder / "run").mkdir()
    room.place.write("run/a", bytes(1_000_000))
    real = Door._bytes

    def dies(door: Door) -> Iterator[bytes]:
        yield next(real(door))
        raise DoorDown("killed")

    monkeypatch.setattr(Door, "_bytes", dies)
    response = page(room, "run", act="/download")
    with pytest.raises(ConnectionResetError):
        list(response.streaming_content)
    end(response)
    assert [one.outcome for one in events("file.handed_out")] == ["failed"]


def test_a_folder_leaves_as_tar(room: Room) -> None:
    (room.folder / "run").mkdir()
    room.place.write("run/a", b"alpha")
    response = page(room, "run", act="/download")
    with tarfile.open(fileobj=io.BytesIO(b"".join(response.streaming_content))) as tar:
        assert tar.extractfile("run/a").read() == b"alpha"
    assert events("file.downloaded")[0].detail["kind"] == "folder"


def test_downloads_do_not_take_all_threads(room: Room) -> None:
    room.place.write("f", bytes(5_000_000))
    held = [page(room, "f", act="/download") for _ in range(pace.downloads.most_of_one)]
    refused = page(room, "f", act="/download")
    assert (refused.status_code, refused["Retry-After"]) == (503, "3")
    for one in held:
        end(one)
    again = page(room, "f", act="/download")
    assert again.status_code == 200
    end(again)


def test_somebody_elses_file_is_looked_into_with_a_trace(room: Room) -> None:
    room.place.write("f", b"hers", mode=0o664)
    page(room, "f")
    assert events("file.read") == []
    assert "hers" in page(room, "f", who="beto").content.decode()
    (event,) = events("file.read")
    assert (event.detail["path"], event.detail["size"], event.actor_id) == ("f", 4, room.beto.pk)


def test_what_the_kernel_refuses_is_said_in_words(room: Room) -> None:
    room.place.write("private", b"x", mode=0o600)
    (room.folder / "out").symlink_to(room.place.secret)
    refused = page(room, "private", who="beto")
    assert refused.status_code == 403
    assert "does not let your login" in refused.content.decode()
    assert page(room, "nothing").status_code == 404
    assert page(room, "out").status_code == 422
    assert page(room, "../other/secret").status_code == 422
    assert events("file.read") == []


def test_a_stranger_and_a_former_member_find_nothing(room: Room) -> None:
    room.place.write("f", b"x")
    stranger = signed_in(make_user("zeca-t"))
    for act in ("", "/download", "/image", "/change"):
        assert stranger.get(f"{FILES}{act}?path=f").status_code == 404
    room.ana.memberships.update(ends_at=room.ana.memberships.get().starts_at)
    assert page(room, "f").status_code == 404


def test_a_plain_form_stores_files_and_never_over_another_unasked(room: Room) -> None:
    sent = [SimpleUploadedFile("train.py", b"print(1)\n"), SimpleUploadedFile("data.csv", b"a,b\n")]
    assert post(room, "upload", "path=", {"files": sent}).status_code == 302
    assert room.place.names() == ["data.csv", "train.py"]
    (event, _) = events("file.uploaded")
    assert [one.detail["act"] for one in events("file.changing")] == ["file.uploaded"] * 2
    assert event.detail == {
        "path": "train.py", "size": 9, "digest": hashlib.sha256(b"print(1)\n").hexdigest(), "replaced": False,
    }  # fmt: skip
    again = post(room, "upload", "path=", {"files": SimpleUploadedFile("train.py", b"new")})
    assert (again.status_code, (room.folder / "train.py").read_bytes()) == (409, b"print(1)\n")
    post(room, "upload", "path=", {"files": SimpleUploadedFile("train.py", b"new"), "overwrite": "on"})
    assert (room.folder / "train.py").read_bytes() == b"new"


def raw(room: Room, act: str, query: str, data: bytes = b"") -> dict[str, object]:
    """What the page's script sends and is answered."""
    answer = post(room, act, query, data, content_type="application/octet-stream")
    return {"status": answer.status_code, **json.loads(answer.content)}


def test_an_upload_in_pieces_with_folders_goes_on_and_ends_whole(room: Room) -> None:
    data = os.urandom(150_000)
    begun = raw(room, "begin", f"path=runs/a/big.bin&size={len(data)}&parents=1")
    assert (begun["status"], begun["offset"]) == (200, 0)
    name = begun["id"]
    first = hashlib.sha256(data[:100_000]).hexdigest()
    assert (
        raw(room, "piece", f"path=runs/a/big.bin&id={name}&offset=0&digest={first}", data[:100_000])["offset"]
        == 100_000
    )
    wrong = raw(room, "piece", f"path=runs/a/big.bin&id={name}&offset=7", b"abc")
    assert (wrong["status"], wrong["word"], wrong["offset"]) == (409, "offset", 100_000)
    assert raw(room, "begin", f"path=runs/a/big.bin&size={len(data)}&id={name}")["offset"] == 100_000
    raw(room, "piece", f"path=runs/a/big.bin&id={name}&offset=100000", data[100_000:])
    done = raw(room, "finish", f"path=runs/a/big.bin&id={name}&size={len(data)}")
    assert done["digest"] == hashlib.sha256(data).hexdigest()
    assert (room.folder / "runs/a/big.bin").read_bytes() == data
    assert raw(room, "begin", "path=runs/a/big.bin&size=1")["word"] == "exists"


@pytest.mark.parametrize(
    "query", ["path=x", "path=x&size=-1", "path=x&size=abc", "path=x&size=1&id=zz", "path=%2e%2e/x&size=1"]
)
def test_a_call_that_is_none_is_refused(room: Room, query: str) -> None:
    assert raw(room, "begin", query)["status"] in (400, 422)
    assert raw(room, "piece", query)["status"] in (400, 422)
    assert room.place.names() == []


def test_what_does_not_fit_is_refused_before_it_begins(room: Room) -> None:
    answer = raw(room, "begin", "path=x&size=99999999999999")
    assert (answer["status"], answer["word"]) == (507, "full")
    assert answer["free"] < answer["needed"]
    assert room.place.names() == []


def test_folders_names_and_ends_are_recorded(room: Room) -> None:
    post(room, "make", "path=", {"name": "runs"})
    room.place.write("f", b"x")
    post(room, "change", "path=f", {"act": "rename", "to": "runs/g"})
    assert (room.folder / "runs/g").exists()
    post(room, "change", "path=runs", {"act": "delete"})
    assert (room.folder / "runs/g").exists()
    post(room, "change", "path=runs", {"act": "delete", "whole": "on"})
    assert room.place.names() == []
    assert [one.detail["path"] for one in events("folder.made")] == ["runs"]
    assert [(one.detail["path"], one.detail["to"]) for one in events("file.renamed")] == [("f", "runs/g")]
    ends = [(one.detail["path"], one.detail["whole"], one.outcome) for one in events("file.deleted")]
    assert ends == [("runs", False, "failed"), ("runs", True, "done")]


def test_another_name_asks_little(room: Room) -> None:
    """Of the rules of data only what says where they lie: what a job wrote stays bound wherever it goes."""
    room.place.write("f", b"x")
    changing.rename(project=room.project, by=room.ana, path="f", to="g")  # the pass is there
    with CaptureQueriesContext(connection) as asked:
        changing.rename(project=room.project, by=room.ana, path="g", to="h")
    read = [one["sql"] for one in asked if one["sql"].startswith("SELECT") and "audit_" not in one["sql"]]
    assert len(read) == 2, read  # the pass, and data that lie in the folder


def test_a_zip_has_a_form_and_becomes_a_folder(room: Room) -> None:
    raw_zip = io.BytesIO()
    with zipfile.ZipFile(raw_zip, "w") as archive:
        archive.writestr("train.py", "print(1)\n")
    room.place.write("code.zip", raw_zip.getvalue())
    assert 'value="code"' in page(room, "code.zip").content.decode()
    answer = post(room, "unpack", "path=code.zip", {"name": "code"})
    assert (answer.status_code, answer["Location"]) == (302, f"{FILES}?path=code")
    assert (room.folder / "code/train.py").read_text() == "print(1)\n"
    (event,) = events("file.unpacked")
    assert (event.detail["path"], event.detail["to"], event.detail["files"]) == ("code.zip", "code", 1)
    assert event.detail["digest"] == hashlib.sha256(raw_zip.getvalue()).hexdigest()
    assert post(room, "unpack", "path=code.zip", {"name": "code"})["Location"] == f"{FILES}?path=code.zip"
    assert post(room, "unpack", "path=code.zip", {"name": "../out"}).status_code == 422
    assert "Unpack" not in page(room, "code.zip", who="beto").content.decode()


def test_a_zip_that_is_refused_says_which_entry(room: Room) -> None:
    raw_zip = io.BytesIO()
    with zipfile.ZipFile(raw_zip, "w") as archive:
        archive.writestr("../<b>out", "x")
    room.place.write("evil.zip", raw_zip.getvalue())
    client = signed_in(room.ana)
    said = client.post(f"{FILES}/unpack?path=evil.zip", {"name": "evil"}, follow=True, **EN).content.decode()
    assert "(../&lt;b&gt;out)" in said
    assert [(one.outcome, one.detail["why"]) for one in events("file.unpacked")] == [("failed", "bad-entry")]
    assert room.place.names() == ["evil.zip"]


def test_what_a_file_holds_back_no_zip_gives_out(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes out of a zip is one's own: so the rules of data bind the zip as if it were taken out."""
    room.place.write("a.zip", b"x")

    class Bound:
        def may_take(self, path: str, entry: object) -> None:
            raise Denied(Permission.LOG_READ, "projects.project", {"code": "ipe"}, "held back")

    monkeypatch.setattr(changing, "rules", lambda project, by: Bound())
    with pytest.raises(Denied):
        changing.unpack(project=room.project, by=room.ana, path="a.zip", to="new")
    assert (room.place.names(), events("file.changing")) == (["a.zip"], [])


class Dies(BaseException):
    """As the process dies."""


@pytest.mark.parametrize("act", ["make", "rename", "delete", "finish", "unpack"])
def test_what_dies_in_between_is_not_silent(room: Room, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """Before the act the trail knows what is meant; without that no act; where its end is missing the intent stands."""
    acts = {
        "make": lambda: changing.make(project=room.project, by=room.ana, path="n"),
        "rename": lambda: changing.rename(project=room.project, by=room.ana, path="f", to="g"),
        "delete": lambda: changing.delete(project=room.project, by=room.ana, path="f"),
        "finish": lambda: changing.put(project=room.project, by=room.ana, path="n", size=1, data=[b"x"]),
        "unpack": lambda: changing.unpack(project=room.project, by=room.ana, path="f", to="g"),
    }
    raw_zip = io.BytesIO()
    with zipfile.ZipFile(raw_zip, "w") as archive:
        archive.writestr("a", "x")
    room.place.write("f", raw_zip.getvalue())
    real, told = trail.insert, []

    def until(last: int) -> None:
        def insert(event: AuditEvent) -> None:
            told.append(event.action)
            if len(told) == last:
                raise Dies
            real(event)

        told.clear()
        monkeypatch.setattr(trail, "insert", insert)

    until(1)
    with pytest.raises(Dies):
        acts[act]()
    assert [name for name in room.place.names() if not name.startswith(".")] == ["f"], "done without a word before it"
    until(2)
    with pytest.raises(Dies):
        acts[act]()
    assert room.place.names() != ["f"]
    assert [one.action for one in AuditEvent.objects.filter(action__startswith="f")] == ["file.changing"]


def test_what_failed_is_said_so_in_the_trail(room: Room) -> None:
    with pytest.raises(Refused):
        changing.delete(project=room.project, by=room.ana, path="none")
    (event,) = events("file.deleted")
    assert (event.outcome, event.detail["why"]) == ("failed", "missing")


def test_deleting_asks_first_and_says_whose_it_is(room: Room) -> None:
    own(room.place.write("betos", b"x"), BETO, 0o664)
    text = page(room, "betos", act="/change").content.decode()
    assert f"It belongs to {room.beto.name}." in text
    assert "cannot be undone" in text
    assert room.place.names() == ["betos"]


def test_who_may_only_read_changes_nothing(room: Room) -> None:
    room.place.write("f", b"x", mode=0o664)
    room.folder.chmod(0o2777)
    beto = signed_in(room.beto)
    for act in ("upload", "begin", "piece", "finish", "make", "change"):
        assert beto.post(f"{FILES}/{act}?path=f&size=1&id={'0' * 32}&offset=0").status_code == 403
    assert "file-drop" not in page(room, who="beto").content.decode()
    assert room.place.names() == ["f"]


def test_without_a_pass_the_page_comes_again_by_itself(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "ring", lambda task: None)
    monkeypatch.setattr(passes, "PATIENCE", 0.05)
    answer = page(room)
    assert (answer.status_code, answer["Refresh"]) == (503, "2")


def test_a_door_that_is_away_is_said_so(room: Room, settings: object) -> None:
    settings.FILES_SOCKET = "/nowhere/files.sock"
    answer = page(room)
    assert answer.status_code == 503
    assert "cannot be reached" in answer.content.decode()


def test_a_page_of_a_large_folder_asks_little(room: Room, django_assert_max_num_queries: object) -> None:
    for number in range(300):
        (room.folder / f"f{number:03}").touch()
    client = signed_in(room.ana)
    client.get(FILES)
    with django_assert_max_num_queries(8):
        text = client.get(f"{FILES}?from=200", **EN).content.decode()
    assert "f299" in text
    assert "f100" not in text
