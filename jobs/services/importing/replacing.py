"""The site's dictionary applied to a script: old names to the site's, each a finding that can be undone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from django.utils.translation import gettext as _

from jobs.services.importing.findings import Became, Finding

KINDS = ("partition", "account", "gres", "module", "path")
_MODULE = re.compile(r"\b(?:module|ml)\b(?:\s+(?:load|add|swap|switch|try-load))?(?P<names>(?:\s+[^\s;&|#]+)+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One line of the dictionary: `old` is called `new` here."""

    kind: str
    old: str
    new: str

    @property
    def key(self) -> str:
        """By which it is undone."""
        return f"{self.kind}:{self.old}"


class Dictionary:
    """The entries in force, without those that were undone."""

    def __init__(self, entries: Iterable[Entry] = (), undone: Collection[str] = ()) -> None:
        self.undone = frozenset(undone)
        self._by_kind: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        for one in entries:
            self._by_kind[one.kind][one.old] = one

    def find(self, kind: str, old: str) -> Entry | None:
        """What this name is here; None where the dictionary says nothing, or it was undone."""
        one = self._by_kind[kind].get(old)
        return one if one is not None and one.key not in self.undone else None

    def undone_here(self, kind: str, old: str) -> Entry | None:
        """What it would be, had it not been undone."""
        one = self._by_kind[kind].get(old)
        return one if one is not None and one.key in self.undone else None

    def path(self, path: str) -> tuple[str, Entry | None]:
        """The path with the longest prefix known replaced."""
        for one in sorted(self._by_kind["path"].values(), key=lambda one: -len(one.old)):
            if one.key not in self.undone and (path == one.old or path.startswith(one.old.rstrip("/") + "/")):
                return one.new + path[len(one.old) :], one
        return path, None

    def body(self, lines: Sequence[str], header: int) -> tuple[list[str], list[Finding]]:
        """Modules and path prefixes in the lines behind the header. One that was undone is found, and left as it is."""
        found, rest = list[Finding](), list[str]()
        for number, line in enumerate(lines[header:], header + 1):
            for one, after in self._of_line(line):
                line = line if one.key in self.undone else after
                found.append(finding(number, one, undone=one.key in self.undone))
            rest.append(line)
        return rest, found

    def _of_line(self, line: str) -> Iterator[tuple[Entry, str]]:
        """Each entry that says something of the line, and the line with it, one after the other."""
        if line.lstrip().startswith("#"):
            return
        paths = sorted(self._by_kind["path"].values(), key=lambda one: -len(one.old))
        for one in [*paths, *self._by_kind["module"].values()]:
            after = _in_path(line, one) if one.kind == "path" else _in_modules(line, one)
            if after != line:
                yield one, after
                line = after if one.key not in self.undone else line


def _in_path(line: str, one: Entry) -> str:
    """The prefix, where a path begins with it."""
    return re.sub(rf"(?<![\w./-]){re.escape(one.old)}(?![\w.-])", one.new.replace("\\", r"\\"), line)


def _in_modules(line: str, one: Entry) -> str:
    return _MODULE.sub(partial(_renamed, one), line)


def _renamed(one: Entry, match: re.Match[str]) -> str:
    names = re.sub(rf"(?<=\s){re.escape(one.old)}(?!\S)", one.new.replace("\\", r"\\"), match["names"])
    return match[0][: match.start("names") - match.start()] + names


def finding(line: int, one: Entry, *, undone: bool = False, field: str = "") -> Finding:
    """The replacement in words, with its key to undo it."""
    said = _("Left as it is; the site calls it %(new)s.") if undone else _("Here it is %(new)s.")
    became = Became.KEPT if undone else Became.REPLACED
    return Finding(line, one.old, became, said % {"new": one.new}, field, one.key)
