"""Tickets: what is signed comes back, anything else is refused, whatever its form."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from logs import keys
from logs.tickets import MAX_TEXT, VERSION, BadTicket, Ticket, check_path, peek, sign, verify

KEY = Ed25519PrivateKey.from_private_bytes(b"a key for tests only, 32 bytes..")
KEYS = {keys.key_id(KEY): KEY.public_key()}
NOW = 1_800_000_000
TICKET = Ticket(
    cluster="lab",
    job_id=7,
    submit_time=1_700_000_000,
    uid=20001,
    user="dora",
    stdout="/srv/p/logs/7.out",
    stderr="",
    restart_count=0,
    not_after=NOW + 60,
    key_id=keys.key_id(KEY),
)
parts = st.text(st.characters(codec="utf-8", min_codepoint=32, exclude_characters="/\x7f"), min_size=1, max_size=40)
paths = st.lists(parts.filter(lambda part: part not in (".", "..")), min_size=1, max_size=8).map(
    lambda names: "/" + "/".join(names)
)


def payload(**changes: object) -> bytes:
    """A payload as sign() writes it, with changes sign() would refuse."""
    values = {k: v for k, v in dataclasses.asdict(TICKET).items() if k != "key_id"} | changes
    return json.dumps({k: v for k, v in values.items() if v is not ...}, sort_keys=True, separators=(",", ":")).encode()


def signed(body: bytes, *, key: Ed25519PrivateKey = KEY, name: str = TICKET.key_id, version: str = VERSION) -> str:
    """A correctly signed text around any payload."""
    head = f"{version}.{name}.{_b64(body)}"
    return f"{head}.{_b64(key.sign(head.encode()))}"


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_what_is_signed_comes_back() -> None:
    assert verify(sign(TICKET, KEY), KEYS, NOW) == TICKET
    assert signed(payload()) == sign(TICKET, KEY)


@given(
    stdout=paths,
    stderr=st.one_of(st.just(""), paths),
    job=st.integers(1, 2**32 - 1),
    uid=st.integers(1000, 60000),
    restarts=st.integers(0, 2**16 - 1),
    user=st.from_regex(r"[a-z_][a-z0-9_-]{0,31}", fullmatch=True),
)
@settings(max_examples=150)
def test_any_good_ticket_survives_the_journey(
    stdout: str, stderr: str, job: int, uid: int, restarts: int, user: str
) -> None:
    ticket = dataclasses.replace(
        TICKET, stdout=stdout, stderr=stderr, job_id=job, uid=uid, restart_count=restarts, user=user
    )
    assert verify(sign(ticket, KEY), KEYS, NOW) == ticket


def test_two_longest_paths_fit() -> None:
    longest = "/" + "/".join(["p" * 255] * 15 + ["q" * 254])
    ticket = dataclasses.replace(TICKET, stdout=longest, stderr=longest)
    assert len(sign(ticket, KEY)) <= MAX_TEXT


@pytest.mark.parametrize(
    "changes",
    [
        {"uid": 0},
        {"uid": 999},
        {"uid": 65534},
        {"uid": 2**32 - 1},
        {"uid": 2**32},
        {"uid": -1},
        {"uid": "20001"},
        {"uid": True},
        {"uid": 20001.0},
        {"uid": None},
        {"job_id": 0},
        {"job_id": 2**32},
        {"submit_time": 0},
        {"restart_count": -1},
        {"restart_count": False},
        {"not_after": "never"},
        {"not_after": 2**41},
        {"user": "Dora"},
        {"user": "0"},
        {"user": "dora\n"},
        {"user": ""},
        {"user": "a" * 33},
        {"user": ["dora"]},
        {"cluster": ""},
        {"cluster": "a b"},
        {"cluster": "a" * 65},
        {"stdout": ""},
        {"stdout": "relative"},
        {"stdout": "/a/../b"},
        {"stdout": "/a/./b"},
        {"stdout": "//a"},
        {"stdout": "/a/"},
        {"stdout": "/"},
        {"stdout": "/a\0b"},
        {"stdout": "/a\nb"},
        {"stdout": "/a\x7fb"},
        {"stdout": "/" + "a" * 256},
        {"stdout": "/a" * 2049},
        {"stdout": "/\ud800"},
        {"stderr": "x"},
        {"stderr": None},
        {"extra": 1},
        {"stderr": ...},
        {"user": ...},
        {"key_id": TICKET.key_id},
    ],
    ids=repr,
)
def test_a_signed_ticket_of_another_form_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BadTicket):
        verify(signed(payload(**changes)), KEYS, NOW)


@pytest.mark.parametrize("changes", [{"uid": 0}, {"stdout": "/a/../b"}, {"job_id": True}, {"key_id": "x"}], ids=repr)
def test_signing_refuses_what_would_not_verify(changes: dict[str, object]) -> None:
    with pytest.raises(BadTicket):
        sign(dataclasses.replace(TICKET, **changes), KEY)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"{",
        b"\xff",
        b"[" * 50_000,
        payload() + b" ",
        payload().replace(b'":', b'": '),
        payload().replace(b'"job_id":7', b'"job_id":7,"job_id":7'),
        payload().replace(b'"lab"', b'"\\u006cab"'),
        payload().replace(b'"job_id":7', b'"job_id":7e0'),
        payload().replace(b'"job_id":7', b'"job_id":NaN'),
    ],
    ids=lambda body: repr(body[:40]),
)
def test_signed_bytes_that_are_not_the_canonical_payload_are_refused(body: bytes) -> None:
    with pytest.raises(BadTicket):
        verify(signed(body), KEYS, NOW)


def test_a_strangers_key_another_version_and_a_late_hour_are_refused() -> None:
    stranger = Ed25519PrivateKey.generate()
    for text, now in (
        (signed(payload(), key=stranger), NOW),
        (signed(payload(), key=stranger, name=keys.key_id(stranger)), NOW),
        (signed(payload(), version="blt2"), NOW),
        (sign(TICKET, KEY), NOW + 61),
    ):
        with pytest.raises(BadTicket):
            verify(text, KEYS, now)
    assert verify(sign(TICKET, KEY), KEYS, NOW + 60) == TICKET


@given(st.text(max_size=400) | st.binary(max_size=300).map(lambda raw: f"{VERSION}.{TICKET.key_id}.{_b64(raw)}.AA"))
@settings(max_examples=1000)
def test_noise_is_refused_and_nothing_else(text: str) -> None:
    with pytest.raises(BadTicket):
        verify(text, KEYS, NOW)
    with pytest.raises(BadTicket):
        peek(text)


@given(st.data())
@settings(max_examples=1000)
def test_any_changed_character_is_refused(data: st.DataObject) -> None:
    text = sign(TICKET, KEY)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda char: char != text[at]))
    change = data.draw(st.sampled_from([text[:at] + other + text[at + 1 :], text[:at] + text[at + 1 :], text + other]))
    with pytest.raises(BadTicket):
        verify(change, KEYS, NOW)


@given(st.text(max_size=60))
@settings(max_examples=1000)
def test_a_path_that_passes_is_absolute_and_normal(path: str) -> None:
    try:
        check_path(path)
    except BadTicket:
        return
    assert os.path.normpath(path) == path and path.startswith("/") and "\0" not in path


def test_keys_rotate_by_adding_and_removing_a_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    first = keys.generate(tmp_path / "first", tmp_path)
    folder = keys.KeyFolder(tmp_path)
    assert set(folder.current()) == {first}
    second = keys.generate(tmp_path / "second", tmp_path)
    assert set(folder.current()) == {first, second}
    ticket = dataclasses.replace(TICKET, key_id=second)
    text = sign(ticket, keys.load_private(tmp_path / "second"))
    assert verify(text, folder.current(), NOW) == ticket
    (tmp_path / f"{second}.pem").unlink()
    with pytest.raises(BadTicket):
        verify(text, folder.current(), NOW)


def test_keys_are_private_and_never_overwritten(tmp_path: Path) -> None:
    keys.generate(tmp_path / "key", tmp_path)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        keys.generate(tmp_path / "key", tmp_path)


def test_a_folder_others_may_write_and_a_file_that_is_no_key_are_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(keys.BadKey):
        keys.KeyFolder(tmp_path).current()
    tmp_path.chmod(0o755)
    (tmp_path / "rubbish.pem").write_text("no key")
    with pytest.raises(keys.BadKey):
        keys.KeyFolder(tmp_path).current()
    with pytest.raises(keys.BadKey):
        keys.load_private(tmp_path / "rubbish.pem")
