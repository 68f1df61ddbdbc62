"""A job's output on a terminal: colours come through, nothing else that steers it, however the output is cut."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))

from bancada import cli, terminal
from bancada.api import Piece

HOSTILE = b"a\x1b]0;owned\x07\x1b[2Jb\n"
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def shown(*pieces: bytes) -> str:
    """What a terminal gets of these pieces."""
    colours = terminal.Colours()
    return "".join(colours.shown(piece) for piece in pieces)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (HOSTILE, "ab\n"),
        (b"\x1b[1;31mred\x1b[0m \x1b[38:2::9:8:7mx\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38:2::9:8:7mx\x1b[m"),
        (b" 10%\r\t20%\b\b30%\n", " 10%\r\t20%\b\b30%\n"),
        ("é ã 火 1\u00a0000 █".encode(), "é ã 火 1\u00a0000 █"),
        (b"a\x1b]52;c;AAAA\x1b\\b\x1bP$qm\x1b\\c\x1b_x\x1b\\d\x1b^x\x1b\\e\x1bXx\x1b\\f", "abcdef"),
        ("a\u009b2Jb\u009d0;x\u009cc\u0090x\u009cd\u0085e".encode(), "abcde"),
        (b"a\x9b2Jb\x07\x00\x7f\x0e\x0f\x0b\x0c", "a\ufffd2Jb"),
        ("a\u202eb\u2028c\u200d".encode(), "abc"),
        (b"a\x1bcb\x1b(0c\x1b#8d\x1b[?1049he\x1b[6nf\x1b[3 qg\x1b[>4;1mh", "abcdefgh"),
        (b"a\x1b]0;not closed\nb\x1b]0;nor this \x1b[31mc", "a\nb\x1b[31mc"),
        (b"\x1b\x1b[31mx\x1b[3\x1b[2Jy\x1b[3\n1mz", "\x1b[31mxy\n1mz"),
        (b"\x1b[" + b"1" * 65 + b"mx", "1mx"),
    ],
)
def test_colours_and_text_alone_reach_a_terminal(data: bytes, text: str) -> None:
    assert shown(data) == text
    assert shown(*(data[at : at + 1] for at in range(len(data)))) == text


PARTS = st.one_of(
    st.binary(max_size=8), st.text(max_size=4).map(str.encode),
    st.sampled_from(
        [b"\x1b", b"[", b"]", b"P", b"\\", b"\x07", b"31", b";", b":", b"m", b"2J", b"?", b" q", b"\n", "\x9b".encode(),
         "\x9d".encode(), "\x9c".encode(), b"\x18", b"\x1b[0m", b"\x1b[" + b"1" * 70, b"\x1b]" + b"t" * 1100, b"("]
    ),
)  # fmt: skip


@given(st.lists(PARTS, max_size=14))
@example([b"\x1b", b"]", b"\x1b", b"[31m"])
@example([b"\x1b[3", b"\x1b", b"1m"])
def test_no_escape_but_a_colour_comes_through_however_it_is_cut(pieces: Sequence[bytes]) -> None:
    colours = terminal.Colours()
    text = ""
    for piece in pieces:
        text += colours.shown(piece)
        assert len(colours._tail) < 1100
    rest = COLOUR.sub("", text)
    assert all(char.isprintable() or char in "\t\n\r\b" or char.isspace() for char in rest)
    assert not re.search(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e]", rest)
    assert text == shown(b"".join(pieces))


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_what_is_text_comes_through_whole(text: str) -> None:
    assert shown(text.encode()) == text


class Screen(io.TextIOWrapper):
    """Standard output that says whether it is a terminal."""

    def __init__(self, is_terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        """As it was made."""
        return self.is_terminal

    @property
    def got(self) -> bytes:
        """All bytes so far."""
        return self.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]


def read_on(screen: Screen, monkeypatch: pytest.MonkeyPatch, data: bytes, *more: str) -> bytes:
    """What `bancada log` writes there of this output, which comes in pieces of three bytes."""

    def log(_job: str, _stream: str, offset: int, *_rest: Any) -> Piece:
        return Piece(data[offset : offset + 3], offset, len(data), "open", "g1")

    job = {"state": "completed", "task_counts": {}}
    portal: Any = SimpleNamespace(task_of=lambda _job: ("1", None), log=log, job=lambda _job: job)
    monkeypatch.setattr(sys, "stdout", screen)
    assert cli.main(["log", "1", *more], portal) == 0
    return screen.got


@pytest.mark.parametrize("more", [(), ("-f",)], ids=["once", "followed"])
def test_a_terminal_gets_colours_and_its_own_back_and_a_pipe_the_bytes(
    monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    data = HOSTILE + "\x1b[31mé\xff".encode("latin-1")
    assert read_on(Screen(False), monkeypatch, data, *more) == data
    assert read_on(Screen(True), monkeypatch, HOSTILE, *more) == b"ab\n"
    told = "\x1b[31mé".encode()
    assert read_on(Screen(True), monkeypatch, HOSTILE + told, *more) == b"ab\n" + told + b"\x1b[0m"
    assert read_on(Screen(True, "ascii"), monkeypatch, told, *more) == b"\x1b[31m?\x1b[0m"


def test_json_on_a_terminal_has_what_cannot_be_printed_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"name": "é\u009b2J\u202e\x1b\n", "rows": [1]}
    for is_terminal in (True, False):
        monkeypatch.setattr(sys, "stdout", Screen(is_terminal))
        text = terminal.dumped(answer)
        assert json.loads(text) == answer and "é" in text
        assert ("\u009b" in text, "\u202e" in text) == (not is_terminal, not is_terminal)
