"""Generations: appending keeps the name, anything else is noticed, in whatever order looks come in."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from logs.generations import ANCHOR, HEAD, Sight, Writing, same

short = st.binary(min_size=1, max_size=200)
long = st.binary(min_size=1, max_size=50).map(lambda seed: seed * 200)


def look(text: bytes, writing: Writing, at: float) -> Sight:
    """A look at a file that holds `text`."""
    anchor_at = writing.anchor_at
    return Sight(
        at=at,
        offset=0,
        data=text,
        size=len(text),
        mtime=at,
        links=1,
        head=text[:HEAD],
        anchor_at=anchor_at,
        anchor=text[anchor_at : anchor_at + ANCHOR],
        end=text[max(0, len(text) - ANCHOR) :],
    )


def seen(*texts: bytes, inode: int = 7, restart_count: int = 0) -> tuple[Writing, list[bool]]:
    """A writing after looks at each of the texts, and whether each fitted."""
    writing = Writing(restart_count=restart_count, inode=inode)
    return writing, [writing.accept(look(text, writing, at)) for at, text in enumerate(texts)]


@given(st.lists(short | long, min_size=1, max_size=6))
@settings(max_examples=300)
def test_a_file_that_grows_keeps_one_generation_whose_names_all_fit(parts: list[bytes]) -> None:
    text, writing, names = b"", Writing(restart_count=0, inode=7), []
    for at, part in enumerate(parts):
        text += part
        assert writing.accept(look(text, writing, at))
        names.append(writing.name())
    assert all(same(one, other) for one in names for other in names)
    assert same(names[0], seen(text)[0].name()), "a reader that starts anew gives a name that fits"


@given(short | long, st.data())
@settings(max_examples=300)
def test_a_change_anywhere_in_the_head_or_a_cut_is_noticed(text: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, min(len(text), HEAD) - 1))
    changed = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
    for other in (changed, changed + b"more", text[:-1]):
        writing, fits = seen(text, other)
        assert fits == [True, False] and not same(seen(text)[0].name(), writing.name())


@given(long, st.integers(1, ANCHOR))
@settings(max_examples=200)
def test_a_rewrite_with_the_same_head_is_noticed_at_the_old_end(text: bytes, back: int) -> None:
    text = text + b"." * HEAD
    changed = text[:-back] + b"!" + text[len(text) - back + 1 :] + b"more"
    assert seen(text, changed)[1] == [True, False]


def test_names_of_other_runs_inodes_and_contents_do_not_fit() -> None:
    text = b"epoch 1\n" * 10
    names = [
        seen(text)[0].name(),
        seen(text, restart_count=1)[0].name(),
        seen(text, inode=8)[0].name(),
        seen(b"E" + text)[0].name(),
        seen(text, b"")[0].name(),
        seen(text, restart_count=10)[0].name(),
    ]
    assert [one for one in names for other in names if same(one, other)] == names
    assert all(same("", name) for name in names)


def test_looks_that_come_in_late_teach_nothing() -> None:
    writing = Writing(restart_count=0, inode=7)
    early, late = look(b"abc", writing, 1.0), look(b"abcdef", writing, 2.0)
    assert writing.accept(late) and writing.accept(early)
    assert writing.size == 6 and writing.rewrites == 0


def test_an_inode_used_again_must_prove_itself() -> None:
    writing, _ = seen(b"born\n")
    again = writing.succeeded_by(7)
    assert not again.accept(look(b"reborn\n", again, 9.0))
    other = writing.succeeded_by(8)
    assert other.rewrites == writing.rewrites + 1 and other.accept(look(b"born\n", other, 9.0))
