"""Walks through a folder that changes meanwhile, or holds what no path of ours can name: the rest is seen all the same."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from files import looking, taring
from files.beneath import Root
from files.looking import Walk
from files.names import MAX_DEPTH
from tests.files.door import ANA, Place, own


def buried(top: Path, name: str, folders: int) -> None:
    """A file far down, by a way that is longer than a path may be written."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(folders):
        os.mkdir(name, 0o777, dir_fd=here)
        os.chown(name, ANA, ANA, dir_fd=here)
        here, above = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize(("name", "folders"), [("d", MAX_DEPTH + 10), ("n" * 255, 20)], ids=["deep", "long"])
def test_what_is_too_deep_to_be_named_hides_nothing_else(place: Place, name: str, folders: int) -> None:
    buried(place.project, name, folders)
    (place.project / "a").mkdir()
    own(place.project / "a", ANA, 0o2770)
    buried(place.project / "a", name, folders)
    place.write("near", b"x" * 10)
    with place.door() as door:
        for found in (door.walk(""), door.walk("a"), door.census(since=0)):
            assert found.cut  # there is more than was counted
        assert [one.name for one in door.walk("").entries] == ["near"]
        for path in ("", "a"):
            with tarfile.open(fileobj=io.BytesIO(b"".join(door.tar(path)))) as tar:
                names = tar.getnames()
            assert names[-1].endswith(taring.LEFT_OUT)
            assert path or "files/near" in names


@pytest.fixture
def vanishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of which one entry goes, each time, between the list and the look at it."""
    real = os.scandir

    class Scan:
        def __init__(self, folder: int) -> None:
            self._folder, self._entries = folder, real(folder)

        def __enter__(self) -> Scan:
            return self

        def __exit__(self, *_: object) -> None:
            self._entries.close()

        def __iter__(self) -> Iterator[Any]:
            for one in self._entries:
                if one.name == "gone":
                    os.unlink("gone", dir_fd=self._folder)
                yield one

    for name in ("a", "gone", "z"):
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(looking.os, "scandir", Scan)
    return tmp_path


def test_what_goes_meanwhile_takes_nothing_with_it(vanishing: Path) -> None:
    """Also where a walk tells whether data that are bound lie in a folder: nobody hides them by removing a file."""
    walked = Walk(Root(str(vanishing)))
    assert (sorted(path for path, _ in walked.files("")), walked.cut) == (["a", "z"], False)


def test_nor_does_it_from_a_tar(vanishing: Path) -> None:
    left_out: list[str] = []
    assert [path for path, _ in taring._entries(Root(str(vanishing)), "", left_out)] == ["a", "z"]
    assert left_out == []
