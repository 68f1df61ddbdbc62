"""The site's dictionary: what is in force, and another version of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import User
from audit import trail
from audit.actions import Action
from jobs.models import DictionaryVersion
from jobs.services.importing.replacing import KINDS, Dictionary, Entry

MOST, LONGEST = 1000, 200


class WrongLines(Exception):
    """Lines that say no replacement; each with its number."""

    def __init__(self, errors: Iterable[str]) -> None:
        super().__init__(" ".join(errors))
        self.errors = list(errors)


class ChangedMeanwhile(Exception):
    """Somebody else has made another version since."""


def newest() -> DictionaryVersion | None:
    """The version in force."""
    return DictionaryVersion.objects.select_related("made_by").order_by("-number").first()


def current(undone: Collection[str] = ()) -> Dictionary:
    """The entries in force."""
    found = DictionaryVersion.objects.order_by("-number").values_list("entries", flat=True).first()
    return Dictionary([Entry(**one) for one in found or []], undone)


def parse(text: str) -> list[Entry]:
    """A line an entry: kind, old name, new name, blanks between. Raises WrongLines."""
    found, wrong = dict[str, Entry](), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        said = _fault(words)
        if said:
            wrong.append(_("Line %(n)d: %(said)s") % {"n": number, "said": said})
        elif f"{words[0]}:{words[1]}" in found:
            wrong.append(_("Line %(n)d: %(name)s stands here twice.") % {"n": number, "name": words[1]})
        else:
            one = Entry(*words)
            found[one.key] = one
    if len(found) > MOST:
        wrong.append(_("At most %(n)d entries.") % {"n": MOST})
    if wrong:
        raise WrongLines(wrong)
    return list(found.values())


def _fault(words: list[str]) -> str:
    if len(words) != 3 or words[0] not in KINDS:
        return _("Write what it is (%(kinds)s), the old name and the new one.") % {"kinds": ", ".join(KINDS)}
    if any(len(word) > LONGEST or not word.isprintable() for word in words):
        return _("At most %(n)d characters a name.") % {"n": LONGEST}
    if words[0] == "path" and not (words[1].startswith("/") and words[2].startswith("/") and words[1].strip("/")):
        return _("A path begins with /.")
    return ""


def written(entries: Iterable[Entry]) -> str:
    """The same as text."""
    return "".join(f"{one.kind} {one.old} {one.new}\n" for one in entries)


@transaction.atomic
def change(*, entries: Iterable[Entry], base: int, note: str, by: User) -> DictionaryVersion:
    """Another version, made from version `base` (0: there was none). Raises ChangedMeanwhile."""
    last = DictionaryVersion.objects.aggregate(last=Max("number"))["last"] or 0
    if last != base:
        raise ChangedMeanwhile(str(last))
    rows = [{"kind": one.kind, "old": one.old, "new": one.new} for one in entries]
    before = DictionaryVersion.objects.filter(number=last).values_list("entries", flat=True).first() or []
    made = DictionaryVersion.objects.create(number=last + 1, entries=rows, note=note[:300], made_by=by)
    gone, new = [one for one in before if one not in rows], [one for one in rows if one not in before]
    trail.record(
        Action.DICTIONARY_CHANGED, by=by, about=made, number=made.number, note=made.note,
        before=[_line(one) for one in gone], after=[_line(one) for one in new],
    )  # fmt: skip
    return made


def _line(one: dict[str, str]) -> str:
    return f"{one['kind']} {one['old']} {one['new']}"
