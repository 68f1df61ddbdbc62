"""The site's reservations in the picture: when and which nodes, for whom is told to nobody, and not the portal's own windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from access.roles import SiteRole
from cluster import services
from cluster.models import Cluster
from slurm.contract import ReservationRecord
from tests.factories import make_cluster, make_user
from tests.pages import signed_in

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


def record(name: str, starts: datetime, *, lasts: timedelta = DAY) -> ReservationRecord:
    return ReservationRecord(name, starts, starts + lasts, ("gpu01", "gpu02"), ("felipe",), ("atlas",))


@pytest.fixture
def picture(db: None) -> Cluster:
    cluster = Cluster.objects.create(name="cluster", jobs_seen_at=timezone.now(), answering_since=timezone.now())
    found = [record("later", NOW + DAY), record("course", NOW - DAY / 2), record("over", NOW - 3 * DAY)]
    services.see_reservations(cluster, [*found, record("bancada-7", NOW)])
    return Cluster.objects.get(pk=cluster.pk)


def test_those_to_come_in_order(picture: Cluster) -> None:
    assert [(one.name, list(one.nodes)) for one in picture.kept] == [
        ("course", ["gpu01", "gpu02"]),
        ("later", ["gpu01", "gpu02"]),
    ]
    assert picture.kept[1].starts_at == NOW + DAY


def test_whom_they_are_for_is_shown_to_nobody(db: None) -> None:
    services.see_reservations(make_cluster(), [record("course", NOW - DAY / 2)])
    assert Cluster.objects.get().kept[0].is_for("felipe", "atlas")
    page = signed_in(make_user(site_role=SiteRole.OPERATOR)).get("/cluster/").text
    assert "course" in page and "felipe" not in page and "atlas" not in page


def test_never_more_than_a_page_can_carry(picture: Cluster) -> None:
    many = [record(f"r{number}", NOW + number * DAY) for number in range(200)]
    services.see_reservations(picture, many)
    assert [one.name for one in picture.kept] == [f"r{number}" for number in range(50)]


def test_what_is_gone_in_slurm_is_gone_here(picture: Cluster) -> None:
    services.see_reservations(picture, [])
    assert Cluster.objects.get(pk=picture.pk).kept == []
