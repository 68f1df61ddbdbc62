"""The planted words are where people can meet them: one that nobody can see would find no leak."""

from __future__ import annotations

import pytest

from tests.matrix.asking import ask, call_for
from tests.matrix.canaries import LETTER, PATTERN
from tests.matrix.expect import OWN, expected
from tests.matrix.people import World
from tests.matrix.rules import API, PAGES

pytestmark = pytest.mark.django_db
READERS = ("pi", "operator")
NEVER_SHOWN = {
    "path",
    "mailchief",
    "mailasker",
}  # to nobody: wherever one turns up is a leak


def test_whoever_may_read_a_word_does_so_somewhere(world: World) -> None:
    met: set[str] = set()
    for rule in (one for one in [*PAGES, *API] if one.method == "GET"):
        for person in READERS:
            if expected(rule, person, OWN) == rule.ok:
                answer = ask(world, rule, person, call_for(world, rule, person, OWN))
                met |= {word.decode() for word in PATTERN.findall(answer.whole)}
    planted = {word for word in world.canaries.known if word.endswith((f"-{LETTER[OWN]}-zz", "-pi-zz"))}
    unseen = {word.removeprefix("zz").split("-")[0] for word in planted - met}
    assert unseen == NEVER_SHOWN


@pytest.mark.parametrize("reader", ["nobody", "outsider", "other_pi", "removed"])
def test_a_stranger_may_read_none_of_another_tenants(world: World, reader: str) -> None:
    theirs = [word for word in world.canaries.known if word.endswith(f"-{LETTER[OWN]}-zz")]
    assert len(theirs) > 25
    assert [word for word in theirs if world.canaries.known[word](reader)] == []
