"""Lines and text out of bytes: nothing lost by cutting, nothing dangerous left by cleaning."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs.lines import after_first_line, fold, pieces, plain, whole

bits = st.sampled_from(
    [b"a", b"\n", b"\r", b"\r\n", b"\0", "é".encode(), "✓".encode(), "🦔".encode(), b"\xff", b"\xc3"]
)
logs = st.lists(bits, max_size=60).map(b"".join)


@given(logs, st.integers(4, 20))
@settings(max_examples=300)
def test_pieces_join_to_the_whole_and_none_is_too_long_or_empty(data: bytes, longest: int) -> None:
    cut = list(pieces(data, longest))
    assert b"".join(cut) == data
    assert all(0 < len(piece) <= longest and b"\n" not in piece[:-1] for piece in cut)


@given(st.text(max_size=60), st.integers(4, 20))
@settings(max_examples=300)
def test_text_is_never_cut_within_a_character(text: str, longest: int) -> None:
    assert "".join(piece.decode() for piece in pieces(text.encode(), longest)) == text


@given(st.text(max_size=30), st.data())
@settings(max_examples=300)
def test_whole_holds_back_only_the_start_of_a_last_character(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    assert cut[: whole(cut)].decode() == cut.decode(errors="ignore")


@given(st.binary(max_size=40))
@settings(max_examples=300)
def test_whole_never_holds_back_more_than_three_bytes(data: bytes) -> None:
    assert len(data) - 3 <= whole(data) <= len(data)


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        (b"10%\r50%\r100%\ndone\n", b"100%\ndone\n"),
        (b"10%\r50%\r", b"50%\r"),
        (b"dos\r\nlines\r\n", b"dos\r\nlines\r\n"),
        (b"\r\r10%\r\r\r20%", b"20%"),
        (b"a\r\nb\rc\r\n", b"a\r\nc\r\n"),
        (b"", b""),
    ],
)
def test_fold_keeps_the_last_state_of_a_bar(raw: bytes, folded: bytes) -> None:
    assert fold(raw) == folded


@given(logs)
@settings(max_examples=300)
def test_fold_keeps_the_lines_and_is_done_in_one_go(data: bytes) -> None:
    folded = fold(data)
    assert folded.count(b"\n") == data.count(b"\n") and fold(folded) == folded
    if b"\r" not in data:
        assert folded == data


@pytest.mark.parametrize(
    "escape",
    [
        "\x1b[31m",
        "\x1b[2J",
        "\x1b[1;1H",
        "\x1b]0;title\x07",
        "\x1b]52;c;cGFzdGU=\x07",
        "\x1b]8;;https://evil.example\x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1b(0",
        "\x1bc",
        "\x1b7",
        "\x1b_apc\x1b\\",
        "\x1b^pm\x1b\\",
        "\x1bXsos\x1b\\",
        "\x9b31m",
        "\x07",
        "\x08\x08",
        "\x7f",
        "\x0e",
        "\x85",
        "\x1b[?1049h",
        "\x1b[38;2;1;2;3m",
        "\x1b]0;never ended",
    ],
)
def test_plain_takes_every_escape_out(escape: str) -> None:
    assert plain(f"before{escape}".encode()) == "before"


@given(st.text(max_size=80) | logs.map(lambda raw: raw.decode("latin-1")))
@settings(max_examples=300)
def test_plain_leaves_no_control_behind(text: str) -> None:
    cleaned = plain(text.encode("utf-8", "surrogatepass"))
    assert not [char for char in cleaned if char not in "\t\n" and (ord(char) < 32 or 127 <= ord(char) < 160)]


def test_a_hostile_line_costs_no_more_than_a_friendly_one() -> None:
    for unit in (b"a", b"\r", b"\x1b", b"\x1b]", b"\x1b[1;", b"a\r", b"\xc3"):
        data, started = unit * 100_000, time.monotonic()
        fold(data)
        plain(data)
        assert b"".join(pieces(data)) == data
        assert time.monotonic() - started < 30, unit  # 20 ms; what is square in the length takes minutes


def test_after_first_line() -> None:
    assert after_first_line(b"half\nwhole\n") == b"whole\n"
    assert after_first_line(b"endless") == b"endless"
