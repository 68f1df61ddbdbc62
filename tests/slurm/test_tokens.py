"""The signer's client: what it keeps, for how long, and how it reads as whom it may."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import time_machine

from slurm.contract import Refused, Unreachable
from slurm.tokens import SignerTokens, Token

NOW = 1_796_000_000


class Counting(SignerTokens):
    """Answers as the signer would to a peer that may ask for these kinds; keeps the questions."""

    def __init__(self, *kinds: str) -> None:
        super().__init__("/nowhere")
        self.kinds, self.asked = kinds, []

    def _exchange(self, line: bytes) -> dict[str, object]:
        question = json.loads(line)
        self.asked.append(question)
        if question["kind"] not in self.kinds:
            return {"error": "not yours to ask for"}
        name = question.get("name") or {"admin": "bancada", "read": "bancada-read"}[question["kind"]]
        import time

        return {"name": name, "expires": int(time.time()) + 60, "token": f"t{len(self.asked)}"}


def test_kept_until_fifteen_seconds_before_the_end() -> None:
    tokens = Counting("user")
    with time_machine.travel(NOW, tick=False) as clock:
        first = tokens.of("ana")
        clock.shift(44)
        assert tokens.of("ana") is first and len(tokens.asked) == 1
        clock.shift(2)
        assert tokens.of("ana") is not first and len(tokens.asked) == 2


def test_each_person_has_their_own() -> None:
    tokens = Counting("user")
    assert tokens.of("ana").text != tokens.of("bruno").text
    assert tokens.of("ana").name == "ana"


def test_what_ran_out_is_not_kept() -> None:
    tokens = Counting("user")
    with time_machine.travel(NOW, tick=False) as clock:
        for number in range(100):
            tokens.of(f"user{number}")
        clock.shift(60)
        tokens.of("ana")
        assert len(tokens._kept) == 1


def test_the_follower_reads_as_the_reader() -> None:
    tokens = Counting("read")
    assert tokens.reading().name == "bancada-read"
    for refused in (tokens.admin, lambda: tokens.of("ana")):
        with pytest.raises(Refused):
            refused()


def test_the_worker_reads_as_the_administrator_and_remembers_it() -> None:
    tokens = Counting("user", "admin")
    assert tokens.reading().name == tokens.reading().name == "bancada"
    assert [question["kind"] for question in tokens.asked] == ["read", "admin"]


def test_who_may_neither_is_refused() -> None:
    with pytest.raises(Refused):
        Counting("user").reading()


def test_a_token_never_shows_itself() -> None:
    assert "secret" not in repr(Token("ana", NOW, "secret"))


@pytest.fixture(
    params=[b"", b"garbage\n", b"[]\n", b"{}\n", b'{"token": 1}\n', b'{"name": "a", "expires": "x", "token": "t"}\n']
)
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen()

        def answer() -> None:
            client, _ = door.accept()
            client.recv(9999)
            client.sendall(request.param)
            client.close()

        thread = threading.Thread(target=answer)
        thread.start()
        yield path
        thread.join(5)


def test_a_broken_signer_is_no_signer(broken: Path) -> None:
    with pytest.raises(Unreachable):
        SignerTokens(broken).admin()
