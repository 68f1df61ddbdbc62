"""The quick way takes only what the slow way would take with the same digest, wherever a file is cut into blocks."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from client.bancada import evidence, quick

EVENT: dict[str, Any] = dict.fromkeys(quick.FIELDS, "x") | {"id": "7", "actor_id": None, "detail": '{"a": "b"}'}


def line(event: dict[str, Any] = EVENT, **more: Any) -> str:
    found = {"seq": 1, "chain": "00", "event": event} | more
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
        assert found == (1, "00", evidence.digest_of(event), 7)


def test_an_ordinary_one_is_taken() -> None:
    assert quick.quick(line()) == (1, "00", evidence.digest_of(EVENT), 7)
    assert quick.quick(line(EVENT | {"detail": "é" * 1000})) is not None


@pytest.mark.parametrize("changed", [
    line().replace('"action":"x"', '"action":"y","action":"x"'), line().replace('{"seq":1', '{"seq":1,"seq":1'),
    line().replace('"actor_id":null', '"actor_id":null,"actor_id":null'), line(more=1), line(seq=True), line(seq="1"),
    line(EVENT | {"action": quick.REMOVED}), line(EVENT | {"action": 1}), line(EVENT | {"action": ["x"]}),
    line(EVENT | {"id": "x"}), line(EVENT | {"more": "x"}), line()[:-1], line()[:-5], line()[:-1] + " {}\n", "\n", "{}\n",
    line().replace('"action":"x"', '"action":"x","nested":{"action":"z"}'), " " + line(), line(EVENT | {"detail": "\\"}),
    line(chain=None, event={}), line(EVENT | {"detail": "y" * 5000}),
])  # fmt: skip
def test_whatever_is_not_ordinary_is_left_to_the_slow_way(changed: str) -> None:
    assert quick.quick(changed) is None


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "plain", "\x1e\x0b\x0c"])
def test_lines_are_the_same_wherever_the_file_is_cut(monkeypatch: pytest.MonkeyPatch, block: int, text: str) -> None:
    monkeypatch.setattr(quick, "BLOCK", block)
    lines = [line(EVENT | {"detail": text}, seq=number) for number in range(1, 6)] + [f"{text}\n", "cut off"]
    found = list(quick.items(io.BytesIO("".join(lines).encode()), 1))
    assert found == [quick.quick(one) or one for one in lines]


def test_several_processes_give_them_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "BLOCK", 500)
    lines = [line(seq=number) for number in range(1, 60)]
    found = list(quick.items(io.BytesIO("".join(lines).encode()), 2))
    assert [item[0] for item in found] == list(range(1, 60))


def test_a_number_seen_twice_is_known_again() -> None:
    seen = quick.Seen()
    assert [seen.again(number) for number in (5, -5, 5, 2**40, 2**40, -5)] == [False, False, True, False, True, True]
