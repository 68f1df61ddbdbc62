"""A job and the files that go with it: one request, one new folder; where either is refused, neither stays."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.utils.translation import gettext as _

from access.ids import uuid7
from accounts.models import User
from files.answers import Refused
from jobs import specs
from jobs.code import RUNS
from jobs.models import Job
from jobs.services import asking, pace
from projects.models import Project
from quotas.models import Allocation
from storage.services import bringing
from storage.services.bringing import Sent

PATIENCE, LOOK = 10.0, 0.2  # seconds for the same request, sent a moment ago, to be done; and between two looks


class StillComing(Exception):
    """The same request, sent a moment ago, is not done yet."""


def submit(
    *, project: Project, spec: specs.JobSpec, allocation: Allocation, by: User, files: Sequence[Sent],
    idempotency_key: str | None = None,
) -> Job:  # fmt: skip
    """As `asking.submit`, in a new folder with these files. The same key gives the same job and the same folder.

    Raises what `asking.submit`, `bringing.check` and `bringing.folder` do, and StillComing.
    """
    if not files:
        return asking.submit(project=project, spec=spec, allocation=allocation, by=by, idempotency_key=idempotency_key)
    if spec.options.git:
        raise asking.NotNow(_("Give either files or a git address: each has a folder of its own."))
    bringing.check(files)
    key = idempotency_key or str(uuid7())
    folder, start = places(spec.name, key, by, files)
    spec = dataclasses.replace(spec, options=dataclasses.replace(spec.options, folder=start))
    until = time.monotonic() + PATIENCE
    while (job := asking.earlier(project=project, spec=spec, allocation=allocation, by=by, key=key)) is None:
        asking.may_submit(project, by)
        pace.check(by=by)
        try:
            with bringing.folder(project=project, by=by, path=folder, files=files):
                return asking.submit(project=project, spec=spec, allocation=allocation, by=by, idempotency_key=key)
        except Refused as refused:
            if refused.answer != "exists":
                raise
        if time.monotonic() > until:
            raise StillComing
        time.sleep(LOOK)
    return job


def places(name: str, key: str, by: User, files: Sequence[Sent]) -> tuple[str, str]:
    """(the new folder, where the job starts in it): the same for the same key. A zip that came alone is where."""
    digest = hashlib.sha256(f"{by.pk} {key}".encode()).hexdigest()[:6]
    folder = f"{RUNS}/{'-'.join(filter(None, (_stamp(key), bringing.plain(name), digest)))}"
    if len(files) == 1 and files[0].is_zip and "/" not in files[0].path:
        return folder, f"{folder}/{bringing.unpacked(files[0].path)}"
    return folder, folder


def _stamp(key: str) -> str:
    """When the form was drawn, where its key says it: folders sort by time."""
    try:
        number = UUID(key.rpartition(" ")[2])
    except ValueError:
        return ""
    moment = (number.int >> 80) / 1000
    return f"{datetime.fromtimestamp(moment, UTC):%Y%m%d-%H%M%S}" if number.version == 7 and moment < 2**32 else ""
