"""Finding text and lines in a file of any shape, held against the plain way of doing it in memory."""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logs import lineindex, search
from logs.generations import Writing

texts = st.lists(
    st.sampled_from([b"a", b"b", b"ab", b"Ab", b"\n", b"\r", b"\0", b"abab", b"\xc3\x89", b"x" * 7]), max_size=60
)


class OneFile:
    """Enough of a LogFile to search in, without threads."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.writing = Writing(restart_count=0, inode=1)
        self.lines = lineindex.Lines(descriptor, self.writing, self.run)

    async def run(self, call):
        """At once."""
        return call()


@pytest.fixture(scope="module", autouse=True)
def small_steps() -> Iterator[None]:
    """Blocks, slices and steps so small that every edge is met in a short text."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (lineindex, search):
            patch.setattr(module, "STEP", 16)
            patch.setattr(module, "BLOCK", 5)
        yield


def open_file(text: bytes) -> OneFile:
    """The text behind a descriptor."""
    descriptor = os.memfd_create("text")
    os.write(descriptor, text)
    return OneFile(descriptor)


def expected(text: bytes, query: bytes, after: int) -> list[tuple[int, int]]:
    """(line, offset of the first hit at or after `after`) for each line, the plain way."""
    found, starts = [], [0, *[at + 1 for at, byte in enumerate(text) if byte == 10]]
    at = text.find(query, after)
    while at >= 0:
        line = bisect.bisect_right(starts, at)
        found.append((line, at))
        end = text.find(b"\n", at)
        at = text.find(query, end) if end >= 0 else -1
    return found


@given(texts, st.sampled_from([b"a", b"ab", b"abab", b"\0", b"xx", b"b\r"]), st.integers(0, 80), st.booleans())
@settings(max_examples=250)
async def test_find_is_what_find_in_memory_is(parts: list[bytes], query: bytes, after: int, fold: bool) -> None:
    text = b"".join(parts)
    file, after = open_file(text), min(after, len(text))
    found = await search.find(
        file, query, after=after, ignore_case=fold, limit=1000, size=len(text), budget=lineindex.Budget(60)
    )
    os.close(file.descriptor)
    plain = expected(text.lower(), query.lower(), after) if fold else expected(text, query, after)
    assert found.matches == plain and found.complete and found.next == len(text)


@given(texts, st.integers(1, 4))
@settings(max_examples=150)
async def test_find_in_several_goes_gives_the_same_lines(parts: list[bytes], limit: int) -> None:
    text = b"".join([*parts, b"\n"])
    file, after, matches = open_file(text), 0, []
    while True:
        found = await search.find(
            file, b"a", after=after, ignore_case=False, limit=limit, size=len(text), budget=lineindex.Budget(60)
        )
        assert len(found.matches) <= limit
        matches += found.matches
        after = found.next
        if found.complete:
            break
    os.close(file.descriptor)
    lines = dict(reversed(matches))  # a line longer than a slice may be told twice
    assert list(lines.items())[::-1] == expected(text, b"a", 0)


@given(texts, st.lists(st.integers(1, 70), min_size=1, max_size=5), st.lists(st.integers(0, 90), max_size=5))
@settings(max_examples=250)
async def test_lines_are_where_they_are(parts: list[bytes], numbers: list[int], offsets: list[int]) -> None:
    text = b"".join(parts)
    file, starts = open_file(text), [0, *[at + 1 for at, byte in enumerate(text) if byte == 10]]
    for number in numbers:
        place = await file.lines.offset_of(number, len(text), lineindex.Budget(60))
        last = min(number, len(starts))
        assert (place.line, place.offset, place.complete) == (last, starts[last - 1], True)
    for offset in (offset for offset in offsets if offset <= len(text)):
        place = await file.lines.number_at(offset, lineindex.Budget(60))
        assert (place.line, place.offset) == (bisect.bisect_right(starts, offset), offset)
    os.close(file.descriptor)


@given(texts, texts)
@settings(max_examples=100)
async def test_remembered_counts_hold_while_the_file_grows(first: list[bytes], more: list[bytes]) -> None:
    text = b"".join(first)
    file = open_file(text)
    await file.lines.number_at(len(text), lineindex.Budget(60))
    text += b"".join(more)
    os.pwrite(file.descriptor, text, 0)
    place = await file.lines.number_at(len(text), lineindex.Budget(60))
    os.close(file.descriptor)
    assert place.line == text.count(b"\n") + 1


async def test_a_spent_budget_says_how_far_it_got_and_asking_again_gets_there() -> None:
    text = b"one\ntwo\n" * 100
    file = open_file(text)
    spent = lineindex.Budget(-1)
    assert not (await file.lines.number_at(len(text), spent)).complete
    assert not (await file.lines.offset_of(150, len(text), spent)).complete
    found = await search.find(file, b"two", after=0, ignore_case=False, limit=9, size=len(text), budget=spent)
    assert (found.matches, found.next, found.complete) == ([], 0, False)
    assert (await file.lines.offset_of(150, len(text), lineindex.Budget(60))).offset == 596
    os.close(file.descriptor)
