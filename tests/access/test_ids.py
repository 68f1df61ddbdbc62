"""Identifiers sort by the time they were made, are version 7, and say when."""

import time
from datetime import UTC, datetime

from access.ids import uuid7


def test_they_are_version_seven_unique_and_in_order() -> None:
    made = [uuid7() for _ in range(1000)]
    assert {one.version for one in made} == {7} and {one.variant for one in made} == {"specified in RFC 4122"}
    assert len(set(made)) == 1000
    assert made == sorted(made)


def test_they_say_when() -> None:
    stamp = int.from_bytes(uuid7().bytes[:6], "big") / 1000
    assert abs(stamp - time.time()) < 1
    assert datetime.fromtimestamp(stamp, UTC).year >= 2026
