"""What a person may do with a job as it stands now, and what that does to it. Pure: a row and rights in, words out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from django.db.models import TextChoices
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.states import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

    from jobs.models import Job


class Act(TextChoices):
    """The acts; those on Slurm are carried out by the worker."""

    CANCEL = "cancel", _("Cancel")
    HOLD = "hold", _("Hold in queue")
    RELEASE = "release", _("Release")
    REQUEUE = "requeue", _("Requeue")
    EXTEND = "extend", _("Change the time limit")
    RERUN = "rerun", _("Run again")
    ARCHIVE = "archive", _("Archive")
    UNARCHIVE = "unarchive", _("Take out of the archive")
    STAR = "star", _("Mark with a star")
    UNSTAR = "unstar", _("Take the star away")


ON_SLURM = frozenset({Act.CANCEL, Act.HOLD, Act.RELEASE, Act.REQUEUE, Act.EXTEND})
OF_MANY = (
    Act.CANCEL, Act.HOLD, Act.RELEASE, Act.REQUEUE, Act.EXTEND, Act.RERUN, Act.ARCHIVE, Act.UNARCHIVE, Act.STAR,
    Act.UNSTAR,
)  # fmt: skip
DESTROYS = frozenset({Act.CANCEL, Act.REQUEUE})  # asked once more
WAITS = (State.WAITING, State.REQUEUED)
RUNS = (State.RUNNING, State.SUSPENDED)


@dataclasses.dataclass(frozen=True, slots=True)
class Rights:
    """What the person may: act on this job, on everybody's of the project, submit there, run the cluster."""

    act: bool = False
    act_on_all: bool = False
    submit: bool = False
    operate: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an act is possible, and what it does or why it is not."""

    act: Act
    ok: bool
    words: Text


def judge(job: Job, act: Act, rights: Rights) -> Verdict:
    """The verdict on one act; the rows of Slurm may have moved on when it is carried out."""
    refusal = _without_right(job, act, rights) or _REFUSES.get(act, _never)(job, rights)
    return Verdict(act, not refusal, refusal or _does(job, act))


def possible(job: Job, rights: Rights) -> dict[str, Verdict]:
    """The acts that are possible now."""
    verdicts = (judge(job, act, rights) for act in Act)
    return {verdict.act.value: verdict for verdict in verdicts if verdict.ok}


def _without_right(job: Job, act: Act, rights: Rights) -> Text:
    if act is Act.EXTEND and not rights.operate:
        return _("Only a cluster administrator changes a time limit: Slurm lets nobody else lengthen one.")
    if act is Act.RERUN and not rights.submit:
        return _("You may not submit jobs in this project.")
    if act in (Act.STAR, Act.UNSTAR, Act.RERUN, Act.EXTEND):
        return ""
    if not rights.act:
        return _("It is somebody else's job.")
    if job.is_outside and act in ON_SLURM - {Act.CANCEL}:
        return _("It was submitted outside the portal: this is done there.")
    return ""


def _never(_job: Job, _rights: Rights) -> Text:
    return ""


def _cancel(job: Job, _rights: Rights) -> Text:
    if not job.is_open:
        return _("It has already ended.")
    return _("Its end has been asked for already.") if job.cancel_asked_at else ""


def _hold(job: Job, _rights: Rights) -> Text:
    return "" if job.state in WAITS else _("Only a job that waits can be held in queue.")


def _release(job: Job, rights: Rights) -> Text:
    if job.state != State.HELD:
        return _("It is not held in queue.")
    if job.reason == "JobHeldAdmin" and not rights.act_on_all:
        return _("A manager of the project or a cluster administrator holds it, and releases it.")
    return ""


def _requeue(job: Job, _rights: Rights) -> Text:
    if job.state not in RUNS:
        return _("Only a job that runs can be put back into the queue.")
    return _("It asked not to be requeued.") if job.options.get("requeue") is False else ""


def _extend(job: Job, _rights: Rights) -> Text:
    good = job.state in (*WAITS, *RUNS, State.HELD)
    return "" if good else _("Only a job that waits or runs has a time limit that can be changed.")


def _rerun(job: Job, _rights: Rights) -> Text:
    return _("The portal does not have its script.") if job.is_outside or not job.script else ""


def _archive(job: Job, _rights: Rights) -> Text:
    if job.is_open:
        return _("It has not ended yet.")
    return _("It is in the archive already.") if job.archived_at else ""


def _unarchive(job: Job, _rights: Rights) -> Text:
    return "" if job.archived_at else _("It is not in the archive.")


_REFUSES = {
    Act.CANCEL: _cancel, Act.HOLD: _hold, Act.RELEASE: _release, Act.REQUEUE: _requeue, Act.EXTEND: _extend,
    Act.RERUN: _rerun, Act.ARCHIVE: _archive, Act.UNARCHIVE: _unarchive,
}  # fmt: skip
_SAYS: dict[Act, Text] = {
    Act.HOLD: _("It stays in the queue and does not start until it is released."),
    Act.RELEASE: _("It waits for its turn again."),
    Act.REQUEUE: _("It stops, what it has not saved is lost, and it waits for its turn again."),
    Act.EXTEND: _("Its time limit changes."),
    Act.RERUN: _("A new job with the same request is submitted."),
    Act.ARCHIVE: _("It is left out of the lists. Nothing of it is deleted."),
    Act.UNARCHIVE: _("It is in the lists again."),
    Act.STAR: _("It is among your starred jobs."),
    Act.UNSTAR: _("It is no longer among your starred jobs."),
}


def _does(job: Job, act: Act) -> Text:
    if act is Act.EXTEND and job.time_limit_minutes:
        return format_lazy(_("Its time limit, {n} minutes so far, changes."), n=job.time_limit_minutes)
    if act is not Act.CANCEL:
        return _SAYS[act]
    if job.state in RUNS:
        return _("It ends now, and what it has not saved is lost. Its record and its output stay.")
    return _("It leaves the queue without having run. Its record stays.")
