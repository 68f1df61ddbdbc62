"""Files that go with a job: as the submit form brings them, and as it says while it is filled in that it will."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from accounts.http import SignedInRequest
from accounts.models import User
from files.names import shown
from jobs.services import attaching
from presets.rules import DEFAULT
from storage import words
from storage.services import bringing

LONGEST = 400_000  # characters of all paths together


@dataclasses.dataclass(slots=True)
class Attached:
    """`wrong` is said beside the field; `is_coming`: the very form is at work already, so that it stays this form."""

    files: Sequence[bringing.Sent]
    wrong: list[str] = dataclasses.field(default_factory=list)
    is_coming: bool = False

    @classmethod
    def of(cls, request: SignedInRequest, data: Mapping[str, Any], act: str) -> Attached:
        """Of a form that is sent; of one that is looked at, what it announces."""
        paths = str(data.get("attach_paths", ""))[:LONGEST]
        if request.method != "POST" or act:
            return cls(bringing.announced(paths))
        files = request.FILES.getlist("attach")
        lost = len(bringing.announced(paths)) > len(files)
        return cls(bringing.sent(files, paths), [_("Not all files arrived. Choose them again.")] if lost else [])

    def judge(self, folder: str, git: str, rules: Mapping[str, Any]) -> None:
        """What is wrong with them before any is taken; `folder` and `git`: what else says where the job starts."""
        if not self.files or self.wrong:
            return
        if git.strip():
            self.wrong.append(_("Give either files or a git address: each has a folder of its own."))
        elif folder.strip():
            self.wrong.append(_("Either files that go into a new folder, or a folder that is there: not both."))
        elif not may(rules):
            self.wrong.append(_("The preset says in which folder the job starts; put the files there first."))
        else:
            self.tell(self._checked)

    def tell(self, act: Any) -> Any:
        """What `act` gives; None where it fails for the files, which is said beside them."""
        try:
            return act()
        except bringing.TooMuch:
            self.wrong.append(too_much())
        except bringing.NotBrought as error:
            said = words.of(error.why)[2]
            self.wrong.append(f"{shown(error.name)}: {said}" if error.name else said)
        except attaching.StillComing:
            self.is_coming = True
            self.wrong.append(_("This form was sent a moment ago and is still at work. Look at your jobs."))
        except words.FAILURES as error:
            self.wrong.append(words.of(error)[2])
        return None

    def _checked(self) -> None:
        bringing.check(self.files)

    def place(self, name: str, key: str, by: User) -> str:
        """Where the job would start, from the project's folder on; "" where nothing goes with it."""
        return attaching.places(name, key, by, self.files)[1] if self.files else ""


def may(rules: Mapping[str, Any]) -> bool:
    """Whether files can go with the job: the preset leaves open where it starts."""
    return bool(rules.get("folder", {}).get("mode", DEFAULT) == DEFAULT)


def bounds() -> dict[str, object]:
    """What a request may bring, for the page and its script."""
    most = bringing.MOST_BYTES
    return {"files": bringing.MOST_FILES, "bytes": most, "mb": most // 1024**2, "said": too_much()}


def too_much() -> str:
    """The bounds of one request, and what to do with more."""
    return _(
        "At most %(n)d files and %(mb)d MB together go with a job. Put many files into a zip; upload large ones to the "
        "project's files first and give their folder."
    ) % {"n": bringing.MOST_FILES, "mb": bringing.MOST_BYTES // 1024**2}  # fmt: skip
