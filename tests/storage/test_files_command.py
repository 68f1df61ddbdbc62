"""`bancada ls`, `cp`, `submit --attach` against the real API and the real door, in one process."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from files.names import PART
from jobs.models import Job
from portal.wsgi import application
from storage.services import finishing
from tests.api import issue
from tests.factories import make_allocation, make_cluster
from tests.files.door import ANA, own
from tests.storage.conftest import Room

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))

from bancada import api, cli, files


@pytest.fixture
def run(room: Room, capfdbinary: Any) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Run the command as ANA: (exit status, standard output, standard error)."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    transport = httpx.WSGITransport(app=application)
    portal = api.Portal("http://127.0.0.1:8000", issue(room.ana), language="en", transport=transport)

    def bancada(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(arguments, portal)
        said = capfdbinary.readouterr()
        return status, said.out.decode(), said.err.decode()

    yield bancada
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_files_go_in_are_listed_and_come_back_as_they_were(room: Room, run: Any, tmp_path: Path) -> None:
    data = os.urandom(9_000_000)
    (tmp_path / "big.bin").write_bytes(data)
    assert run("cp", str(tmp_path / "big.bin"), "ipe:")[0] == 0
    assert (room.folder / "big.bin").read_bytes() == data
    status, out, _ = run("ls", "ipe:")
    assert (status, out.split()[-1]) == (0, "big.bin")
    assert "9000000" in out
    again, _, said = run("cp", str(tmp_path / "big.bin"), "ipe:")
    assert (again, "already" in said) == (1, True)
    assert run("cp", "-f", str(tmp_path / "big.bin"), "ipe:")[0] == 0
    (tmp_path / "out").mkdir()
    assert run("cp", "ipe:big.bin", str(tmp_path / "out"))[0] == 0
    assert (tmp_path / "out/big.bin").read_bytes() == data
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["big.bin"]


@pytest.mark.django_db(transaction=True)
def test_one_that_takes_long_to_check_is_asked_for_until_it_is_stored(
    room: Room, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, real = list[int](), api.Portal.call

    def call(portal: api.Portal, method: str, path: str, **what: Any) -> httpx.Response:
        answer = real(portal, method, path, **what)
        seen.extend([answer.status_code] if path.endswith("/finish") else [])
        return answer

    monkeypatch.setattr(api.Portal, "call", call)
    monkeypatch.setattr(finishing, "PATIENCE", 0.0)
    monkeypatch.setattr(files, "AGAIN", 0.02)
    (tmp_path / "big.bin").write_bytes(b"x" * 1_000_000)
    assert run("cp", str(tmp_path / "big.bin"), "ipe:")[0] == 0
    assert (seen[0], seen[-1], set(seen)) == (202, 200, {200, 202})
    assert (room.folder / "big.bin").read_bytes() == b"x" * 1_000_000


def test_a_folder_goes_in_and_out_without_its_links(room: Room, run: Any, tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "deep").mkdir(parents=True)
    (source / "train.py").write_text("print(1)\n")
    (source / "deep/data.csv").write_text("a\n")
    (source / "link").symlink_to("/etc/passwd")
    assert run("cp", str(source), "ipe:")[0] == 1
    assert run("cp", "-r", str(source), "ipe:")[0] == 0
    found = {path.relative_to(room.folder).as_posix() for path in room.folder.rglob("*")}
    assert found == {"src", "src/train.py", "src/deep", "src/deep/data.csv"}
    assert run("cp", "-r", "ipe:src", str(tmp_path / "back"))[0] == 0
    assert (tmp_path / "back/src/deep/data.csv").read_text() == "a\n"


def test_what_breaks_off_leaves_no_part_that_nobody_sees(
    room: Room, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes would count for a week."""
    (tmp_path / "big.bin").write_bytes(bytes(1_000_000))

    def piece(*_: object) -> None:
        assert [path.name.startswith(PART) for path in room.folder.iterdir()] == [True]
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_piece", piece)
    assert run("cp", str(tmp_path / "big.bin"), "ipe:")[0] != 0
    assert list(room.folder.iterdir()) == []


