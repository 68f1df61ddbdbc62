"""Versions of a dataset: added, withdrawn, and the manifest that a job made of one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Dataset, DatasetVersion
from datasets.services.registering import lock

LONGEST = 1024 * 1024  # bytes of a line
MOST_KEPT = 2 * 1024 * 1024  # characters of a manifest that are kept here; of a longer one only its digest and sums
END = re.compile(r"^bancada-manifest sha256=([0-9a-f]{64}) files=(\d{1,15}) bytes=(\d{1,18})$")
SCRIPT = """\
#!/bin/bash
# The manifest of {name}: a line a file (SHA-256, bytes, name), then their sums.
set -euo pipefail
export LC_ALL=C
made=$(mktemp)
trap 'rm -f "$made"' EXIT
cd -- '{path}'
bytes=0 files=0
while IFS= read -r -d '' line; do
    size=${{line%% *}} name=${{line#* }}
    digest=$(sha256sum < "./$name" | cut -d' ' -f1)
    printf '%s %s %q\\n' "$digest" "$size" "$name" >> "$made"
    bytes=$((bytes + size)) files=$((files + 1))
done < <(find . -type f -printf '%s %P\\0' | sort -z -t ' ' -k 2)
cat "$made"
printf 'bancada-manifest sha256=%s files=%s bytes=%s\\n' "$(sha256sum < "$made" | cut -d' ' -f1)" "$files" "$bytes"
"""


class NoManifest(Exception):
    """The job's output is no whole manifest."""


class HasManifest(Exception):
    """The version has its manifest already, and a manifest is never changed."""


def script_of(version: DatasetVersion) -> str:
    """What the job runs that makes the manifest; the path holds no character a shell reads as its own."""
    return SCRIPT.format(name=str(version), path=version.path)


@transaction.atomic
def add(*, dataset: Dataset, label: str, path: str, by: User, note: str = "") -> DatasetVersion:
    """Another version. Raises ValidationError."""
    row = DatasetVersion(dataset=lock(dataset), label=label, path=path, note=note, by=by)
    row.full_clean()
    row.save()
    trail.record(Action.DATASET_VERSION_ADDED, by=by, about=dataset, project=dataset.project, version=label, path=path)
    return row


@transaction.atomic
def withdraw(*, version: DatasetVersion, by: User, why: str = "") -> DatasetVersion:
    """No new job uses it. A second time does nothing."""
    row = DatasetVersion.objects.select_for_update(of=("self",)).select_related("dataset__project").get(pk=version.pk)
    if row.withdrawn_at is None:
        row.withdrawn_at = timezone.now()
        row.save(update_fields=["withdrawn_at"])
        trail.record(
            Action.DATASET_VERSION_WITHDRAWN, by=by, about=row.dataset, project=row.dataset.project,
            version=row.label, why=why,
        )  # fmt: skip
    return row


@transaction.atomic
def measuring(*, version: DatasetVersion, job: UUID, by: User) -> None:
    """A job was asked for that makes the manifest. Raises HasManifest."""
    row = DatasetVersion.objects.select_for_update(of=("self",)).select_related("dataset__project").get(pk=version.pk)
    if row.manifest_digest:
        raise HasManifest(str(row))
    row.manifest_job = job
    row.save(update_fields=["manifest_job"])
    trail.record(
        Action.DATASET_MANIFEST_ASKED, by=by, about=row.dataset, project=row.dataset.project, version=row.label,
        job=str(job),
    )  # fmt: skip


def keep_manifest(*, version: DatasetVersion, output: Iterable[bytes], by: User) -> DatasetVersion:
    """Keep what the job printed, if it is whole: the digest it names is that of its lines. It comes in pieces, of any
    length in all, and is read in flat memory, before anything is locked. Raises NoManifest, HasManifest."""
    return _keep(version, _read(output), by)


@transaction.atomic
def _keep(version: DatasetVersion, found: tuple[str, str, int, int], by: User) -> DatasetVersion:
    row = DatasetVersion.objects.select_for_update(of=("self",)).select_related("dataset__project").get(pk=version.pk)
    if row.manifest_digest:
        raise HasManifest(str(row))
    row.manifest, row.manifest_digest, row.files, row.size = found
    row.measured_at = timezone.now()
    row.save(update_fields=["manifest", "manifest_digest", "files", "size", "measured_at"])
    trail.record(
        Action.DATASET_MANIFEST_KEPT, by=by, about=row.dataset, project=row.dataset.project, version=row.label,
        digest=row.manifest_digest, files=row.files, bytes=row.size, job=str(row.manifest_job),
    )  # fmt: skip
    return row


def _read(output: Iterable[bytes]) -> tuple[str, str, int, int]:
    """(the lines, none where they are too many to keep; their digest; files; bytes)."""
    digest, kept, length, rest = hashlib.sha256(), list[bytes](), 0, b""
    for piece in output:
        rest += piece
        end = rest.rfind(b"\n", 0, len(rest) - 1) + 1  # the last line stays, whole or not
        digest.update(rest[:end])
        length += end
        if length <= MOST_KEPT:
            kept.append(rest[:end])
        rest = rest[end:]
        if len(rest) > LONGEST:
            raise NoManifest("a line of it is longer than any file's")
    last = rest.decode("utf-8", "replace").rstrip("\n")
    found = END.match(last)
    if found is None:
        raise NoManifest(last[:200])
    if digest.hexdigest() != found[1]:
        raise NoManifest("its lines are not those the digest was made of")
    text = b"".join(kept).decode("utf-8", "replace") if length <= MOST_KEPT else ""
    return text, found[1], int(found[2]), int(found[3])
