"""Datasets offered for a job: with what is missing and whom to ask, bounded, and in the words of a refusal."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.utils import translation

from datasets.models import DatasetVersion
from datasets.services import NotPermitted, offering, registering, terms, using, versions
from tests.datasets.conftest import Shelf, today
from tests.pages import signed_in


def offered(shelf: Shelf, **more: Any) -> dict[str, offering.Offer]:
    """To the member of `leitores`."""
    with translation.override("en"):
        return {one.dataset.code: one for one in offering.offered(project=shelf.users, user=shelf.member, **more)[0]}


def refused(shelf: Shelf) -> list[str]:
    """What a job would hear."""
    with translation.override("en"), pytest.raises(NotPermitted) as error:
        using.permitted(wanted=["atlas"], project=shelf.users, user=shelf.member)
    return [one.removeprefix("atlas: ") for one in error.value.reasons]


@pytest.fixture
def listed(shelf: Shelf) -> Shelf:
    """`atlas` may be found by everybody."""
    registering.change(dataset=shelf.dataset, by=shelf.steward, is_listed=True)
    shelf.dataset.refresh_from_db()
    return shelf


def find(shelf: Shelf, code: str) -> None:
    """Another dataset that everybody may find."""
    row = registering.change(dataset=shelf.register(code), by=shelf.steward, is_listed=True)
    versions.add(dataset=row, label="v1", path=f"/srv/data/{code}", by=shelf.steward)
    shelf.under_terms(row)
    registering.approve(dataset=row, by=shelf.steward)


def test_what_is_missing_is_said_in_the_words_of_the_refusal(listed: Shelf) -> None:
    listed.personal()
    assert offered(listed)["atlas"].missing == refused(listed)
    assert "neither the project nor you" in offered(listed)["atlas"].missing[0]
    assert listed.steward.username in offered(listed)["atlas"].missing[0]
    listed.grant()
    assert offered(listed)["atlas"].missing == refused(listed)
    assert "have not accepted" in offered(listed)["atlas"].missing[0]
    terms.accept(dataset=listed.dataset, number=1, by=listed.member)
    assert offered(listed)["atlas"].missing == []
    registering.retire(dataset=listed.dataset, by=listed.steward)
    assert "atlas" not in offered(listed)
    assert offered(listed, chosen=["atlas"])["atlas"].missing == refused(listed)


def test_a_permission_for_another_purpose_than_the_agreements_is_none(listed: Shelf) -> None:
    listed.approved()
    listed.grant(purpose="teaching")
    listed.agreement()
    assert offered(listed)["atlas"].missing == refused(listed)


def test_one_without_a_version_says_so_and_one_nobody_may_find_is_not_there(listed: Shelf) -> None:
    listed.register("hidden")
    find(listed, "nova")
    versions.withdraw(version=DatasetVersion.objects.get(dataset__code="nova"), by=listed.steward)
    assert "hidden" not in offered(listed)
    assert "it has no version yet." in offered(listed)["nova"].missing[-1]


def test_versions_come_newest_first_and_the_permitted_before_the_others(listed: Shelf) -> None:
    versions.add(dataset=listed.dataset, label="v2", path="/srv/data/atlas/v2", by=listed.steward)
    find(listed, "aaa")
    listed.approved()
    listed.grant()
    found = offered(listed)
    assert list(found) == ["atlas", "aaa"]
    assert list(found["atlas"].labels) == ["v2", "v1"]
    assert list(offered(listed, q="AA")) == ["aaa"]
    assert list(offered(listed, q="zzz", chosen=["aaa"])) == ["aaa"]


def test_they_are_bounded_and_cost_the_same_however_many(listed: Shelf, django_assert_num_queries: Any) -> None:
    for n in range(12):
        find(listed, f"set-{n:02}")
    listed.approved()
    with django_assert_num_queries(5):
        rows, more = offering.offered(project=listed.users, user=listed.member, chosen=["atlas", "set-03"])
        assert all(isinstance(one.missing, list) for one in rows)
    assert (len(rows), more) == (offering.MOST + 2, True)
    assert {one.dataset.code for one in rows[:2]} == {"atlas", "set-03"}


def test_the_part_of_the_form_says_it_beside_each(listed: Shelf) -> None:
    def part(**query: str) -> str:
        answer = signed_in(listed.member).get(
            "/jobs/new/datasets", {"project": listed.users.code, **query}, HTTP_ACCEPT_LANGUAGE="en"
        )
        return " ".join(unescape(answer.content.decode()).split())

    listed.approved()
    text = part()
    assert 'name="datasets" aria-describedby="pick-atlas-missing" disabled' in text
    assert 'href="/datasets/atlas"' in text
    listed.grant(ends_on=today(30))
    text = part(datasets="atlas@v1 gone@v9")
    assert '<option value="atlas@v1" selected>' in text
    assert 'value="gone@v9"' in text
    assert "disabled" not in text
    assert '<option value="atlas@old" selected>' in part(datasets="atlas@old")
