"""Pieces of uploads larger than what the portal holds of a request: on their own route alone, to their own bound."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from storage.services.changing import PIECE
from tests.api import issue
from tests.storage.conftest import Room

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))

from bancada.files import FIRST, next_step

UPLOADS = "/api/v1/projects/ipe/files/uploads"
HELD = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
ID = "ab" * 16


class Caller:
    """ANA with a token."""

    def __init__(self, room: Room) -> None:
        self._client, self._bearer = Client(), {"Authorization": f"Bearer {issue(room.ana)}"}

    def send(self, method: str, path: str, body: object, **more: str) -> tuple[int, dict[str, object]]:
        """Status and JSON; bytes go as they are."""
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        answer = self._client.generic(
            method, path, body if isinstance(body, bytes) else str(body), kind, headers=self._bearer, **more
        )
        return answer.status_code, answer.json()


def test_a_piece_larger_than_what_is_held_passes_through(room: Room) -> None:
    caller, data = Caller(room), os.urandom(HELD + 1_000_001)
    digest = hashlib.sha256(data).hexdigest()
    about = f'{{"path": "big", "size": {len(data)}}}'
    status, begun = caller.send("POST", UPLOADS, about)
    assert (status, begun["piece"]) == (201, PIECE)
    upload = f"{UPLOADS}/{begun['id']}"
    status, at = caller.send("PUT", f"{upload}?path=big&offset=0&digest={digest}", data)
    assert (status, at["offset"]) == (200, len(data))
    assert caller.send("POST", f"{upload}/finish", about)[1]["digest"] == digest
    assert (room.folder / "big").read_bytes() == data


def test_one_larger_than_a_piece_may_be_is_not_read(room: Room) -> None:
    status, told = Caller(room).send("PUT", f"{UPLOADS}/{ID}?path=x&offset=0", b"x", CONTENT_LENGTH=str(PIECE + 1))
    assert status == 413 and "64 MB" in str(told["detail"])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", UPLOADS), ("POST", f"{UPLOADS}/{ID}"), ("PUT", f"{UPLOADS}/{ID}/finish"), ("POST", f"{UPLOADS}/{ID}/finish"),
        ("PUT", f"{UPLOADS}/{ID}0"), ("PUT", f"{UPLOADS}/{ID.upper()}"), ("PUT", UPLOADS), ("PUT", "/api/v1/dictionary"),
        ("PUT", "/api/v1/projects/a/b/files/uploads/" + ID), ("POST", "/api/v1/jobs"),
    ],
)  # fmt: skip
def test_every_other_route_keeps_its_bound(room: Room, method: str, path: str) -> None:
    status, told = Caller(room).send(method, path, b"x", CONTENT_LENGTH=str(HELD + 1))
    assert status == 413 and "6 MB" in str(told["detail"])


def test_pieces_grow_on_a_swift_line_and_shrink_on_a_slow_one() -> None:
    sizes = [FIRST]
    while sizes[-1] < PIECE:
        sizes.append(next_step(sizes[-1], PIECE, took=0.3))
    assert (len(sizes), sizes[-1], next_step(PIECE, PIECE, took=0.3)) == (4, PIECE, PIECE)
    assert next_step(PIECE, PIECE, took=4) == PIECE
    assert next_step(PIECE, PIECE, took=20) == PIECE // 2
    assert next_step(FIRST, PIECE, took=20) == FIRST
    assert next_step(1_000, 1_000, took=20) == 1_000