def test_what_grows_while_it_is_sent_comes_as_it_was(
    room: Room, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, real = tmp_path / "log", files._piece
    source.write_bytes(b"a" * 1000)

    def piece(*asked: Any) -> Any:
        source.write_bytes(b"a" * 5000)
        return real(*asked)

    monkeypatch.setattr(files, "FIRST", 600)
    monkeypatch.setattr(files, "_piece", piece)
    assert run("cp", str(source), "ipe:")[0] == 0
    assert (room.folder / "log").read_bytes() == b"a" * 1000


@pytest.mark.parametrize("keep", [0, 512, 1024, -1024, -512])
def test_a_folder_that_comes_in_part_is_not_kept(
    room: Room, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    """Also one that ends between two files, which an archive's reader takes for its end."""
    (room.folder / "run").mkdir()
    room.place.write("run/a", b"alpha")
    room.place.write("run/b", b"beta")
    own(room.folder / "run", ANA, 0o2770)
    real = api.Portal.stream

    def stream(portal: api.Portal, path: str, /, **query: str) -> Iterator[bytes]:
        yield b"".join(real(portal, path, **query))[:keep]

    monkeypatch.setattr(api.Portal, "stream", stream)
    status, _, said = run("cp", "-r", "ipe:run", str(tmp_path / "back"))
    assert (status, "did not come whole" in said) == (1, True)
    assert not (tmp_path / "back").exists()


def test_what_is_wrong_is_said(run: Any, tmp_path: Path) -> None:
    for arguments in (
        ("ls", "here"), ("ls", "ipe:nowhere"), ("cp", "ipe:a", "ipe:b"), ("cp", str(tmp_path / "none"), "ipe:"),
        ("cp", "ipe:none", str(tmp_path)), ("ls", "other:"),
    ):  # fmt: skip
        status, _, said = run(*arguments)
        assert (status, said.startswith("bancada: ")) == (1, True), arguments
    assert list(tmp_path.iterdir()) == []


def test_a_job_goes_with_its_files_into_a_folder_of_its_own(room: Room, run: Any, tmp_path: Path) -> None:
    make_cluster()
    make_allocation(room.project)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text("print(1)\n")
    script = tmp_path / "treino.sh"
    script.write_text("#!/bin/bash\npython3 src/train.py\n")
    status, _, said = run(
        "submit", str(script), "-p", "ipe", "--partition", "gpu", "--gpus", "1", "--attach", str(tmp_path / "src")
    )
    assert status == 0, said
    job = Job.objects.get()
    assert job.asked.folder.startswith("runs/")
    assert (room.folder / job.asked.folder / "src/train.py").read_text() == "print(1)\n"
    asked = ("submit", str(script), "-p", "ipe", "--partition", "gpu")
    assert run(*asked, "--folder-of", str(job.pk))[0] == 0
    again = Job.objects.latest("created_at")
    assert (again.pk != job.pk, again.asked.folder) == (True, job.asked.folder)
    assert run(*asked)[0] == 0
    status, _, said = run(*asked, "--folder-of", str(Job.objects.latest("created_at").pk))
    assert (status, "project's own folder" in said, Job.objects.count()) == (1, True, 3)
    status, _, said = run("submit", str(script), "-p", "ipe", "--partition", "gpu", "--fetch", str(tmp_path))
    assert (status, "--attach" in said) == (1, True)


def test_a_zip_that_goes_with_a_job_becomes_its_folder(room: Room, run: Any, tmp_path: Path) -> None:
    make_cluster()
    make_allocation(room.project)
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("train.py", "print(1)\n")
        archive.writestr("lib/net.py", "x = 1\n")
    (tmp_path / "data.csv").write_text("a\n")
    script = tmp_path / "treino.sh"
    script.write_text("#!/bin/bash\npython3 train.py\n")
    asked = ("submit", str(script), "-p", "ipe", "--partition", "gpu", "--attach", str(tmp_path / "code.zip"))
    assert run(*asked)[0] == 0
    folder = room.folder / Job.objects.get().asked.folder
    assert (folder / "lib/net.py").read_text() == "x = 1\n"
    assert run(*asked, "--attach", str(tmp_path / "data.csv"))[0] == 0
    both = room.folder / Job.objects.latest("created_at").asked.folder
    assert ((both / "code/train.py").is_file(), (both / "data.csv").is_file()) == (True, True)
    assert not [path for path in room.folder.rglob("*") if path.suffix == ".zip"]


def test_a_zip_that_is_refused_leaves_neither_folder_nor_job(room: Room, run: Any, tmp_path: Path) -> None:
    make_cluster()
    make_allocation(room.project)
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../out", "x")
    script = tmp_path / "treino.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    asked = ("submit", str(script), "-p", "ipe", "--partition", "gpu", "--attach", str(tmp_path / "evil.zip"))
    status, _, said = run(*asked)
    assert (status, "../out" in said, Job.objects.count()) == (1, True, 0)
    assert list((room.folder / "runs").iterdir()) == []


def test_a_job_that_is_refused_takes_its_folder_with_it(room: Room, run: Any, tmp_path: Path) -> None:
    make_cluster()
    make_allocation(room.project, gpus_at_once=1)
    script = tmp_path / "treino.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    (tmp_path / "data.csv").write_text("a\n")
    asked = ("submit", str(script), "-p", "ipe", "--partition", "gpu", "--attach", str(tmp_path / "data.csv"))
    status, _, said = run(*asked, "--gpus", "2")
    assert (status, "at once" in said, Job.objects.count()) == (1, True, 0), said
    assert list((room.folder / "runs").iterdir()) == []
    assert run(*asked, "--attach", str(tmp_path / "none"))[0] == 1
    assert list((room.folder / "runs").iterdir()) == []


def test_a_job_names_code_by_git(room: Room, run: Any, tmp_path: Path, settings: Any) -> None:
    make_cluster()
    make_allocation(room.project)
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/bash\n#SBATCH -t 5\npython3 train.py\n")
    git = f"https://git.example.org/lab/code.git@{'a' * 40}"
    asked = ("submit", str(script), "-p", "ipe", "--partition", "gpu", "--git", git)
    refused, _out, said = run(*asked)
    assert refused == 1 and "git" in said and not Job.objects.exists()
    settings.GIT_PREFIXES = ["https://git.example.org/lab/"]
    status, out, said = run(*asked)
    assert status == 0, said
    job = Job.objects.get()
    assert out.split()[0] == str(job.pk) and job.options["git"] == git
