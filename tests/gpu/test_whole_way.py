"""The whole way: the stand-in driver, the real pynvml, the agent, a real Prometheus, and the picture the portal makes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from cluster.metrics.picture import Seen, look
from cluster.metrics.prometheus import Prometheus
from cluster.metrics.prometheus import prometheus as door
from cluster.models import Gpu, OutsideUse
from cluster.services.gpus import see_gpus
from cluster.tasks import look_at_gpus
from tests.factories import make_cluster
from tests.gpu.conftest import Agent
from tests.gpu.scraping import scraped, until

SCENE = (
    "gpu 0 util 92 memory 30000 power 311 throttle 0x20\ngpu 1 lost 1\ngpu 2 dbe 1 xid 79 remap 1\ngpu 4 mig 2\n"
    "process 3 {pid} 9000\n"
)


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process of no job."""
    with subprocess.Popen(["sleep", "300"]) as one:
        yield one.pid
        one.kill()


def _of(source: Prometheus) -> dict[int, Seen]:
    return {card.index: card for card in look(source)}


@pytest.mark.django_db
def test_from_the_driver_to_the_picture(start: Callable[..., Agent], stranger: int, tmp_path: Path) -> None:
    agent = start(SCENE.format(pid=stranger))
    agent.until(lambda: agent.value("bancada_gpu_outside_memory_bytes", gpu="3"), 60)
    agent.until(lambda: agent.value("bancada_gpu_xid_errors_total", gpu="2", xid="79"), 60)
    with scraped(tmp_path, {"gpu01": [agent.get]}) as source:
        until(lambda: len(_of(source)) == 8 and bool(_of(source)[2].faults) and bool(_of(source)[3].strangers))
        cards = _of(source)
        assert cards[0].values["utilization"] == 92 and cards[0].values["memory"] == 30000
        assert cards[0].values["power"] == 311 and cards[0].values["power_limit"] == 400
        assert cards[0].throttled == ["thermal"] and cards[0].model.startswith("NVIDIA A100")
        assert cards[1].state == "lost" and "utilization" not in cards[1].values
        assert {"xid 79", "remap"} <= set(cards[2].faults)
        assert cards[3].strangers == [{"pid": stranger, "uid": os.getuid(), "mib": 9000}]
        assert cards[4].mig and "utilization" not in cards[4].values
        cluster = make_cluster()
        see_gpus(cluster, cards.values())
    rows = {row.index: row for row in Gpu.objects.all()}
    assert rows[1].is_failing and rows[2].is_failing and not rows[0].is_failing
    assert rows[0].is_hot and rows[3].is_outside and OutsideUse.objects.get().uid == os.getuid()


@pytest.mark.django_db
def test_where_prometheus_is_down_the_picture_stays_and_nothing_else_breaks() -> None:
    cluster = make_cluster()
    see_gpus(cluster, [Seen("gpu01", 0, values={"utilization": 50.0})])
    with override_settings(PROMETHEUS_URL="http://127.0.0.1:1", CLUSTER_NAME=cluster.name):
        door.cache_clear()
        look_at_gpus()
    door.cache_clear()
    assert Gpu.objects.get().utilization == 50
