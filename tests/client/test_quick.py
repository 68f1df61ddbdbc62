"""The quick way takes only what the slow way would take with the same digest, wherever a file is cut into blocks."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from client.bancada import evidence, quick

EVENT: dict[str, Any] = dict.fromkeys(quick.FIELDS, "x") | {"id": "7", "actor_id": None, "detail": '{"a": "b"}'}

CHAIN = "0f" * 32


def line(event: dict[str, Any] = EVENT, **more: Any) -> str:
    found = {"seq": 1, "chain": CHAIN, "event": event} | more
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False) + "\n"


@given(some.fixed_dictionaries({name: some.none() | some.text() for name in quick.FIELDS}))
def test_it_hashes_as_the_slow_way_does_or_leaves_it_alone(event: dict[str, Any]) -> None:
    event["id"] = "7"
    try:
        said = line(event)
        said.encode()
    except UnicodeEncodeError:
        return
    found = quick.quick(said)
    if found is not None:
        assert found == one(event)


def one(event: dict[str, Any]) -> quick.Stretch:
    return quick.Stretch(1, evidence.digest_of(event), bytes.fromhex(CHAIN), array("q", [7]))


def test_an_ordinary_one_is_taken() -> None:
    assert quick.quick(line()) == one(EVENT)
    assert quick.quick(line(EVENT | {"detail": '{"a": ["b", "é"]}'})) is not None
    assert quick.quick(line(EVENT | {"detail": "é" * 1000})) is not None


@pytest.mark.parametrize("changed", [
    line().replace('"action":"x"', '"action":"y","action":"x"'), line().replace('{"seq":1', '{"seq":1,"seq":1'),
    line().replace('"actor_id":null', '"actor_id":null,"actor_id":null'), line(more=1), line(seq=True), line(seq="1"),
    line(EVENT | {"uid": None}), line(EVENT | {"detail": None}), line(EVENT | {"subject_ref": '"'}),
    line(EVENT | {"subject_text": "a\nb"}), line().replace('"db_role":"x"', '"db_role":"x\x01"'), line(EVENT | {"action": quick.REMOVED}), line(EVENT | {"action": 1}), line(EVENT | {"action": ["x"]}),
    line(EVENT | {"id": "x"}), line(EVENT | {"more": "x"}), line()[:-1], line()[:-5], line()[:-1] + " {}\n", "\n", "{}\n",
    line().replace('"action":"x"', '"action":"x","nested":{"action":"z"}'), " " + line(), line(EVENT | {"detail": "\\"}),
    line(chain=None, event={}), line(chain="00"), line(chain="0F" * 32), line().replace('"x"', '"\\u0078"', 1), line(EVENT | {"detail": "y" * 5000}),
])  # fmt: skip
def test_whatever_is_not_ordinary_is_left_to_the_slow_way(changed: str) -> None:
    assert quick.quick(changed) is None


def chained(count: int, text: str = "plain") -> list[str]:
    """Lines of records that follow from each other."""
    chain, lines = bytes(32), list[str]()
    for number in range(1, count + 1):
        event = EVENT | {"id": str(number), "detail": text}
        chain = hashlib.sha256(chain + number.to_bytes(8, "big") + evidence.digest_of(event)).digest()
        lines.append(line(event, seq=number, chain=chain.hex()))
    return lines


def spread(found: list[quick.Stretch | str]) -> list[Any]:
    """Stretches as their records."""
    return [
        one
        for item in found
        for one in (
            [item]
            if isinstance(item, str)
            else [(item.first + n, item.chains[32 * n : 32 * n + 32], event) for n, event in enumerate(item.events)]
        )
    ]


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "plain", "\x1e\x0b\x0c"])
def test_lines_are_the_same_wherever_the_file_is_cut(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block: int, text: str
) -> None:
    monkeypatch.setattr(quick, "BLOCK", block)
    lines = [*chained(5, text), f"{text}\n", "cut off"]
    found = spread(list(quick.items(io.BytesIO("".join(lines).encode()), 1)))
    assert found == spread([quick.quick(one) or one for one in lines])
    (tmp_path / "export").write_text("".join(lines))
    assert spread(list(quick.items_of(tmp_path / "export", 1))) == found


def test_what_is_no_ordinary_file_is_read_as_it_comes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(target=(tmp_path / "pipe").write_text, args=("".join(chained(3)),))
    writing.start()
    assert [seq for seq, _chain, _event in spread(list(quick.items_of(tmp_path / "pipe", 1)))] == [1, 2, 3]
    writing.join()


def test_several_processes_give_them_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(quick, "BLOCK", 5000)
    (tmp_path / "export").write_text("".join(chained(60)))
    streamed = list(quick.items(io.BytesIO((tmp_path / "export").read_bytes()), 2))
    assert [seq for seq, _chain, _event in spread(streamed)] == list(range(1, 61)) and len(streamed) < 40
    assert spread(list(quick.items_of(tmp_path / "export", 2))) == spread(streamed)


def test_a_stretch_ends_where_a_record_does_not_follow() -> None:
    lines = chained(9)
    lines[4] = lines[4].replace('"action":"x"', '"action":"y"')  # its chain is another's
    del lines[7]
    found = quick.read("".join(lines).encode())
    stretches = [(run.first, run.last) for run in found if isinstance(run, quick.Stretch)]
    assert stretches == [(1, 4), (5, 7), (9, 9)]


def test_a_number_seen_twice_is_known_again() -> None:
    seen = quick.Seen()
    assert seen.first_again([1, 2, 3, 2, 9]) == 3 and not seen.again(9) and seen.again(1)
    assert [seen.again(number) for number in (5, -5, 5, 2**40, 2**40, -5)] == [False, False, True, False, True, True]
