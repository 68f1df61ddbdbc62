"""The files' door: root and single-threaded, reads one ticket a connection and lets a child become its person.

All that root itself hears is the ticket, one packet of bounded length from one of two known uids. What is then asked
about files is parsed and done by the child, after it has lost root for good.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from files.session import serve
from files.tickets import MAX_TEXT, BadTicket, Ticket, verify
from files.wire import REFUSAL, TICKET, Channel, pack
from logs.keys import BadKey, KeyFolder
from logs.sockets import SocketTaken, listening, peer_uid

MAX_CHILDREN = 96
MAX_CHILDREN_OF_ONE = 12  # a person with a hung file system must not use up everybody's
MAX_WAITING = 128  # connections that have not yet sent their ticket
PATIENCE = 2.0  # seconds a connection may take to send it
SILENCE = 60.0  # seconds after which a child gives up a connection on which nothing moves


@dataclasses.dataclass(slots=True)
class _Waiting:
    connection: socket.socket
    until: float


@dataclasses.dataclass(slots=True)
class _Child:
    pid: int
    handle: int  # pidfd: readable when the child has ended
    uid: int


class Opener:
    """The loop: connections that have not shown their ticket yet, and children."""

    def __init__(self, server: socket.socket, keys: KeyFolder, *, allow_uids: frozenset[int], silence: float) -> None:
        self._server, self._keys, self._allow_uids, self._silence = server, keys, allow_uids, silence
        self._waiting: dict[int, _Waiting] = {}
        self._children: dict[int, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._ending = False

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; children still at work are killed then."""
        self._prepare()
        while not self._ending:
            for key, _ in self._selector.select(self._patience()):
                self._act(key.data)
            self._expire(time.monotonic())
        for child in self._children.values():
            os.kill(child.pid, signal.SIGKILL)

    def _prepare(self) -> None:
        for end in (self._server, self._wake, self._woken):
            end.setblocking(False)
        self._selector.register(self._server, selectors.EVENT_READ, self._server)
        self._selector.register(self._woken, selectors.EVENT_READ, self._woken)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        gc.collect()
        gc.freeze()  # children touch no page only to count what lives on it

    def _end(self, *_: Any) -> None:
        self._ending = True

    def _act(self, what: Any) -> None:
        if what is self._server:
            self._accept()
        elif isinstance(what, _Waiting):
            self._hear(what)
        elif isinstance(what, _Child):
            self._reap(what)
        else:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(64)

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:  # gone again, or out of descriptors: the next one may fare better
            return
        if peer_uid(connection) not in self._allow_uids or len(self._waiting) >= MAX_WAITING:
            connection.close()
            return
        connection.setblocking(False)
        waiting = _Waiting(connection, time.monotonic() + PATIENCE)
        self._waiting[connection.fileno()] = waiting
        self._selector.register(connection, selectors.EVENT_READ, waiting)

    def _hear(self, waiting: _Waiting) -> None:
        self._forget(waiting)
        with waiting.connection as connection:  # the child has its own copy
            try:
                packet = connection.recv(MAX_TEXT + 2)
                if packet[:1] != TICKET or not packet.isascii():
                    raise BadTicket("not a ticket")
                ticket = verify(packet[1:].decode("ascii"), self._keys.current(), time.time())
            except (OSError, BadTicket, BadKey):
                _refuse(connection, "bad-ticket")
                return
            self._start(ticket, connection)

    def _start(self, ticket: Ticket, connection: socket.socket) -> None:
        same = sum(child.uid == ticket.uid for child in self._children.values())
        if len(self._children) >= MAX_CHILDREN or same >= MAX_CHILDREN_OF_ONE:
            _refuse(connection, "busy")
            return
        try:
            pid = os.fork()
        except OSError:  # no process or memory to be had just now
            _refuse(connection, "busy")
            return
        if pid == 0:
            self._be_child(ticket, connection)
        try:
            child = _Child(pid, os.pidfd_open(pid), ticket.uid)
        except OSError:  # no descriptor to be had: its end would not be seen
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            _refuse(connection, "busy")
            return
        self._children[pid] = child
        self._selector.register(child.handle, selectors.EVENT_READ, child)

    def _be_child(self, ticket: Ticket, connection: socket.socket) -> NoReturn:
        """Hold nothing but one connection, become the person, answer, end; the parent's loop is never re-entered."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, connection.fileno())
            os.closerange(connection.fileno() + 1, 4096)
            with contextlib.suppress(Exception):  # the other end sees the connection end, and nobody a traceback
                serve(Channel(connection, patience=self._silence), ticket)
            os._exit(0)
        finally:
            os._exit(1)

    def _reap(self, child: _Child) -> None:
        os.waitpid(child.pid, 0)
        self._selector.unregister(child.handle)
        os.close(child.handle)
        del self._children[child.pid]

    def _expire(self, now: float) -> None:
        for waiting in [one for one in self._waiting.values() if one.until < now]:
            self._forget(waiting)
            waiting.connection.close()

    def _patience(self) -> float | None:
        """Seconds until the next deadline; None where there is none to keep."""
        ends = [one.until for one in self._waiting.values()]
        return max(0.0, min(ends) - time.monotonic()) + 0.01 if ends else None

    def _forget(self, waiting: _Waiting) -> None:
        self._selector.unregister(waiting.connection)
        del self._waiting[waiting.connection.fileno()]


def _refuse(connection: socket.socket, word: str) -> None:
    with contextlib.suppress(OSError):
        connection.send(REFUSAL + pack({"answer": word}))


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and serve; the exit status is 2 where it cannot start."""
    options = _parser().parse_args(arguments)
    if os.geteuid() != 0:
        print("the files' opener must start as root: it becomes each person", file=sys.stderr)  # noqa: T201
        return 2
    keys = KeyFolder(options.keys)
    try:
        keys.current()
        with listening(
            options.socket, socket.SOCK_SEQPACKET, mode=options.socket_mode, uid=options.socket_owner
        ) as server:
            Opener(server, keys, allow_uids=frozenset(options.allow_uid), silence=options.silence).run()
    except (OSError, BadKey, SocketTaken) as error:
        print(f"the files' opener cannot run: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m files.opener", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket (seqpacket) to listen on")
    parser.add_argument("--keys", type=Path, required=True, help="folder of public keys (*.pem) that sign tickets")
    parser.add_argument("--allow-uid", type=int, required=True, action="append", help="a uid that is answered: web's")
    parser.add_argument("--socket-owner", type=int, default=-1, help="uid that owns the socket file (web's)")
    parser.add_argument("--socket-mode", type=lambda text: int(text, 8), default=0o600, help="octal, 600 unless given")
    parser.add_argument("--silence", type=float, default=SILENCE, help="seconds a silent connection is kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
