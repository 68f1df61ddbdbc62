"""Chains: where each job stands, which can never start, and who sees which of them."""

from __future__ import annotations

from jobs import chains
from jobs.chains import Edge
from jobs.services import chaining, following, handing
from jobs.states import State
from slurm import fake
from tests.factories import make_user
from tests.jobs.conftest import Bench
from tests.pages import signed_in

DONE, BAD, WAIT = State.COMPLETED, State.FAILED, State.WAITING
EN = {"Accept-Language": "en"}


def test_each_stands_right_of_what_it_waits_for() -> None:
    edges = [Edge("a", "b", "ok"), Edge("b", "d", "any"), Edge("a", "c", "ok"), Edge("c", "d", "ok")]
    found = chains.draw(edges, dict.fromkeys("abcd", WAIT))
    x = {box.key: box.x for box in found.boxes}
    assert x["a"] < x["b"] == x["c"] < x["d"]
    assert len({(box.x, box.y) for box in found.boxes}) == 4 and found.width > x["d"] and len(found.lines) == 4


def test_who_can_never_start() -> None:
    edges = [Edge("a", "b", "ok"), Edge("b", "c", "ok"), Edge("a", "d", "notok"), Edge("b", "e", "any")]
    assert chains.never(edges, {"a": BAD} | dict.fromkeys("bcde", WAIT)) == {"b", "c"}
    assert chains.never(edges, {"a": DONE} | dict.fromkeys("bcde", WAIT)) == {"d"}
    assert chains.never(edges, {"a": State.RUNNING} | dict.fromkeys("bcde", WAIT)) == set()


def test_a_circle_that_cannot_be_ends_all_the_same() -> None:
    assert len(chains.draw([Edge("a", "b", "ok"), Edge("b", "a", "ok")], {"a": WAIT, "b": WAIT}).boxes) == 2


def test_the_page_draws_both_sides_and_says_what_never_starts(bench: Bench, cluster: fake.Cluster) -> None:
    first = bench.submit(name="prepare")
    second = bench.submit(name="train", after=[{"kind": "ok", "job": str(first.pk)}])
    third = bench.submit(name="report", after=[{"kind": "any", "job": str(second.pk)}])
    alone = bench.submit(name="alone")
    handing.hand_over()
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    client = signed_in(bench.user)
    page = client.get(f"/jobs/{second.pk}/chain", headers=EN).content.decode()
    assert all(name in page for name in ("prepare", "train", "report")) and "alone" not in page
    assert "never start" not in page
    cluster.finish(cluster.every_job[0].job_id, exit_code=1)
    following.look_at_jobs(cluster.gateway(), bench.cluster)
    assert "This job can never start" in client.get(f"/jobs/{second.pk}/chain", headers=EN).content.decode()
    assert chaining.of(alone, bench.user) is None
    assert chaining.of(third, bench.user) is not None


def test_what_one_may_not_see_has_no_name(bench: Bench, cluster: fake.Cluster) -> None:
    first = bench.submit(name="prepare")
    second = bench.submit(name="train", after=[{"kind": "ok", "job": str(first.pk)}])
    found = chaining.of(second, make_user("stranger-demo"))
    assert found is not None and [node.job for node in found.nodes] == [None, None]
