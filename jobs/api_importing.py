"""The API of imports: what a script would be asked for with, and the site's dictionary."""

from __future__ import annotations

from typing import Any, Literal, cast

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from access import gate
from access.errors import Refused
from access.permissions import Permission
from access.typed import Text
from accounts.models import User
from jobs.models import DictionaryVersion
from jobs.services.importing import Entry, dictionary, read_script
from jobs.services.importing.findings import Finding
from jobs.services.importing.replacing import KINDS
from jobs.specs import LONGEST_SCRIPT, BadSpec
from projects.models import Project

router = Router()
words = Router()


class ScriptIn(Schema):
    """An sbatch script as it is, for a project."""

    project: Text = Field(max_length=31)
    script: Text = Field(max_length=LONGEST_SCRIPT)
    name: Text = Field("", max_length=200, description="Of the file; names the job where the script does not.")
    undone: list[Text] = Field(
        default_factory=list, max_length=dictionary.MOST, description="Keys of replacements that are not wanted."
    )


class FindingOut(Schema):
    """What became of a line; `line` 0 is the file as a whole, `key` names a replacement that can be undone."""

    line: int
    place: str = Field(description="The line in the words of `said`'s language; empty for the file as a whole.")
    text: str
    became: Literal["mapped", "swapped", "replaced", "kept", "question", "refused"]
    said: str
    field: str
    key: str

    @staticmethod
    def resolve_place(one: Finding) -> str:
        """The word stands beside a sentence, so that it is in the same language."""
        return _("line %(n)d") % {"n": one.line} if one.line else ""


class ScriptRead(Schema):
    """`fields` is what POST /jobs takes; `state` says whether anything is in the way."""

    state: Literal["ready", "question", "refused"]
    fields: dict[str, Any]
    findings: list[FindingOut]


@router.post("/import", response=ScriptRead, operation_id="import_script")
def import_script(request: HttpRequest, asked: ScriptIn) -> dict[str, Any]:
    """Read an sbatch script as sbatch does. Nothing is asked for and nothing is kept."""
    project = gate.fetch(Project.objects, request.user, Permission.JOB_SUBMIT, code=asked.project)
    found = read_script(
        asked.script, project=project, by=cast(User, request.user), dictionary=dictionary.current(asked.undone),
        name=asked.name,
    )  # fmt: skip
    return {"state": found.state, "fields": {**found.fields, "project": project.code}, "findings": found.findings}


class WordOut(Schema):
    """What a name of this kind is called here."""

    kind: Literal[KINDS]  # type: ignore[valid-type]
    old: Text = Field(min_length=1, max_length=dictionary.LONGEST)
    new: Text = Field(min_length=1, max_length=dictionary.LONGEST)


class DictionaryOut(Schema):
    """A version; 0 where there is none yet."""

    number: int
    note: str
    entries: list[WordOut]


class DictionaryIn(Schema):
    """All entries of the next version, made from version `base`."""

    base: int = Field(ge=0, le=2**31 - 1)
    note: Text = Field("", max_length=300)
    entries: list[WordOut] = Field(max_length=dictionary.MOST)


@words.get("", response=DictionaryOut, operation_id="dictionary")
def in_force(request: HttpRequest) -> dict[str, Any]:
    """The dictionary in force."""
    return _out(dictionary.newest())


@words.put("", response={200: DictionaryOut}, operation_id="change_dictionary")
def change(request: HttpRequest, asked: DictionaryIn) -> Status[dict[str, Any]]:
    """Make the next version; a 409 where somebody else has made one since `base`."""
    if not gate.site_can(request.user, Permission.CLUSTER_OPERATE):
        raise Refused(Permission.CLUSTER_OPERATE, "jobs.dictionaryversion", {})
    text = dictionary.written(Entry(one.kind, one.old, one.new) for one in asked.entries)
    try:
        made = dictionary.change(
            entries=dictionary.parse(text), base=asked.base, note=asked.note, by=cast(User, request.user)
        )
    except dictionary.WrongLines as wrong:
        raise BadSpec({"entries": wrong.errors}) from wrong
    except dictionary.ChangedMeanwhile as error:
        raise HttpError(409, f"version {error} is in force") from error
    return Status(200, _out(made))


def _out(version: DictionaryVersion | None) -> dict[str, Any]:
    if version is None:
        return {"number": 0, "note": "", "entries": []}
    return {"number": version.number, "note": version.note, "entries": version.entries}
