"""bancada-node-agent: watches the GPUs and jobs of the node it runs on and serves what it sees to Prometheus."""

from __future__ import annotations

import argparse
import logging
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from gpu import server
from gpu.allotted import Allotments
from gpu.procfs import Proc
from gpu.usage import Usage
from gpu.watch import Watch
from gpu.whose import Whose

logger = logging.getLogger("bancada-node-agent")


def main(words: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM; 2 where it is told something it cannot do."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asked = _parser().parse_args(words)
    whose = Whose(Proc(), spool=asked.spool, node=asked.node)
    watch = Watch(whose, Allotments(whose, asked.job_mapping_dir), Usage(whose))

    def text() -> bytes:
        watch.fresh()
        return watch.text()

    try:
        token = asked.token_file.read_text().strip()
        door = server.serve(
            asked.host, asked.port, token, text, cert=asked.tls_cert, key=asked.tls_key, plain=asked.closed_network
        )
    except (OSError, ValueError, server.NotSafe) as why:
        logger.error("%s", why)
        return 2
    _until_told(watch, door)
    return 0


def _until_told(watch: Watch, door: server.Server) -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        watch.ended.set()
        threading.Thread(target=door.shutdown, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    watch.turn()
    found = watch.driver
    if found:
        logger.info("%s: driver %s, %s GPUs", socket.gethostname(), found.version, len(found.cards))
    else:
        logger.warning("%s: no driver (%s): all but GPUs is served", socket.gethostname(), watch.missing)
    threading.Thread(target=watch.run, daemon=True).start()
    door.serve_forever(poll_interval=0.5)
    door.server_close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bancada-node-agent", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; TLS is needed off loopback")
    parser.add_argument("--port", type=int, default=9445)
    parser.add_argument("--token-file", type=Path, required=True, help="file with the token Prometheus sends")
    parser.add_argument("--tls-cert", type=Path, help="certificate (PEM)")
    parser.add_argument("--tls-key", type=Path, help="its key (PEM)")
    parser.add_argument("--closed-network", action="store_true", help="plain HTTP off loopback: nobody else is there")
    parser.add_argument("--spool", type=Path, help="slurmd's SlurmdSpoolDir of this node")
    parser.add_argument("--node", default="", help="the node's name in Slurm, where several slurmd share a machine")
    parser.add_argument("--job-mapping-dir", type=Path, help="folder where the prolog writes the jobs of each GPU")
    return parser


if __name__ == "__main__":
    sys.exit(main())
