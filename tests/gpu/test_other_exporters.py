"""A site with dcgm-exporter and node_exporter: their text, scraped by a real Prometheus, asked by the portal's door."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.test import override_settings

from cluster.metrics.charts import Card, Where, cards_of, chart
from cluster.metrics.hosts import host_chart
from cluster.metrics.names import CHARTED
from cluster.metrics.picture import Seen, look
from cluster.metrics.prometheus import Prometheus
from cluster.metrics.sums import sums
from tests.gpu.scraping import scraped, until

# what the exporter serves unless it is told to serve more: no memory in all, no limit of power; MiB, W, mJ, KB
HELP = {
    "DCGM_FI_DEV_GPU_UTIL": ("gauge", "GPU utilization (in %)."),
    "DCGM_FI_DEV_GPU_TEMP": ("gauge", "GPU temperature (in C)."),
    "DCGM_FI_DEV_POWER_USAGE": ("gauge", "Power draw (in W)."),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": ("counter", "Total energy consumption since boot (in mJ)."),
    "DCGM_FI_DEV_PCIE_TX_THROUGHPUT": (
        "counter",
        "Total number of bytes transmitted through PCIe TX (in KB) via NVML.",
    ),
    "DCGM_FI_DEV_FB_USED": ("gauge", "Framebuffer memory used (in MiB)."),
    "DCGM_FI_DEV_FB_FREE": ("gauge", "Framebuffer memory free (in MiB)."),
    "DCGM_FI_DEV_XID_ERRORS": ("gauge", "Value of the last XID error encountered."),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("gauge", "Whether remapping of rows has failed"),
}
USUAL = {"GPU_UTIL": 87, "GPU_TEMP": 64, "POWER_USAGE": 301.5, "TOTAL_ENERGY_CONSUMPTION": 1.5e12, "FB_USED": 30000,
         "PCIE_TX_THROUGHPUT": 9e6, "FB_FREE": 10000, "XID_ERRORS": 0, "ROW_REMAP_FAILURE": 0}  # fmt: skip
Rows = Sequence[tuple[dict[str, str], dict[str, float]]]


def dcgm(host: str, rows: Rows) -> str:
    """Its exposition: a series a card, a slice and a job of it."""
    lines = []
    for name in dict.fromkeys(name for _labels, values in rows for name in values):
        series = f"DCGM_FI_DEV_{name}"
        kind, said = HELP.get(series, ("gauge", "Added by the site."))
        lines += [f"# HELP {series} {said}", f"# TYPE {series} {kind}"]
        for labels, values in rows:
            if name in values:
                lines.append(f"{series}{{{_labels(host, labels)}}} {values[name]:.10g}")
    return "\n".join(lines) + "\n"


def _labels(host: str, more: dict[str, str]) -> str:
    number = more["gpu"]
    own = {
        "gpu": number, "UUID": f"GPU-{host}-{number}", "pci_bus_id": f"00000000:0{number}:00.0", "device": f"nvidia{number}",
        "modelName": "NVIDIA A100-SXM4-40GB", "Hostname": host, "DCGM_FI_DRIVER_VERSION": "550.90.07",
    }  # fmt: skip
    return ",".join(f'{key}="{value}"' for key, value in (own | more).items())


class Site:
    """Four nodes; `job` is the one that has GPU 0 of gpu01 now."""

    def __init__(self) -> None:
        self.job, self.xid, self.begun = "77", 0.0, time.time()

    def one(self) -> str:
        """GPU 1 has two jobs: the exporter says all of it twice."""
        shared = USUAL | {"GPU_UTIL": 12, "FB_USED": 4000, "FB_FREE": 36000}
        return dcgm("gpu01", [
            ({"gpu": "0", "hpc_job": self.job}, USUAL | {"FB_RESERVED": 600, "XID_ERRORS": self.xid}),
            ({"gpu": "1", "hpc_job": "77"}, shared), ({"gpu": "1", "hpc_job": "78"}, shared), ({"gpu": "2"}, USUAL),
        ])  # fmt: skip

    def liar(self) -> str:
        """Calls itself gpu01, and job 77 its own."""
        return dcgm("gpu01", [({"gpu": "0", "hpc_job": "77"}, USUAL | {"GPU_UTIL": 1, "FB_USED": 1})])

    def slices(self) -> str:
        """A card split by MIG: a series a slice, power and heat of the whole card in each; a slice says it is idle."""
        rest = {name: value for name, value in USUAL.items() if not name.startswith("FB_")} | {"GPU_UTIL": 0}
        return dcgm("gpu03", [
            ({"gpu": "0", "GPU_I_PROFILE": "1g.5gb", "GPU_I_ID": str(one), "hpc_job": "79"},
             rest | {"FB_USED": 1000 * one, "FB_FREE": 5000 - 1000 * one}) for one in (1, 2)
        ])  # fmt: skip

    def more(self) -> str:
        """A site that added the two counters."""
        more = USUAL | {"FB_TOTAL": 40960, "POWER_MGMT_LIMIT": 400, "ROW_REMAP_FAILURE": 1}
        return dcgm("gpu04", [({"gpu": "0", "hpc_job": "77"}, more)])

    def host(self) -> str:
        """node_exporter: 3 MiB/s of one card and 5 of an InfiniBand port, loopback beside them; NFS."""
        at = (time.time() - self.begun) * 2**20
        return (
            "# TYPE node_network_receive_bytes_total counter\n"
            f'node_network_receive_bytes_total{{device="eth0"}} {3 * at:.0f}\n'
            f'node_network_receive_bytes_total{{device="lo"}} {900 * at:.0f}\n'
            "# TYPE node_infiniband_port_data_received_bytes_total counter\n"
            f'node_infiniband_port_data_received_bytes_total{{device="mlx5_0",port="1"}} {5 * at:.0f}\n'
            "# TYPE node_mountstats_nfs_total_read_bytes_total counter\n"
            f'node_mountstats_nfs_total_read_bytes_total{{export="s:/home",mountaddr="10.0.0.1"}} {2 * at:.0f}\n'
        )


@pytest.fixture(scope="module")
def site() -> Site:
    return Site()


@pytest.fixture(scope="module")
def source(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Scraped for some seconds; then GPU 0 of gpu01 goes from job 77 to job 80, and an Xid comes."""
    nodes = {"gpu01": [site.one, site.host], "gpu02": [site.liar], "gpu03": [site.slices], "gpu04": [site.more]}
    with scraped(tmp_path_factory.mktemp("site"), nodes) as found, override_settings(METRICS_NAMES="dcgm"):
        question = 'count_over_time(DCGM_FI_DEV_FB_USED{node="gpu01",hpc_job="%s"}[1m]) >= 5'
        until(lambda: len(found.now("sum by (node) (up)")) == 4 and len(found.now(question % 77)) == 2)
        site.job, site.xid = "80", 79.0
        until(lambda: bool(found.now(question % 80)))
        yield found


