"""What an administrator orders of nodes: out of service and back, windows; and what everybody then reads of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from slurm.contract import NodeRecord, Refused, ReservationRecord
from tests.contract.lab import Lab, is_over, is_running, new_key, submission

NODE, WINDOW = "prep01", "bancada-77001"
AN_HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def as_it_was(lab: Lab) -> Iterator[None]:
    yield
    lab.nodes.unreserve(WINDOW)
    if "DRAIN" in node(lab).states:
        lab.nodes.resume(NODE)
        lab.until(lambda: "DRAIN" not in node(lab).states)


def node(lab: Lab) -> NodeRecord:
    return next(one for one in lab.gateway.nodes() if one.name == NODE)


def window(lab: Lab) -> ReservationRecord | None:
    return next((one for one in lab.gateway.reservations() if one.name == WINDOW), None)


def small(lab: Lab, key: str = "") -> int:
    """A job that only fits on the node."""
    asked = submission(lab, lab.davi, key, partition="prep", gpus=0, gpu_type="", cpus_per_task=1, memory_mb=100)
    job_id = lab.gateway.submit(asked, as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    return job_id


def test_drained_a_node_takes_no_more_jobs_and_resumed_it_does(lab: Lab) -> None:
    key, later = new_key(), new_key()
    first = small(lab, key)
    lab.until(is_running(lab, first))
    lab.nodes.drain(NODE, 'a card\'s "fan" | noisy; $(reboot)')
    lab.until(lambda: "DRAIN" in node(lab).states)
    assert "fan" in node(lab).reason and "noisy" in node(lab).reason
    second = small(lab, later)
    assert "RUNNING" in lab.gateway.job(first).states  # type: ignore[union-attr]
    assert lab.until(lambda: lab.gateway.job(second).reason)  # type: ignore[union-attr]
    assert "PENDING" in lab.gateway.job(second).states  # type: ignore[union-attr]
    lab.end(first, key)
    lab.until(is_over(lab, first))
    lab.nodes.resume(NODE)
    lab.until(is_running(lab, second))
    assert "DRAIN" not in node(lab).states
    lab.end(second, later)
    lab.until(is_over(lab, second))


def test_drained_twice_and_resumed_twice(lab: Lab) -> None:
    for _ in range(2):
        lab.nodes.drain(NODE, "again")
    lab.until(lambda: "DRAIN" in node(lab).states)
    lab.nodes.resume(NODE)
    lab.until(lambda: "DRAIN" not in node(lab).states)


@pytest.mark.parametrize("name", ["nowhere", "a b", "prep01,gpu01", "ALL", "-h", "x" * 90, ""])
def test_a_node_that_is_none(lab: Lab, name: str) -> None:
    with pytest.raises(Refused):
        lab.nodes.drain(name, "x")
    assert "DRAIN" not in node(lab).states


def test_a_window_is_made_changed_read_and_removed(lab: Lab) -> None:
    start = lab.now().replace(microsecond=0) + timedelta(days=1)
    lab.nodes.reserve(WINDOW, [NODE], start, start + AN_HOUR)
    seen = window(lab)
    assert seen is not None
    assert (seen.start_time, seen.end_time, seen.nodes, seen.is_maintenance) == (start, start + AN_HOUR, (NODE,), True)
    lab.nodes.reserve(WINDOW, [NODE, "gpu01"], start, start + 2 * AN_HOUR)
    seen = window(lab)
    assert seen is not None
    assert (sorted(seen.nodes), seen.end_time) == (["gpu01", NODE], start + 2 * AN_HOUR)
    for _ in range(2):
        lab.nodes.unreserve(WINDOW)
        assert window(lab) is None


def test_a_window_of_all_nodes(lab: Lab) -> None:
    start = lab.now().replace(microsecond=0) + timedelta(days=1)
    lab.nodes.reserve(WINDOW, [], start, start + AN_HOUR)
    seen = window(lab)
    assert seen is not None and sorted(seen.nodes) == ["big01", "gpu01", "gpu02", "prep01"]


def test_no_job_starts_that_would_run_into_a_window(lab: Lab) -> None:
    """The job's limit is five minutes, the window begins in two."""
    start = lab.now().replace(microsecond=0) + timedelta(minutes=2)
    lab.nodes.reserve(WINDOW, [NODE], start, start + AN_HOUR)
    key = new_key()
    job_id = small(lab, key)
    assert lab.until(lambda: lab.gateway.job(job_id).reason)  # type: ignore[union-attr]
    assert "PENDING" in lab.gateway.job(job_id).states  # type: ignore[union-attr]
    lab.nodes.unreserve(WINDOW)
    lab.until(is_running(lab, job_id), seconds=60)
    lab.end(job_id, key)
    lab.until(is_over(lab, job_id))


def test_a_window_of_what_is_not_there_is_refused(lab: Lab) -> None:
    start = lab.now() + timedelta(days=1)
    with pytest.raises(Refused):
        lab.nodes.reserve(WINDOW, ["nowhere"], start, start + AN_HOUR)
    with pytest.raises(Refused):
        lab.nodes.reserve("Not a name", [NODE], start, start + AN_HOUR)
    assert window(lab) is None


def test_the_sites_own_reservations_are_read_and_left_alone(lab: Lab) -> None:
    with lab.reservation("contract-course", "gpu02", "davi"):
        names = {one.name: one for one in lab.gateway.reservations()}
        assert not names["contract-course"].is_maintenance
        with pytest.raises(Refused):
            lab.nodes.unreserve("contract-course; shutdown")
        assert "contract-course" in {one.name for one in lab.gateway.reservations()}
    assert "contract-course" not in {one.name for one in lab.gateway.reservations()}
