"""P17, P18 and the site of 100 nodes: what the node agent, a chart of a day and Prometheus' scraping cost."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stack.driver.build import build
from tests.bench import inside
from tests.bench.figures import ROOT, Figure, quantile
from tests.bench.place import Place

EIGHT = "gpus 8 NVIDIA A100 (simulated)\n" + "".join(f"gpu {n} util wave memory 30000\n" for n in range(8))
TOKEN = "bench"
NODES = 100
TICKS = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A loopback port nobody has."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def spent(pid: int) -> float:
    """Seconds of CPU a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def resident(pid: int) -> float:
    """MB."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) / 1024


@contextlib.contextmanager
def agent(folder: Path) -> Iterator[tuple[int, int]]:
    """(pid, port) of an agent of eight busy GPUs."""
    (folder / "scene").write_text(EIGHT)
    (folder / "token").write_text(TOKEN)
    port = free_port()
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(build(folder).parent), "BANCADA_SCENE": f"{folder}/scene"}
    words = [sys.executable, "-m", "gpu.agent", "--port", str(port), "--token-file", f"{folder}/token"]
    process = subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.DEVNULL)
    try:
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def prometheus(folder: Path, scrape: str = "") -> Iterator[tuple[int, str]]:
    """(pid, address) of a Prometheus over the data in this folder."""
    (folder / "prometheus.yml").write_text(scrape or "global: {}\n")
    address = f"127.0.0.1:{free_port()}"
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    words += [f"--web.listen-address={address}", "--storage.tsdb.retention.time=10y", "--log.level=error"]
    server = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        _ready(address)
        yield server.pid, f"http://{address}"
    finally:
        server.terminate()
        server.wait(20)


def _ready(address: str) -> None:
    deadline = time.monotonic() + 60
    host, port = address.split(":")
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1) as link:
            link.sendall(b"GET /-/ready HTTP/1.0\r\n\r\n")
            if b"200" in link.recv(64):
                return
        time.sleep(0.2)
    raise SystemExit("Prometheus did not get ready")


def the_agent(seconds: int) -> Iterator[Figure]:
    """One pass a second over eight simulated GPUs, scraped each second."""
    with tempfile.TemporaryDirectory() as name, agent(Path(name)) as (pid, port):
        time.sleep(3)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        begun, before = time.monotonic(), spent(pid)
        while time.monotonic() - begun < seconds:
            urllib.request.urlopen(request, timeout=5).read()
            time.sleep(1)
        share = (spent(pid) - before) / (time.monotonic() - begun)
        memory = resident(pid)
    yield Figure("P17", "node agent, 8 simulated GPUs, 1 Hz and a scrape a second: of a core", f"{share:.2%}",
                 goal="≤ 0.5 %", good=share <= 0.005)  # fmt: skip
    yield Figure("P17", "node agent: resident memory", f"{memory:.0f} MB", goal="≤ 40 MB", good=memory <= 40)


def _day(step: int) -> Iterator[str]:
    """A day of four readings of eight GPUs as OpenMetrics."""
    end = int(time.time()) // 60 * 60 - 60
    for name, most in (("utilization_ratio", 1), ("memory_used_bytes", 2**34), ("power_watts", 400)):
        yield from _series(name, most, "", end, step)
    yield from _series("temperature_celsius", 70, ',sensor="core"', end, step)
    yield from _minutes(end)
    yield "# TYPE bancada_gpu_allocated gauge"
    for gpu in range(8):
        for at in range(end - 86400, end, 60):
            yield f'bancada_gpu_allocated{{node="gpu01",gpu="{gpu}",uuid="u",slurm_job="7"}} 1 {at}'
    yield "# EOF"


def _minutes(end: int) -> Iterator[str]:
    """What the rules of Prometheus record of them, as uneven as readings are."""
    noise = random.Random(1).random
    for reading, most in (("utilization", 1), ("memory", 2**34), ("power", 400), ("temperature", 70)):
        more = ',sensor="core"' if reading == "temperature" else ""
        for way, share in (("min", 0.5), ("max", 1.0)):
            yield f"# TYPE bancada_gpu:{reading}:{way}1m gauge"
            for gpu in range(8):
                for at in range(end - 86400, end, 60):
                    value = most * share * (0.9 + noise() / 10)
                    labels = f'node="gpu01",gpu="{gpu}",uuid="u"{more}'
                    yield f"bancada_gpu:{reading}:{way}1m{{{labels}}} {value:.6g} {at}"


def _series(name: str, most: float, more: str, end: int, step: int) -> Iterator[str]:
    yield f"# TYPE bancada_gpu_{name} gauge"
    for gpu in range(8):
        for at in range(end - 86400, end, step):
            value = most * (0.5 + ((at * 7919 + gpu) % 1000) / 2000)
            yield f'bancada_gpu_{name}{{node="gpu01",gpu="{gpu}",uuid="u"{more}}} {value:.6g} {at}'


def the_chart(step: int) -> Iterator[Figure]:
    """A day of eight GPUs and four readings: asked, made into an answer, and its size on the wire."""
    inside.settings("none", "/nowhere")  # no statement is made
    from cluster.metrics.charts import Card, Where, chart
    from cluster.metrics.prometheus import Prometheus
    from jobs.api_gpus import ChartOut, _out

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "day").open("w") as file:
            file.writelines(f"{line}\n" for line in _day(step))
        made = ["promtool", "tsdb", "create-blocks-from", "openmetrics", f"{folder}/day", f"{folder}/data"]
        subprocess.run(made, check=True, capture_output=True)
        with prometheus(folder) as (_pid, address):
            source, end = Prometheus(address, 30.0), int(time.time()) // 60 * 60 - 60
            where = Where(7, ("gpu01",), end - 86400, end)
            cards = [Card("gpu01", str(gpu)) for gpu in range(8)]
            times, text = [], b""
            for _ in range(6):
                begun = time.monotonic()
                text = json.dumps(ChartOut(**_out(chart(where, cards, points=1000, source=source))).dict()).encode()
                times.append(1000 * (time.monotonic() - begun))
    size = len(gzip.compress(text, 5)) / 1000
    took = quantile(times[1:], 0.5)
    what = f"chart of 24 h × 8 GPUs × 4 readings every {step} s"
    yield Figure("P18", f"{what}: asked and encoded", f"{took:.0f} ms", goal="≤ 60 ms", good=took <= 60)
    yield Figure("P18", f"{what}: on the wire (gzip)", f"{size:.0f} kB", goal="≤ 150 kB", good=size <= 150)


class _Stand(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def the_site(seconds: int) -> Iterator[Figure]:
    """100 nodes of 8 GPUs at 15 s: what Prometheus spends on scraping the agents' stand-ins."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with agent(folder) as (_pid, port):
            time.sleep(3)
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
            )
            text = urllib.request.urlopen(request, timeout=5).read()

        class Stand(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                return

        stand = _Stand(("127.0.0.1", 0), Stand)
        threading.Thread(target=stand.serve_forever, daemon=True).start()
        targets = "\n".join(
            f'      - {{ targets: ["127.0.0.1:{stand.server_address[1]}"], labels: {{ node: "n{number:03d}" }} }}'
            for number in range(NODES)
        )
        scrape = f"scrape_configs:\n  - job_name: nodes\n    scrape_interval: 15s\n    static_configs:\n{targets}\n"
        with prometheus(folder, scrape) as (pid, _address):
            time.sleep(20)
            before, begun = spent(pid), time.monotonic()
            time.sleep(seconds)
            share = (spent(pid) - before) / (time.monotonic() - begun)
        stand.shutdown()
    lines = sum(not line.startswith(b"#") for line in text.splitlines())
    yield Figure("P17", f"Prometheus: {NODES} nodes × 8 GPUs ({lines} series a node) every 15 s, of a core", f"{share:.1%}",
                 goal="≤ 5 %", good=share <= 0.05)  # fmt: skip


def agents(_place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """P17: the agent, and a site full of them."""
    yield from the_agent(15 if small else 60)
    yield from the_site(30 if small else 60)


def charts(_place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """P18."""
    yield from the_chart(15 if small else 1)
