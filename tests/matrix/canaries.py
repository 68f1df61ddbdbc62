"""Words found nowhere else, planted in everything a tenant owns, and what it takes to read each of them."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.matrix.expect import OTHER, OWN, PLACES, anywhere, holds, on_the_site

LETTER = {OWN: "a", "beside": "b", OTHER: "c", "listed": "d", "absent": "x"}
PATTERN = re.compile(rb"zz[a-z0-9]+-[a-z0-9_]+-zz")
# what events of the own project say, which a guest auditor reads; never a name, a mail, a script, an output
TOLD = frozenset(
    [
        "code",
        "account",
        "agency",
        "alloc",
        "budget",
        "comment",
        "detail",
        "folder",
        "group",
        "job",
        "join",
        "wish",
        "why",
        "organization",
        "number",
        "qos",
        "title",
        "login",
        "loginmate",
        "loginchief",
        "loginasker",
        "thanks",
        "dataset",
        "label",
        "datapath",
        "usewhy",
        "wishwhy",
        "agreed",
        "ended",
        "olddata",
        "described",
        "licence",
        "preset",
        "meant",
        "recipe",
    ]
)
May = Callable[[str], bool]  # whether a person may read it


class Canaries:
    """Each word with who may read it; `text` makes one."""

    def __init__(self) -> None:
        self.known: dict[str, May] = {}

    def of(self, place: str, field: str, *permissions: str) -> str:
        """A word of a project: for who holds one of these there; without any, for nobody, or (listed) for everybody."""
        word = f"zz{field}-{LETTER[place]}-zz"
        if place in PLACES:
            told = place == OWN and field in TOLD
            self.known[word] = lambda person: (
                any(holds(person, place, one) for one in permissions) or (told and person == "guest")
            )
        else:
            self.known[word] = lambda person: place == "listed"
        return word

    def private(self, person: str, field: str, site: str = "", also: May | None = None) -> str:
        """A word of one person: for themselves, for who holds `site` by a role on the site, and `also`."""
        word, owners = f"zz{field}-{person}-zz", same_person(person)
        self.known[word] = lambda reader: (
            reader in owners or bool(site and on_the_site(reader, site)) or bool(also and also(reader))
        )
        return word

    def leaked(self, person: str, answer: bytes, sent: str) -> set[str]:
        """Words in an answer that this person may not read; what they sent themselves tells them nothing."""
        found = {word.decode() for word in PATTERN.findall(answer)}
        return {word for word in found if word not in sent and not self.known.get(word, lambda _: True)(person)}


def same_person(person: str) -> frozenset[str]:
    """Three of the people are the PI: with a browser, a browser at the API, and a token for reading."""
    pi = frozenset({"pi", "browser", "reader"})
    return pi if person in pi else frozenset({person})


def mates_or_guest(reader: str) -> bool:
    """The logins of those who did something, a guest auditor reads as well."""
    return reader == "guest" or mates(reader)


def mates(reader: str) -> bool:
    """Whoever sees one of the two projects of the first tenant knows who is in them."""
    return holds(reader, OWN, "project_view") or holds(reader, "beside", "project_view")


def answers_for_people(reader: str) -> bool:
    """Who manages people somewhere in the first tenant, or reads everything."""
    return anywhere(reader, "member_manage")
