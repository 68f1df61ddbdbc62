"""Scripts somebody brought and has not asked for yet: kept, read again with other answers, asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from datasets.services import NotPermitted
from jobs.models import Draft, DraftState, Job
from jobs.services import asking, pace
from jobs.services.importing import dictionary
from jobs.services.importing.findings import Became, Finding, Imported
from jobs.services.importing.reading import Reader
from jobs.specs import LONGEST_SCRIPT, BadSpec
from projects.models import Project
from quotas.services import OverAllocation

MOST_FILES, MOST_KEPT = 100, 500


class TooMany(Exception):
    """No more drafts are kept for one person; says so."""


class NotText(Exception):
    """What was brought is no script; says which and why."""


def decoded(name: str, data: bytes) -> str:
    """The text of a file; raises NotText."""
    if len(data) > LONGEST_SCRIPT:
        raise NotText(_("%(name)s: The script is longer than 4 MiB.") % {"name": name})
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        raise NotText(_("%(name)s: This is not a text file.") % {"name": name})
    return text


def mine(by: User) -> QuerySet[Draft]:
    """Not asked for yet, newest first."""
    return Draft.objects.filter(owner=by, job=None).select_related("project").defer("text").order_by("-pk")


def keep(*, project: Project, files: Sequence[tuple[str, str]], by: User) -> list[Draft]:
    """One draft for each (name, text), read by the dictionary in force. Raises TooMany."""
    if mine(by).count() + len(files) > MOST_KEPT:
        raise TooMany(_("You have %(n)d drafts; delete some first.") % {"n": MOST_KEPT})
    words, partitions = dictionary.current(), asking.partitions_of(project)
    read = [(name, text, Reader(project, partitions, by, words, name).read(text)) for name, text in files]
    drafts = [_filled(Draft(owner=by, project=project, name=name[:200], text=text), one) for name, text, one in read]
    return Draft.objects.bulk_create(drafts)


def _filled(draft: Draft, one: Imported) -> Draft:
    draft.state, draft.fields = DraftState(one.state), dict(one.fields)
    draft.findings = [dataclasses.asdict(finding) for finding in one.findings]
    return draft


def read_again(*, draft: Draft, undone: Iterable[str]) -> Draft:
    """With these entries of the dictionary left out."""
    draft.undone = sorted(set(undone))[: dictionary.MOST]
    words = dictionary.current(draft.undone)
    found = Reader(draft.project, asking.partitions_of(draft.project), draft.owner, words, draft.name).read(draft.text)
    _filled(draft, found).save(update_fields=["undone", "state", "fields", "findings"])
    return draft


def findings(draft: Draft) -> list[Finding]:
    """As they were kept."""
    return [Finding(**{**one, "became": Became(one["became"])}) for one in draft.findings]


def request_of(draft: Draft) -> dict[str, Any]:
    """The raw request it makes."""
    return dict(draft.fields)


KEY = "draft "  # a request with this before the draft's id as its key was made from the draft


def key_of(text: str) -> str:
    """The idempotency key of a draft, "draft <id>"; "" for any other."""
    try:
        return f"{KEY}{UUID(text.removeprefix(KEY))}" if text.startswith(KEY) else ""
    except ValueError:
        return ""


def became(job: Job) -> None:
    """If it was asked for from a draft of its owner's, that is done with."""
    key = key_of(job.idempotency_key or "")
    if key:
        Draft.objects.filter(pk=key.removeprefix(KEY), owner=job.owner, job=None).update(job=job)


def ask(*, drafts: Iterable[Draft], by: User) -> tuple[list[Job], Mapping[str, str]]:
    """Ask for each that is ready: the jobs made, and by the name of its file why another was not."""
    made, refused = list[Job](), dict[str, str]()
    for draft in drafts:
        try:
            made.append(_ask(draft, by))
        except BadSpec as bad:
            refused[draft.name] = " ".join(said for all_of_it in bad.errors.values() for said in all_of_it)
        except pace.TooFast as fast:
            refused[draft.name] = fast.words
        except (asking.NotNow, OverAllocation, NotPermitted, asking.KeyReused) as no:
            refused[draft.name] = str(no)
    return made, refused


def _ask(draft: Draft, by: User) -> Job:
    if draft.state != DraftState.READY:
        raise asking.NotNow(_("It is not ready: open it and look at its findings."))
    spec, allocation = asking.prepare(request_of(draft), project=draft.project, by=by)
    job = asking.submit(
        project=draft.project, spec=spec, allocation=allocation, by=by, idempotency_key=f"{KEY}{draft.pk}"
    )
    became(job)
    return job
