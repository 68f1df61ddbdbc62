"""One running house for all tests that only read, and the reason why none runs where it cannot."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from logs.client import AsyncReader
from tests.logs.house import House, running


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    """Opener and reader, running."""
    needs_root()
    with running() as house:
        yield house


@pytest.fixture(scope="session")
def opener() -> Iterator[House]:
    """An opener alone, that answers the tests themselves."""
    needs_root()
    with running("opener", allow_uid=0) as house:
        yield house


@pytest.fixture
async def reader(house: House) -> AsyncIterator[AsyncReader]:
    """An asynchronous client."""
    client = house.asynchronous()
    yield client
    await client.close()


def needs_root() -> None:
    """The opener becomes each job's owner; only root can."""
    if os.geteuid() != 0:
        pytest.skip("needs root: the log opener takes on other users' uids")
