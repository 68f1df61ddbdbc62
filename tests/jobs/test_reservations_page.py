"""The site's reservations come from Slurm by the follower and stand on the cluster page, without whom they are for."""

from __future__ import annotations

from datetime import timedelta

from jobs.services.loop import Follower
from slurm import fake
from slurm.contract import ReservationRecord
from tests.jobs.conftest import Bench
from tests.jobs.test_gpu_pages import browser


class Keeping:
    """The fake's gateway with one more reservation."""

    def __init__(self, cluster: fake.Cluster) -> None:
        self._gateway, self._now = cluster.gateway(), cluster.now

    def __getattr__(self, name: str) -> object:
        return getattr(self._gateway, name)

    def reservations(self) -> list[ReservationRecord]:
        later = self._now + timedelta(days=1)
        own = ReservationRecord("bancada-9", self._now, later, ("gpu02",), ("root",), (), True)
        return [ReservationRecord("course-2027", self._now, later, ("gpu01",), ("felipe",), ("atlas",)), own]


def test_it_is_seen_and_shown(bench: Bench, cluster: fake.Cluster) -> None:
    Follower(Keeping(cluster)).step()  # type: ignore[arg-type]
    page = browser(bench.user).get("/cluster/").content.decode()
    assert "course-2027" in page and "gpu01" in page
    assert "felipe" not in page and "bancada-9" not in page


def test_without_any_there_is_no_panel(bench: Bench, cluster: fake.Cluster) -> None:
    Follower(cluster.gateway()).step()
    assert "h-kept" not in browser(bench.user).get("/cluster/").content.decode()
