"""What is open on a job with personal data closes at once when the permission, the terms or the role are gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator

from access.roles import Role
from datasets.services import asking, registering, terms
from jobs import consumers
from projects import services as projects
from tests.datasets.test_jobs_declare import Bench
from tests.factories import make_member
from tests.jobs.test_consumers import World, closed_with

pytestmark = pytest.mark.django_db(transaction=True)


class Secret(World):
    """A job of the member on personal data, which a viewer of the project may read, too."""

    def __init__(self) -> None:
        self.shelf = Bench()
        self.shelf.personal()
        self.shelf.grant()
        self.viewer = make_member(self.shelf.users, Role.VIEWER, username="leitora")
        for person in (self.shelf.member, self.viewer):
            terms.accept(dataset=self.shelf.dataset, number=1, by=person)
        self.job = self.shelf.submit(datasets=["atlas"])


@pytest.fixture
async def secret(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Secret]:
    channel_layers.backends.clear()
    monkeypatch.setattr(consumers, "RECHECK", 3600.0)  # nothing is noticed by itself
    yield await sync_to_async(Secret)()


async def opened(secret: Secret, person: Any, path: str = "/log") -> WebsocketCommunicator:
    """Once this returns it hears of what happens: it answers only after it has joined."""
    socket = secret.socket(await sync_to_async(secret.session_of)(person), path)
    assert (await socket.connect())[0]
    await socket.send_json_to({"type": "watch", "stream": "stdout", "offset": 0})
    assert (await socket.receive_output(timeout=30))["type"] == "websocket.send"
    return socket


def revoked(secret: Secret) -> None:
    asking.revoke(grant=secret.shelf.dataset.grants.get(), by=secret.shelf.steward, why="It is over.")


def new_terms(secret: Secret) -> None:
    terms.put_in_force(dataset=secret.shelf.dataset, text="Be very careful.", by=secret.shelf.steward)


def removed(secret: Secret) -> None:
    for person in (secret.shelf.member, secret.viewer):
        projects.remove_member(membership=person.memberships.get(), by=None)


@pytest.mark.parametrize("ended", [revoked, new_terms, removed])
async def test_the_log_closes_at_once_for_owner_and_reader(secret: Secret, ended: Callable[[Secret], None]) -> None:
    sockets = [await opened(secret, person) for person in (secret.shelf.member, secret.viewer)]
    await sync_to_async(ended)(secret)
    assert [await closed_with(socket) for socket in sockets] == [4403, 4403]


async def test_data_that_turns_out_to_be_personal_closes_it_too(secret: Secret) -> None:
    await sync_to_async(registering.change)(
        dataset=secret.shelf.dataset, by=secret.shelf.steward, classification="internal"
    )
    await sync_to_async(revoked)(secret)  # which nobody needs for internal data
    socket = await opened(secret, secret.viewer)
    await sync_to_async(registering.change)(
        dataset=secret.shelf.dataset, by=secret.shelf.steward, classification="personal"
    )
    assert await closed_with(socket) == 4403


async def test_whoever_may_still_read_stays(secret: Secret) -> None:
    """The viewer has a permission of their own; the project's is revoked."""
    await sync_to_async(secret.shelf.grant)(to_person=secret.viewer)
    kept, shut = await opened(secret, secret.viewer), await opened(secret, secret.shelf.member)
    grant = await sync_to_async(secret.shelf.dataset.grants.get)(user=None)
    await sync_to_async(asking.revoke)(grant=grant, by=secret.shelf.steward, why="It is over.")
    assert await closed_with(shut) == 4403
    await kept.send_to(text_data="no wish")
    assert await closed_with(kept) == 4400  # for what it said just now, not for a right that is gone
