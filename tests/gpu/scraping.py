"""A real Prometheus that scrapes texts of the tests every second, each under the name of its node."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from cluster.metrics.prometheus import Away, Prometheus

Text = Callable[[], str]


@contextlib.contextmanager
def served(text: Text) -> Iterator[int]:
    """The port of an exporter that says this whenever it is asked."""

    class Exporter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Exporter) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()


@contextlib.contextmanager
def scraped(
    folder: Path, nodes: Mapping[str, list[Text]], more: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Prometheus]:
    """Its client; `nodes`: the exporters of each node; `more`: a node's own setting of the scrape."""
    with contextlib.ExitStack() as all_of_them:
        words = ["global: { scrape_interval: 1s, scrape_timeout: 1s }", "scrape_configs:"]
        for node, texts in nodes.items():
            words += [f"  - job_name: {node}", *([f"    {more[node]}"] if node in more else []), "    static_configs:"]
            for text in texts:
                port = all_of_them.enter_context(served(text))
                words.append(f'      - {{ targets: ["127.0.0.1:{port}"], labels: {{ node: "{node}" }} }}')
        (folder / "prometheus.yml").write_text("\n".join(words) + "\n")
        yield all_of_them.enter_context(running(folder))


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Prometheus]:
    """The program itself, over the settings in this folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    words += [f"--web.listen-address={address}", "--log.level=error"]
    server = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL)
    try:
        yield Prometheus(f"http://{address}")
    finally:
        server.terminate()
        server.wait(20)


def until(true: Callable[[], bool]) -> None:
    """Within a minute; a Prometheus that is not up yet is not there yet."""
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(Away):
            if true():
                return
        assert time.monotonic() < deadline
        time.sleep(0.2)