def where(site: Site, *nodes: str, job: int = 77) -> Where:
    return Where(job, nodes, site.begun, time.time())


def told(values: Sequence[float | None]) -> set[float]:
    return {value for value in values if value is not None}


def test_the_cards_of_a_job_by_the_target_and_never_by_a_host_name(source: Prometheus, site: Site) -> None:
    assert cards_of(where(site, "gpu01"), source) == [Card("gpu01", "0"), Card("gpu01", "1")]
    assert cards_of(where(site, "gpu03", job=79), source) == [Card("gpu03", "0")]


@pytest.mark.parametrize("points", [2000, 8])
def test_charts_in_our_units_whatever_job_a_card_goes_to(source: Prometheus, site: Site, points: int) -> None:
    """The series of a card is another once its job is; a node that lies adds nothing."""
    place = where(site, "gpu01")
    found = chart(place, cards_of(place, source), points=points, source=source)
    high = {name: [told(band.high or band.low) for band in bands] for name, bands in found.bands.items()}
    assert high == {
        "utilization": [{87}, {12}], "memory": [{30000}, {4000}], "power": [{301.5}, {301.5}],
        "temperature": [{64}, {64}],
    }  # fmt: skip
    assert len(told(chart(place, [Card("gpu01", "0")], source=source).bands["power"][0].low)) == 1


def test_all_memory_is_what_is_used_free_and_kept_where_nobody_says_it(source: Prometheus, site: Site) -> None:
    place = where(site, "gpu01")
    first, second = sums(place, cards_of(place, source), source)
    assert (first.memory, first.memory_total) == (30000, 40600)
    assert (second.memory, second.memory_total) == (4000, 40000)
    assert first.mean == first.most == 87 and first.active_share == 1
    (full,) = sums(where(site, "gpu04"), [Card("gpu04", "0")], source)
    assert full.memory_total == 40960


def test_a_card_in_slices_has_their_memory_and_no_utilisation(source: Prometheus, site: Site) -> None:
    place = where(site, "gpu03", job=79)
    found = chart(place, cards_of(place, source), source=source)
    assert {name: told(bands[0].low) for name, bands in found.bands.items()} == {
        "utilization": set(), "memory": {3000}, "power": {301.5}, "temperature": {64},
    }  # fmt: skip
    (one,) = sums(place, cards_of(place, source), source)
    assert (one.memory, one.memory_total, one.mean, one.active_share) == (3000, 10000, None, None)


def test_the_picture_of_all_cards(source: Prometheus, site: Site) -> None:
    cards = {(seen.node, seen.index): seen for seen in look(source)}
    assert sorted(cards) == [("gpu01", 0), ("gpu01", 1), ("gpu01", 2), ("gpu02", 0), ("gpu03", 0), ("gpu04", 0)]
    assert sorted(cards["gpu01", 1].jobs) == [77, 78] and cards["gpu01", 2].jobs == []
    assert cards["gpu01", 0].model == "NVIDIA A100-SXM4-40GB" and cards["gpu01", 0].faults == ["xid 79"]
    assert cards["gpu01", 0].values == {
        "utilization": 87, "memory": 30000, "memory_total": 40600, "power": 301.5, "temperature": 64,
    }  # fmt: skip
    assert cards["gpu04", 0].values["power_limit"] == 400 and cards["gpu04", 0].faults == ["remap"]
    assert cards["gpu03", 0].mig and cards["gpu03", 0].values == {
        "memory": 3000, "memory_total": 10000, "power": 301.5, "temperature": 64,
    }  # fmt: skip
    assert not cards["gpu01", 1].mig and isinstance(cards["gpu01", 1], Seen)


def test_network_and_storage_of_whole_nodes(source: Prometheus, site: Site) -> None:
    place = where(site, "gpu01")
    rates: dict[str, Any] = {}
    until(lambda: bool(rates.update(host_chart(place, source=source).bands) or rates.get("received")))
    last = {name: max(told(bands[0].low)) for name, bands in rates.items()}
    assert set(last) == {"storage_read", "received"}
    assert last["received"] == pytest.approx(8, rel=0.5) and last["storage_read"] == pytest.approx(2, rel=0.5)


def test_nothing_else_is_charted(source: Prometheus, site: Site) -> None:
    assert set(chart(where(site, "gpu01"), [Card("gpu01", "0")], source=source).bands) == set(CHARTED)
