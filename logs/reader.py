"""The log reader: an unprivileged HTTP server on a Unix socket that serves bytes of descriptors it is handed."""

from __future__ import annotations

import argparse
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from logs.app import Application
from logs.entries import MAX_FILES, Entries
from logs.sockets import SocketTaken, listening

SWITCH = 0.0005  # seconds a thread may hold the interpreter while another wants it; 5 ms would be felt in every line


class Server(uvicorn.Server):
    """uvicorn, made to tell the application first when it must end."""

    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End long polls and followers, then everything."""
        self._application.close()
        await super().shutdown(sockets)


def serve(listener: socket.socket, make_house: Callable[[], Entries]) -> None:
    """Serve until SIGTERM or SIGINT."""
    application = Application(make_house)
    config = uvicorn.Config(
        application,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
        backlog=512,
    )
    server = Server(config, application)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)  # before uvicorn's loop runs, and once more when it has ended
    server.run([listener])


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and serve; the exit status is 2 where it cannot start."""
    options = _parser().parse_args(arguments)
    if os.geteuid() == 0:
        print("the log reader must not run as root: give it a uid of its own", file=sys.stderr)  # noqa: T201
        return 2
    logging.disable(logging.CRITICAL)  # requests carry tickets: nothing about them is written down
    sys.setswitchinterval(SWITCH)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    try:
        with listening(
            options.socket, socket.SOCK_STREAM, mode=options.socket_mode, gid=options.socket_group
        ) as listener:
            serve(listener, lambda: Entries(options.opener, deadline=options.deadline, max_files=options.max_files))
    except (OSError, SocketTaken) as error:
        print(f"the log reader cannot run: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m logs.reader", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket to serve HTTP on")
    parser.add_argument("--opener", type=Path, required=True, help="the log opener's Unix socket")
    parser.add_argument("--socket-group", type=int, default=-1, help="gid whose members may connect")
    parser.add_argument("--socket-mode", type=lambda text: int(text, 8), default=0o660, help="octal, 660 unless given")
    parser.add_argument("--deadline", type=float, default=5.0, help="seconds one call on a file may take")
    parser.add_argument("--max-files", type=int, default=MAX_FILES, help="files held open at most")
    return parser


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # a thread that hangs in a dead file system must not keep the process
