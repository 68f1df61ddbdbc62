"""What no job used of the site's GPUs, in the reports of use: the total for all who read them, who for operators alone."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client, override_settings

from access.roles import Role, SiteRole
from accounts.models import User
from cluster.models import Cluster, OutsideUse
from cluster.services import outside
from projects.models import Project
from quotas import services as quotas
from tests.factories import make_cluster, make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db
MAY = datetime(2026, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def project() -> Project:
    make_cluster()
    return make_project("aurora")


@pytest.fixture(autouse=True)
def measured() -> Any:
    """A site that has a Prometheus; it is not asked."""
    with override_settings(PROMETHEUS_URL="http://127.0.0.1:1"):
        yield


def use(index: int, uid: int | None, begin: datetime, end: datetime, *, over: bool = True) -> None:
    OutsideUse.objects.create(
        cluster=Cluster.objects.get(), node_name="gpu07", index=index, uid=uid, began_at=begin, seen_at=end,
        ended_at=end if over else None,
    )  # fmt: skip


def seen_in_may() -> User:
    """Six GPU-hours of May in all: two people shared a GPU for one of them, and one use began in April."""
    person = make_user("walter", uid_number=20777)
    use(0, 20777, MAY + 10 * HOUR, MAY + 13 * HOUR)
    use(0, 20888, MAY + 12 * HOUR, MAY + 14 * HOUR)
    use(1, 20777, MAY - 5 * HOUR, MAY + 2 * HOUR)
    use(2, None, MAY + 60 * 24 * HOUR, MAY + 61 * 24 * HOUR)
    return person


def english(user: User) -> Client:
    client = signed_in(user)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "en"
    return client


def table(client: Client, where: str) -> list[list[str]]:
    text = b"".join(client.get(where).streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.reader(text.lstrip("\ufeff").splitlines()))


def test_a_month_has_its_own_part_of_it_and_each_gpu_once(project: Project) -> None:
    seen_in_may()
    found = outside.totals(MAY, MAY + 31 * 24 * HOUR)
    assert [(one.uid, one.hours) for one in found.people] == [(20777, 5), (20888, 2)]
    assert found.hours == 6


def test_members_read_the_total_and_no_name_number_or_node(project: Project) -> None:
    seen_in_may()
    quotas.add_funding(project=project, by=None, agency="FAP", number="1", starts_on=MAY.date(),
                       ends_on=(MAY + 30 * 24 * HOUR).date())  # fmt: skip
    source = project.funding_sources.get()
    for role in (Role.PI, Role.VIEWER):
        client = english(make_member(project, role))
        for where in ("/projects/aurora/months/2026-5", f"/projects/aurora/funding/{source.pk}/report"):
            page = client.get(where).text
            assert "In use outside the queue, whole site" in page and "6.00 GPU·h" in page
            assert not [word for word in ("walter", "20777", "20888", "gpu07") if word in page]
            at = where.removesuffix("/report")
            assert table(client, f"{at}/outside-queue.csv") == [["GPU-hours outside the queue"], ["6.0"]]
        told = client.get("/api/v1/projects/aurora/usage?month=2026-05").json()["outside_queue"]
        assert told == {"hours": 6, "people": None}


def test_operators_read_who_and_where(project: Project) -> None:
    seen_in_may()
    client = english(make_user(site_role=SiteRole.OPERATOR))
    page = client.get("/projects/aurora/months/2026-5").text
    assert "walter" in page and "20888" in page and "gpu07" in page
    rows = table(client, "/projects/aurora/months/2026-5/outside-queue.csv")
    assert rows[1:] == [["20777", "walter", "gpu07", "5.0"], ["20888", "", "gpu07", "2.0"]]
    told = client.get("/api/v1/projects/aurora/usage?month=2026-05").json()["outside_queue"]
    assert told["people"][0] == {"uid": 20777, "login": "walter", "hours": 5, "nodes": ["gpu07"]}


def test_a_month_without_any_says_so_and_a_site_nobody_measures_says_nothing(project: Project) -> None:
    client = english(make_member(project, Role.VIEWER))
    assert "None seen. Processes on a GPU" in client.get("/projects/aurora/months/2026-4").text
    with override_settings(METRICS_NAMES="dcgm"):
        assert "outside the queue" not in client.get("/projects/aurora/months/2026-4").text
    with override_settings(PROMETHEUS_URL=""):
        assert "outside the queue" not in client.get("/projects/aurora/months/2026-4").text
        assert client.get("/api/v1/projects/aurora/usage").json()["outside_queue"] is None
        assert table(client, "/projects/aurora/months/2026-4/outside-queue.csv") == [["GPU-hours outside the queue"]]


def test_a_use_that_ended_before_it_began_counts_nothing(project: Project) -> None:
    """A clock was put back while it was seen."""
    use(0, 7, MAY + 10 * HOUR, MAY + 8 * HOUR)
    use(0, 7, MAY + 9 * HOUR, MAY + 11 * HOUR, over=False)
    found = outside.totals(MAY, MAY + 24 * HOUR)
    assert found.hours == 2 and [one.hours for one in found.people] == [2]
