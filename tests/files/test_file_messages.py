"""Tickets and packets from anybody: parsed strictly, never by luck."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from files import wire
from files.answers import Refused
from files.client import Door, DoorDown
from files.names import BadName, check_new, is_plain, parts, shown
from files.tickets import BadTicket, Ticket, peek, sign, verify
from logs import tickets as log_tickets
from logs.keys import key_id
from tests.files.door import Place

KEY = Ed25519PrivateKey.generate()
KEYS = {key_id(KEY): KEY.public_key()}
NOW = 1_800_000_000
GOOD = Ticket("bench", "ipe", 20011, "ana-t", "/srv/projects/ipe", "rw", NOW + 600, key_id(KEY))


def changed(**fields: object) -> Ticket:
    return dataclasses.replace(GOOD, **fields)


def test_what_was_signed_comes_back() -> None:
    text = sign(GOOD, KEY)
    assert verify(text, KEYS, NOW) == peek(text) == GOOD
    assert GOOD.may_write
    assert not changed(rights="r").may_write


@pytest.mark.parametrize(
    "fields",
    [{"uid": 0}, {"uid": 999}, {"uid": 65534}, {"uid": 2**32 - 1}, {"uid": True}, {"user": "root;"}, {"user": "1000"},
     {"root": "/"}, {"root": "/srv"}, {"root": "srv/x"}, {"root": "/srv/../etc"}, {"root": "/srv/x/"}, {"root": "/srv/\nx"},
     {"rights": ""}, {"rights": "w"}, {"rights": "rwx"}, {"project": "../x"}, {"not_after": 0}, {"not_after": 1.5},
     {"cluster": ""}],
)  # fmt: skip
def test_a_ticket_nobody_may_carry_is_not_signed(fields: dict[str, object]) -> None:
    with pytest.raises(BadTicket):
        sign(changed(**fields), KEY)


def test_one_for_longer_than_an_hour_and_one_past_its_time_do_not_count() -> None:
    for end in (NOW - 1, NOW + 3601):
        with pytest.raises(BadTicket):
            verify(sign(changed(not_after=end), KEY), KEYS, NOW)


def test_a_log_ticket_is_no_file_ticket_nor_the_other_way_round() -> None:
    log = log_tickets.Ticket("bench", 7, NOW, 20011, "ana-t", "/srv/x/out", "", 0, NOW + 600, key_id(KEY))
    for text, take in ((log_tickets.sign(log, KEY), verify), (sign(GOOD, KEY), log_tickets.verify)):
        for version in ("bft1", "blt1"):
            with pytest.raises(BadTicket):
                take(version + text[4:], KEYS, NOW)


@given(st.integers(min_value=0), st.sampled_from("ABCxyz019-_."))
def test_any_changed_character_is_refused(place_: int, sign_: str) -> None:
    text = sign(GOOD, KEY)
    at = place_ % len(text)
    if text[at] == sign_:
        return
    with pytest.raises(BadTicket):
        verify(text[:at] + sign_ + text[at + 1 :], KEYS, NOW)


@given(
    st.one_of(st.text(), st.from_regex(r"bft1\.[0-9a-f]{16}\.[A-Za-z0-9_-]{0,80}\.[A-Za-z0-9_-]{0,90}", fullmatch=True))
)
def test_noise_is_no_ticket(text: str) -> None:
    with pytest.raises(BadTicket):
        verify(text, KEYS, NOW)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
fields = st.dictionaries(st.sampled_from(["op", "path", "id", "size", "offset", "limit", "order", "to", "digest", "whole"]),
                         st.sampled_from(["list", "read", "piece"]) | json_values)  # fmt: skip


@given(
    st.binary(max_size=200)
    | json_values.map(lambda value: json.dumps(value).encode())
    | fields.map(lambda f: json.dumps(f).encode())
)
def test_a_question_is_one_of_ours_or_none(body: bytes) -> None:
    try:
        operation, asked = wire.question(body)
    except wire.BadPacket:
        return
    assert asked.keys() == wire.QUESTIONS[operation].keys()


@pytest.mark.parametrize(
    "more",
    [{"path": 1}, {"offset": -1}, {"offset": True}, {"limit": 2**63}, {"order": "up"}, {"extra": 1}, {"limit": "9"}],
)
def test_a_question_with_a_field_of_another_kind_is_refused(more: dict[str, object]) -> None:
    good = {"op": "list", "path": "", "offset": 0, "limit": 1, "order": "name"}
    assert wire.question(wire.pack(good))[0] == "list"
    with pytest.raises(wire.BadPacket):
        wire.question(wire.pack(good | more))


@given(st.text(max_size=40) | st.binary(max_size=40).map(os.fsdecode))
def test_a_path_is_beneath_or_refused_and_what_is_shown_can_be_seen(path: str) -> None:
    try:
        found = parts(path)
    except BadName:
        found = []
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in found)
    assert is_plain(shown(path))
    try:
        check_new(path)
    except BadName:
        return
    assert is_plain(parts(path)[-1])


@settings(max_examples=60)
@given(packets=st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=3))
def test_noise_instead_of_a_ticket_is_refused_and_does_no_harm(house: Place, packets: list[bytes]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(5)
        link.connect(str(house.socket))
        with contextlib.suppress(OSError):
            for packet in packets:
                link.send(packet)
        with contextlib.suppress(ConnectionResetError):  # it may hang up with further noise unread
            assert link.recv(200) == b'x{"answer":"bad-ticket"}'


@settings(max_examples=60)
@given(
    kind=st.sampled_from([b"q", b"d", b"e", b"t", b"z"]),
    body=st.binary(max_size=200) | fields.map(lambda f: json.dumps(f).encode()),
)
def test_noise_after_the_ticket_reaches_only_the_persons_own_child(house: Place, kind: bytes, body: bytes) -> None:
    with house.door() as door:
        door._channel.send(kind, body)
        try:
            word, _ = door._channel.receive()
            assert word in (b"x", b"a")
        except (wire.Gone, wire.BadPacket):
            pass
    with house.door() as again:
        again.folder("")


def test_who_says_nothing_is_hung_up_on(house: Place) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(30)
        link.connect(str(house.socket))
        started = time.monotonic()
        assert link.recv(10) == b""
        assert 1.5 < time.monotonic() - started < 30


def test_a_door_that_is_not_there_is_down(house: Place) -> None:
    with pytest.raises(DoorDown):
        Door(house.folder / "nowhere.sock", "x")
    with pytest.raises(Refused):
        Door(house.socket, "x")
