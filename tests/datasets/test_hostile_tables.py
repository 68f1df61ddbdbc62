"""The hostile strings through every other table that is taken away: uses, processing, incidents, who could, any list."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.utils import timezone

from access.roles import SiteRole
from audit import could
from datasets import reports
from datasets.models import Dataset, DatasetState, DatasetUse, DatasetVersion, Notice, SecurityIncident
from datasets.views import lists
from projects import tables
from tests.audit.hostile import formulas, plain_rows, storable, strings
from tests.datasets.conftest import PERSONAL, Shelf
from tests.factories import make_user
from tests.pages import signed_in

TEXTS = storable()


def uses(shelf: Shelf) -> bytes:
    """The job's name is a person's own words."""
    shelf.personal()
    facts = {"dataset": shelf.dataset, "version": shelf.version, "grant": shelf.grant(), "project": shelf.users,
             "user": shelf.member, "purpose": "research", "access": "read"}  # fmt: skip
    DatasetUse.objects.bulk_create(DatasetUse(job=uuid.uuid4(), job_name=text[:60], **facts) for text in TEXTS)
    return _whole(reports.uses_csv(DatasetUse.objects.all(), by=shelf.steward, name="atlas"))


def processing(shelf: Shelf) -> bytes:
    """Everything the steward writes."""
    Dataset.objects.bulk_create(
        Dataset(project=shelf.home, steward=shelf.steward, code=f"d-{number}", state=DatasetState.RETIRED,
                **(PERSONAL | {"name": text[:120], "controller": text[:200], "processor": text[:200],
                               "retention": text[:300], "ethics": text[:200]}))
        for number, text in enumerate(TEXTS)
    )  # fmt: skip
    return _whole(reports.processing_csv(make_user(site_role=SiteRole.AUDITOR)))


def incidents(shelf: Shelf) -> bytes:
    """What happened, in lines, and to whom it was told."""
    now, by = timezone.now(), shelf.steward
    made = SecurityIncident.objects.bulk_create(
        SecurityIncident(opened_by=by, known_at=now - timedelta(days=1), title=text[:120], what=text, subjects=text[:300],
                         risks=text, measures=text) for text in TEXTS
    )  # fmt: skip
    Notice.objects.bulk_create(Notice(incident=one, to="anpd", at=now, text=one.title, by=by) for one in made)
    return _whole(reports.incidents_csv(by))


def datasets(shelf: Shelf) -> bytes:
    """Their names, as a person may find them."""
    Dataset.objects.bulk_create(
        Dataset(project=shelf.home, steward=shelf.steward, code=f"d-{number}", state=DatasetState.RETIRED,
                **(PERSONAL | {"name": text[:120]})) for number, text in enumerate(TEXTS)
    )  # fmt: skip
    return _whole(reports.datasets_csv(lists.found(make_user(site_role=SiteRole.AUDITOR), ""), by=shelf.steward))


def versions(shelf: Shelf) -> bytes:
    """What is new in each."""
    DatasetVersion.objects.bulk_create(
        DatasetVersion(dataset=shelf.dataset, label=f"w{number}", path="/srv/w", note=text[:300], by=shelf.steward)
        for number, text in enumerate(TEXTS)
    )
    return _whole(reports.versions_csv(shelf.dataset.versions.all(), by=shelf.steward, one=shelf.dataset))


def permissions(shelf: Shelf) -> bytes:
    """Why they were taken back."""
    shelf.approved()
    given = shelf.grant()
    rows = [copy.copy(given) for _text in TEXTS]
    for row, text in zip(rows, TEXTS, strict=True):
        row.revoked_why = text
    return _whole(reports.permissions_csv(rows, by=shelf.steward, one=shelf.dataset))


def any_list(shelf: Shelf) -> bytes:
    """What all other lists of projects, shares and jobs go through; what no database can hold, too."""
    return _whole(tables.response("x.csv", ["=1+1", "b"], ([text, text] for text in strings())))


def who_could(shelf: Shelf) -> bytes:
    """Names and reasons beside the rights."""
    now = timezone.now()
    rows = [could.Could("project", text, text, text, "pi", (), now, None, text, text) for text in TEXTS]
    with patch.dict(could._sources, {"hostile": lambda asked, rights: rows}):
        auditor = signed_in(make_user(site_role=SiteRole.AUDITOR))
        return bytes(auditor.get("/audit/access.csv", {"at": now.isoformat()}).content)


def _whole(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


TABLES: list[Callable[[Shelf], bytes]] = [
    uses, processing, incidents, datasets, versions, permissions, any_list, who_could,
]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_no_cell_is_a_formula_and_none_breaks_a_line(shelf: Shelf, table: Callable[[Shelf], bytes]) -> None:
    rows = plain_rows(table(shelf))
    assert len(rows) > len(TEXTS) and len({len(row) for row in rows}) == 1


@pytest.mark.libreoffice
@pytest.mark.parametrize("table", TABLES)
def test_libreoffice_finds_no_formula(shelf: Shelf, table: Callable[[Shelf], bytes], tmp_path: Path) -> None:
    rows, found = formulas(table(shelf), tmp_path)
    assert found == 0 and rows > len(TEXTS)


def test_lines_of_a_text_stay_to_be_seen() -> None:
    assert tables.cell("one\r\ntwo\n-3") == "one \u21b5 two \u21b5 -3"
    assert tables.cell(-3) == -3 and tables.cell(None) == ""
