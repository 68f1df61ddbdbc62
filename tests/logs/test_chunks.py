"""Frames between reader and hub: whatever the cutting, the same events come out, and noise is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.chunks import MAX_DATA, BadFrame, Chunk, End, Event, Frames, Generation, encode

chunks = st.builds(
    Chunk,
    data=st.binary(max_size=80),
    offset=st.integers(0, 2**60),
    size=st.integers(0, 2**60),
    generation=st.text(max_size=20),
    state=st.sampled_from(["open", "missing", "gone"]),
    age=st.floats(0, 1e9),
)
events = (
    chunks
    | st.builds(Generation, generation=st.text(max_size=20), size=st.integers(0, 2**60))
    | st.builds(End, reason=st.text(max_size=20))
)


@given(st.lists(events, max_size=6), st.lists(st.integers(1, 40), max_size=60))
@settings(max_examples=400)
def test_events_survive_any_cutting_of_their_bytes(sent: list[Event], cuts: list[int]) -> None:
    wire, frames, got = b"".join(encode(event) for event in sent), Frames(), []
    for cut in [*cuts, len(wire)]:
        got += frames.feed(wire[:cut])
        wire = wire[cut:]
    assert got == sent and not wire


@given(st.binary(max_size=200))
@settings(max_examples=1000)
def test_noise_is_an_event_less_or_a_bad_frame(noise: bytes) -> None:
    with contextlib.suppress(BadFrame):
        assert list(Frames().feed(noise)) == []


@pytest.mark.parametrize(
    "wire",
    [
        b"x" * 5000,
        b"[]\n",
        b"{}\n",
        b'{"n":-1}\n',
        b'{"n":true}\n',
        b'{"n":%d}\n' % (MAX_DATA + 1),
        b'{"n":0}\n',
        b'{"n":0,"kind":"chunk"}\n',
        b'{"n":1,"kind":"end","reason":"x"}\nx',
        b'{"n":0,"kind":"end","more":1}\n',
        b"[" * 4000 + b"\n",
    ],
    ids=lambda wire: repr(wire[:30]),
)
def test_what_is_no_frame_is_refused(wire: bytes) -> None:
    with pytest.raises(BadFrame):
        list(Frames().feed(wire))
