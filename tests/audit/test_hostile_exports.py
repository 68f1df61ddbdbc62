"""Two hundred hostile strings through every form: what comes out is text, whole lines, and the evidence still verifies."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from audit import context, trail
from audit.actions import Action
from audit.cells import cell
from audit.models import AuditEvent
from audit.models.export import Form
from audit.services.exports import asking, making
from audit.services.sealing import Sealer
from audit.services.wanted import Wanted
from client.bancada import verify
from tests.audit.exporting import KEY, key_file
from tests.audit.hostile import CONTROL, STARTS, formulas, plain_rows, strings
from tests.audit.test_making import signed_bundle
from tests.factories import make_project, make_user


@pytest.fixture(scope="module")
def _strings() -> list[str]:
    found = strings()
    assert len(found) >= 200
    return found


@pytest.fixture
def exported(db: None, _strings: list[str]) -> Any:
    """In the subject's name, the correlation and the detail; a person's login too."""
    user, project = make_user("ana"), make_project("visao")
    for text in _strings:
        project.title = text
        with context.coming_from("web", correlation=text[:60].encode("utf-8", "replace").decode().replace("\x00", "")):
            trail.record(Action.LOG_READ, by=user, about=project, project=project, words=text, who=trail.Login(text),
                         list=[text, {text[:40]: text}])  # fmt: skip
    sealer = Sealer.where_it_stands()
    sealer.seal()
    sealer.checkpoint(KEY)

    def get(form: Form) -> bytes:
        row = asking.ask(form=form, wanted=Wanted(action="log.read"), by=user, whole=True)
        return b"".join(making.streamed(row, by=user))

    return get


def test_the_evidence_is_whole_lines_and_verifies(exported: Any, _strings: list[str]) -> None:
    data = exported(Form.JSONL)
    report = verify.verify(_lines(data), [KEY.public_key()])
    assert report.events == len(_strings)
    said = [json.loads(line) for line in data.split(b"\n") if line]
    kept = [json.loads(one["event"]["detail"])["words"] for one in said if "event" in one]
    assert kept == list(
        AuditEvent.objects.filter(action="log.read").order_by("pk").values_list("detail__words", flat=True)
    )
    assert kept[:3] == _strings[:3]


def test_a_signed_bundle_of_them_verifies_and_its_files_say_the_same(
    exported: Any, _strings: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    settings.EXPORTS_FOLDER = str(tmp_path / "exports")
    by = make_user('=1+1"lena')
    row = signed_bundle(monkeypatch, by, wanted=Wanted(action="log.read"))
    assert verify.main([str(row.path), "--key", str(key_file(tmp_path))]) == verify.OK
    with zipfile.ZipFile(row.path) as archive:
        assert json.loads(archive.read("manifest.json"))["exporter"]["sign_in"] == by.username
        lines = gzip.decompress(archive.read("evidence.jsonl.gz")).splitlines()
    said = [json.loads(line) for line in lines]
    assert len([one for one in said if "event" in one]) == len(_strings)
    assert len(said[0]["not_seen"]) == 4


def _lines(data: bytes) -> list[str]:
    return [line.decode() + "\n" for line in data.split(b"\n")[:-1]]


@pytest.mark.parametrize("form", [Form.OCSF, Form.ECS])
def test_other_vocabularies_are_one_object_a_line_in_plain_ascii(
    exported: Any, form: Form, _strings: list[str]
) -> None:
    data = exported(form)
    lines = data.split(b"\n")[:-1]
    assert len(lines) == len(_strings) + 1 and data.isascii()  # the first says what the trail does not see
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_no_cell_of_the_table_begins_a_formula_and_none_breaks_a_line(exported: Any, _strings: list[str]) -> None:
    rows = plain_rows(exported(Form.CSV))
    assert len(rows) == len(_strings) + 2 and {len(row) for row in rows} == {17}  # the columns' names, and a note


@pytest.mark.parametrize("text", strings())
def test_a_cell_is_text(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    shown = cell(clean)
    assert not shown.startswith(STARTS) and not CONTROL.search(shown)


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("ana", "job 7", "2026-12-02T10:00:00+00:00", "a-b", "x=1", "São Paulo", "a, b; c"):
        assert cell(text) == text


@pytest.mark.libreoffice
def test_libreoffice_finds_no_formula(exported: Any, tmp_path: Path, _strings: list[str]) -> None:
    rows, found = formulas(exported(Form.CSV), tmp_path)
    assert found == 0 and rows > len(_strings) + 1


@pytest.mark.libreoffice
def test_libreoffice_would_find_one(tmp_path: Path) -> None:
    assert formulas(b"a,b\r\n=1+1,x\r\n=SUM(A1:A9),1\r\n", tmp_path) == (3, 2)
