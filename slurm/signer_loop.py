"""The signer's one loop: many slow or hostile clients, one line each, nothing that can make it stop."""

from __future__ import annotations

import contextlib
import dataclasses
import selectors
import signal
import socket
import struct
import time
from collections.abc import Callable, Container
from pathlib import Path

MOST_BYTES = 1024  # of a question
MOST_CLIENTS = 64
PATIENCE = 3.0  # seconds a client has, from first byte to last
Answer = Callable[[int, bytes], bytes]


@dataclasses.dataclass(slots=True)
class Client:
    """One connection: `uid` is the kernel's word for who is at its other end."""

    door: socket.socket
    uid: int
    until: float
    got: bytes = b""
    owed: bytes = b""


def serve(path: str, answer: Answer, *, known: Container[int]) -> None:
    """Listen until SIGTERM or SIGINT. Peers whose uid is not `known` are closed before a byte is read."""
    loop = Loop(listen(path), answer, known)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: loop.stop())
    loop.run()
    Path(path).unlink(missing_ok=True)


def listen(path: str) -> socket.socket:
    Path(path).unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(path)
    Path(path).chmod(0o666)  # the folder says who may come near, the peer's uid who is answered
    door.listen(socket.SOMAXCONN)  # who finds the queue full is refused at once, not made to wait
    door.setblocking(False)
    return door


class Loop:
    """Selectors, no threads: a client costs a small buffer and at most PATIENCE seconds."""

    def __init__(self, door: socket.socket, answer: Answer, known: Container[int]) -> None:
        self._door, self._answer, self._known = door, answer, known
        self._watch = selectors.DefaultSelector()
        self._clients: dict[int, Client] = {}
        self._going = True

    def run(self) -> None:
        self._watch.register(self._door, selectors.EVENT_READ)
        while self._going:
            self.turn(1.0)
        for client in list(self._clients.values()):
            self._drop(client)
        self._door.close()

    def stop(self) -> None:
        self._going = False

    def turn(self, wait: float) -> None:
        """One round: whoever is ready, then whoever is late."""
        for key, _ in self._watch.select(wait):
            client = self._clients.get(key.fd)
            if client is None:
                self._accept()
                continue
            try:
                self._step(client)
            except OSError:
                self._drop(client)
        now = time.monotonic()
        for client in [client for client in self._clients.values() if client.until < now]:
            self._drop(client)

    def _accept(self) -> None:
        try:
            door, _ = self._door.accept()
        except OSError:
            return
        uid = peer_uid(door)
        if uid not in self._known or len(self._clients) >= MOST_CLIENTS:
            door.close()
            return
        door.setblocking(False)
        self._clients[door.fileno()] = Client(door, uid, time.monotonic() + PATIENCE)
        self._watch.register(door, selectors.EVENT_READ)

    def _step(self, client: Client) -> None:
        if client.owed:
            self._pay(client)
            return
        chunk = client.door.recv(MOST_BYTES)
        client.got += chunk
        line, newline, _ = client.got.partition(b"\n")
        if newline:
            client.owed = self._answer(client.uid, line)
            self._pay(client)
        elif not chunk or len(client.got) >= MOST_BYTES:
            self._drop(client)

    def _pay(self, client: Client) -> None:
        sent = client.door.send(client.owed)
        client.owed = client.owed[sent:]
        if client.owed:
            self._watch.modify(client.door, selectors.EVENT_WRITE)
        else:
            self._drop(client)

    def _drop(self, client: Client) -> None:
        self._clients.pop(client.door.fileno(), None)
        with contextlib.suppress(KeyError, ValueError):
            self._watch.unregister(client.door)
        client.door.close()


def peer_uid(door: socket.socket) -> int:
    """The uid of the process at the other end, as it was when it connected."""
    packed = door.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", packed)[1])
