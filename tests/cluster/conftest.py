"""A real Prometheus with an hour of known readings of two nodes, for the tests that ask it."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.metrics.prometheus import Prometheus

NOW = int(time.time()) // 60 * 60 - 120
START = NOW - 3600  # a job of an hour on gpu01: GPU 0 busy, GPU 1 idle in its second half; GPU 2 is another's


def use(node: str, gpu: int, at: int) -> float:
    """The utilisation that is kept of a card at a moment (seconds after START)."""
    if node == "gpu02":
        return 0.33
    return {0: 0.9 if at % 120 else 0.1, 1: 0.8 if at < 1800 else 0.0, 2: 0.5}[gpu]


def readings() -> Iterator[str]:
    """The readings as OpenMetrics, one every ten seconds."""
    times = range(0, 3601, 10)
    for name, value in (("utilization_ratio", use), ("memory_used_bytes", lambda _n, gpu, _a: (gpu + 1) * 2**33),
                        ("memory_total_bytes", lambda *_: 40 * 2**30), ("power_watts", lambda *_: 250.0),
                        ("temperature_celsius", lambda *_: 64.0)):  # fmt: skip
        yield f"# TYPE bancada_gpu_{name} gauge"
        sensor = ',sensor="core"' if name == "temperature_celsius" else ""
        for node, gpus in (("gpu01", (0, 1, 2)), ("gpu02", (0,))):
            for gpu in gpus:
                labels = f'node="{node}",gpu="{gpu}",uuid="u{gpu}"{sensor}'
                for at in times:
                    yield f"bancada_gpu_{name}{{{labels}}} {value(node, gpu, at)} {START + at}"
    yield "# TYPE bancada_gpu_allocated gauge"
    for node, gpu, job in (("gpu01", 0, 77), ("gpu01", 1, 77), ("gpu01", 2, 78), ("gpu02", 0, 77)):
        # gpu02 lies: job 77 does not run there
        for at in times:
            yield f'bancada_gpu_allocated{{node="{node}",gpu="{gpu}",uuid="u{gpu}",slurm_job="{job}"}} 1 {START + at}'
    for way, value in (("min", 7), ("max", 9)):
        yield f"# TYPE bancada_gpu:power:{way}1m gauge"
        for at in range(0, 3601, 60):
            yield f'bancada_gpu:power:{way}1m{{node="gpu01",gpu="0",uuid="u0"}} {value} {START + at}'
    yield from _host_readings(times)
    yield "# EOF"


def _host_readings(times: range) -> Iterator[str]:
    """Job 77 keeps four CPUs of gpu01 busy and waits for them a quarter of the time; 78 is another's."""
    gauges = {
        "memory_bytes": ((77, "", 2 * 2**30), (78, "", 2**30)),
        "pressure_ratio": ((77, ',resource="cpu"', 0.25),),
    }
    yield "# TYPE bancada_job_cpu_seconds counter"
    for job, cpus in ((77, 4), (78, 1)):
        for at in times:
            yield f'bancada_job_cpu_seconds_total{{node="gpu01",slurm_job="{job}"}} {cpus * at} {START + at}'
    for name, rows in gauges.items():
        yield f"# TYPE bancada_job_{name} gauge"
        for job, more, value in rows:
            for at in times:
                yield f'bancada_job_{name}{{node="gpu01",slurm_job="{job}"{more}}} {value} {START + at}'
    yield "# TYPE bancada_network_bytes counter"
    for device, speed in (("eth0", 2), ("ib0", 1)):
        for at in times:
            labels = f'node="gpu01",device="{device}",direction="received"'
            yield f"bancada_network_bytes_total{{{labels}}} {speed * 2**20 * at} {START + at}"


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Its client; the server ends with the tests."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "readings").write_text("\n".join(readings()) + "\n")
    (folder / "prometheus.yml").write_text("global: {}\n")
    made = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(folder / "readings"), str(folder / "data")]
    subprocess.run(made, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    words += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=10y", "--log.level=error"]
    server = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        _until_ready(port)
        yield Prometheus(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(10)


def _until_ready(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


__all__ = ["NOW", "START", "Path"]
