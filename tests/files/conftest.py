"""One running door for the tests that share it, each with a folder of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.files.door import ANA, Place, own, running


@pytest.fixture(scope="session")
def house() -> Iterator[Place]:
    """The door, running."""
    if os.geteuid() != 0:
        pytest.skip("needs root: the door takes on other people's uids")
    with running() as place:
        yield place


@pytest.fixture
def place(house: Place) -> Place:
    """The same with an empty project's folder."""
    shutil.rmtree(house.project)
    house.project.mkdir()
    own(house.project, ANA, 0o2770)
    return house
