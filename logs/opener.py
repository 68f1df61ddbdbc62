"""The log opener: root, single-threaded, one fixed message; verifies a ticket and lets a child open it as its owner.

Every component of the path is opened without following links, so a site whose project folders lie behind a link
gives the resolved path (the accepted record's) to Slurm. Nothing is logged but start, end and what stops it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from logs.asking import MAX_REQUEST, BadRequest, decode_request
from logs.keys import BadKey, KeyFolder
from logs.owner import Refusal, open_as_owner
from logs.sockets import SocketTaken, listening, peer_uid
from logs.tickets import BadTicket, Ticket, verify

MAX_CHILDREN = 64
MAX_CHILDREN_OF_ONE = 8  # one owner with a hung file system must not use up everybody's
MAX_WAITING = 256  # connections that have not yet sent their message
PATIENCE = 2.0  # seconds a connection may take to send it


@dataclasses.dataclass(slots=True)
class _Waiting:
    connection: socket.socket
    until: float


@dataclasses.dataclass(slots=True)
class _Child:
    pid: int
    handle: int  # pidfd: readable when the child has ended
    uid: int
    connection: socket.socket
    until: float
    overdue: bool = False


class Opener:
    """The loop: connections that have not spoken yet, children that have not answered yet, and their deadlines."""

    def __init__(self, server: socket.socket, keys: KeyFolder, *, allow_uid: int, deadline: float) -> None:
        self._server, self._keys = server, keys
        self._allow_uid, self._deadline = allow_uid, deadline
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
        for child in list(self._children.values()):
            os.kill(child.pid, signal.SIGKILL)

    def _prepare(self) -> None:
        for end in (self._server, self._wake, self._woken):
            end.setblocking(False)
        self._selector.register(self._server, selectors.EVENT_READ, self._server)
        self._selector.register(self._woken, selectors.EVENT_READ, self._woken)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)

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
        if peer_uid(connection) != self._allow_uid or len(self._waiting) >= MAX_WAITING:
            connection.close()
            return
        connection.setblocking(False)
        waiting = _Waiting(connection, time.monotonic() + PATIENCE)
        self._waiting[connection.fileno()] = waiting
        self._selector.register(connection, selectors.EVENT_READ, waiting)

    def _hear(self, waiting: _Waiting) -> None:
        self._forget(waiting)
        try:
            packet = waiting.connection.recv(MAX_REQUEST + 1)
            stream, text = decode_request(packet)
            ticket = verify(text, self._keys.current(), time.time())
        except (OSError, BadRequest, BadTicket, BadKey):
            _answer(waiting.connection, "bad-ticket")
            return
        if ticket.path(stream):
            self._start(ticket, stream, waiting.connection)
        else:
            _answer(waiting.connection, "missing")  # joined with the other stream: there is no such file

    def _start(self, ticket: Ticket, stream: str, connection: socket.socket) -> None:
        same = sum(child.uid == ticket.uid for child in self._children.values())
        if len(self._children) >= MAX_CHILDREN or same >= MAX_CHILDREN_OF_ONE:
            _answer(connection, "busy")
            return
        try:
            pid = os.fork()
        except OSError:  # no process or memory to be had just now
            _answer(connection, "busy")
            return
        if pid == 0:
            self._be_child(ticket, stream, connection)
        until = time.monotonic() + self._deadline
        try:
            child = _Child(pid, os.pidfd_open(pid), ticket.uid, connection, until)
        except OSError:  # no descriptor to be had: its end would not be seen
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            _answer(connection, "busy")
            return
        self._children[pid] = child
        self._selector.register(child.handle, selectors.EVENT_READ, child)

    def _be_child(self, ticket: Ticket, stream: str, connection: socket.socket) -> NoReturn:
        """Hold nothing but one connection, become the owner, answer, end; the parent's loop is never re-entered."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, connection.fileno())
            os.closerange(connection.fileno() + 1, 4096)
            _open_and_answer(ticket, stream, connection)
            os._exit(0)
        finally:
            os._exit(1)

    def _reap(self, child: _Child) -> None:
        _, status = os.waitpid(child.pid, 0)
        self._selector.unregister(child.handle)
        os.close(child.handle)
        del self._children[child.pid]
        if not child.overdue:
            _answer(child.connection, "failed" if status else "")

    def _expire(self, now: float) -> None:
        for waiting in [one for one in self._waiting.values() if one.until < now]:
            self._forget(waiting)
            waiting.connection.close()
        for child in self._children.values():
            if child.until < now and not child.overdue:
                child.overdue = True  # it may take the kernel a while to end it: it counts until then
                os.kill(child.pid, signal.SIGKILL)
                _answer(child.connection, "failed")

    def _patience(self) -> float | None:
        """Seconds until the next deadline; None where there is none to keep."""
        ends = [one.until for one in self._waiting.values()]
        ends += [one.until for one in self._children.values() if not one.overdue]
        return max(0.0, min(ends) - time.monotonic()) + 0.01 if ends else None

    def _forget(self, waiting: _Waiting) -> None:
        self._selector.unregister(waiting.connection)
        del self._waiting[waiting.connection.fileno()]


def _open_and_answer(ticket: Ticket, stream: str, connection: socket.socket) -> None:
    try:
        descriptor = open_as_owner(ticket, stream)
    except Refusal as refusal:
        connection.send(refusal.answer.encode())
    else:
        socket.send_fds(connection, [b"ok"], [descriptor])


def _answer(connection: socket.socket, word: str) -> None:
    """Send a word, unless the child has already, and hang up."""
    with connection, contextlib.suppress(OSError):
        if word:
            connection.send(word.encode())


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and serve; the exit status is 2 where it cannot start."""
    options = _parser().parse_args(arguments)
    if os.geteuid() != 0:
        print("the log opener must start as root: it becomes each job's owner", file=sys.stderr)  # noqa: T201
        return 2
    _warn_of_hard_links()
    keys = KeyFolder(options.keys)
    try:
        keys.current()
        with listening(
            options.socket, socket.SOCK_SEQPACKET, mode=options.socket_mode, uid=options.socket_owner
        ) as server:
            Opener(server, keys, allow_uid=options.allow_uid, deadline=options.deadline).run()
    except (OSError, BadKey, SocketTaken) as error:
        print(f"the log opener cannot run: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _warn_of_hard_links() -> None:
    """The owner's check refuses a hard link to a stranger's file; the kernel should not let one be made at all."""
    setting = Path("/proc/sys/fs/protected_hardlinks")
    if setting.exists() and setting.read_text().strip() == "0":
        print("the log opener advises: sysctl fs.protected_hardlinks=1", file=sys.stderr)  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m logs.opener", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket (seqpacket) to listen on")
    parser.add_argument("--keys", type=Path, required=True, help="folder of public keys (*.pem) that sign tickets")
    parser.add_argument("--allow-uid", type=int, required=True, help="the log reader's uid, the only one answered")
    parser.add_argument("--socket-owner", type=int, default=-1, help="uid that owns the socket file (the reader's)")
    parser.add_argument("--socket-mode", type=lambda text: int(text, 8), default=0o600, help="octal, 600 unless given")
    parser.add_argument("--deadline", type=float, default=3.0, help="seconds one file may take to open")
    return parser


if __name__ == "__main__":
    sys.exit(main())
