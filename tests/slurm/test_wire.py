"""HTTP over a Unix socket, against a server that drops, stalls, restarts and remembers who asked."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slurm.contract import Unanswered, Unreachable
from slurm.tokens import Token
from slurm.wire import MOST_SESSIONS, Wire
from tests.clock import within

Handle = Callable[[socket.socket, bytes], bool]


def good(door: socket.socket, head: bytes) -> bool:
    """Answer with the asker's name, keep the connection."""
    name = head.split(b"X-SLURM-USER-NAME: ", 1)[-1].split(b"\r\n", 1)[0].decode()
    body = json.dumps({"you": name, "job_id": 7}).encode()
    door.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return True


class Server:
    """One thread a connection; `handle` says what happens to a request, `seen` counts them."""

    def __init__(self, path: Path, handle: Handle) -> None:
        self.path, self.handle, self.seen, self.connections = path, handle, 0, 0
        self.open: list[socket.socket] = []
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(path))
        self.door.listen(64)
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.door.accept()
                self.connections += 1
                self.open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            while head := self._request(client):
                self.seen += 1
                if not self.handle(client, head):
                    return

    @staticmethod
    def _request(client: socket.socket) -> bytes:
        got = b""
        while b"\r\n\r\n" not in got:
            chunk = client.recv(65536)
            if not chunk:
                return b""
            got += chunk
        return got

    def close(self) -> None:
        """The thread goes first: it could still accept by the number of a socket that is somebody else's by then."""
        with contextlib.suppress(OSError):
            self.door.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.door.close()
        for client in self.open:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self.path.unlink(missing_ok=True)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "rest.sock", good)
    yield running
    running.close()


def token(name: str = "ana") -> Token:
    return Token(name, time.time() + 60, "secret")


def test_one_connection_is_kept(server: Server) -> None:
    wire, mine = Wire(server.path, deadline=5), token()
    for _ in range(5):
        assert wire.get("/x", mine)["you"] == "ana"
    assert (server.connections, server.seen) == (1, 5)


def test_each_person_has_connections_of_their_own(server: Server) -> None:
    """Nobody's request travels on a connection that carried somebody else's token."""
    wire, ana, bruno = Wire(server.path, deadline=5), token("ana"), token("bruno")
    for _ in range(3):
        assert (wire.get("/x", ana)["you"], wire.get("/x", bruno)["you"]) == ("ana", "bruno")
    assert server.connections == 2


def test_a_new_token_means_a_new_connection(server: Server) -> None:
    wire = Wire(server.path, deadline=5)
    wire.get("/x", token())
    wire.get("/x", token())
    assert server.connections == 2 and len(wire._sessions) == 1


def test_the_number_of_clients_is_bounded(server: Server) -> None:
    wire = Wire(server.path, deadline=5)
    for number in range(MOST_SESSIONS + 20):
        wire.get("/x", token(f"user{number}"))
    assert len(wire._sessions) == MOST_SESSIONS
    wire.get("/x", token("user1"))


def test_many_threads(server: Server) -> None:
    wire, tokens, wrong = Wire(server.path, deadline=10), [token(f"u{n}") for n in range(MOST_SESSIONS + 8)], []

    def ask() -> None:
        for one in tokens:
            if wire.get("/x", one)["you"] != one.name:
                wrong.append(one.name)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and len(wire._sessions) == MOST_SESSIONS


def test_no_socket_or_nobody_behind_it(tmp_path: Path, server: Server) -> None:
    with pytest.raises(Unreachable):
        Wire(tmp_path / "nothing.sock", deadline=1).post("/x", token(), {})
    wire = Wire(server.path, deadline=1)
    server.close()
    with pytest.raises(Unreachable):
        wire.post("/x", token(), {})
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "dead.sock"))
    dead.close()
    with pytest.raises(Unreachable):
        Wire(tmp_path / "dead.sock", deadline=1).post("/x", token(), {})


def hang(door: socket.socket, head: bytes) -> bool:
    time.sleep(3)
    return False


def cut(door: socket.socket, head: bytes) -> bool:
    return False


def half(door: socket.socket, head: bytes) -> bool:
    door.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"job_id": 7')
    return False


def noise(door: socket.socket, head: bytes) -> bool:
    door.sendall(b"\x00\x01\x02 hello\r\n\r\n")
    return False


@pytest.mark.parametrize("handle", [hang, cut, half, noise])
def test_sent_and_not_answered(server: Server, handle: Handle) -> None:
    server.handle = handle
    with pytest.raises(Unanswered):
        Wire(server.path, deadline=0.5).post("/x", token(), {"a": 1})
    assert server.seen == 1


def test_the_deadline_holds(server: Server) -> None:
    server.handle = hang

    def ask() -> None:
        with pytest.raises(Unanswered):
            Wire(server.path, deadline=0.3).get("/x", token())

    within(2, ask)


def test_a_restarted_server_is_found_again(server: Server) -> None:
    wire, mine = Wire(server.path, deadline=5), token()
    wire.get("/x", mine)
    server.close()
    with pytest.raises(Unreachable):
        wire.get("/x", mine)
    again = Server(server.path, good)
    assert wire.get("/x", mine)["you"] == "ana" and wire.post("/x", mine, {})["job_id"] == 7
    again.close()


def test_an_answer_without_json(server: Server) -> None:
    def unauthorised(door: socket.socket, head: bytes) -> bool:
        door.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 22\r\n\r\nAuthentication failure")
        return False

    server.handle = unauthorised
    with pytest.raises(Unreachable, match="Authentication failure"):
        Wire(server.path, deadline=1).get("/x", token())
    assert Wire(server.path, deadline=1).status("/x", token()) == 401
