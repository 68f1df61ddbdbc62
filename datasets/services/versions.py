"""Versions of a dataset: added, withdrawn, and the manifest that a job made of one."""

from __future__ import annotations

import hashlib
import re
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from audit import trail
from audit.actions import Action
from datasets.models import Dataset, DatasetVersion
from datasets.services.registering import lock

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


@transaction.atomic
def keep_manifest(*, version: DatasetVersion, output: str, by: User) -> DatasetVersion:
    """Keep what the job printed, if it is whole: the digest it names is that of its lines. Raises NoManifest,
    HasManifest."""
    row = DatasetVersion.objects.select_for_update(of=("self",)).select_related("dataset__project").get(pk=version.pk)
    if row.manifest_digest:
        raise HasManifest(str(row))
    row.manifest, row.manifest_digest, row.files, row.size = _read(output)
    row.measured_at = timezone.now()
    row.save(update_fields=["manifest", "manifest_digest", "files", "size", "measured_at"])
    trail.record(
        Action.DATASET_MANIFEST_KEPT, by=by, about=row.dataset, project=row.dataset.project, version=row.label,
        digest=row.manifest_digest, files=row.files, bytes=row.size, job=str(row.manifest_job),
    )  # fmt: skip
    return row


def _read(output: str) -> tuple[str, str, int, int]:
    """(the lines, their digest, files, bytes). Of an output whose beginning is missing only the sums are known."""
    body, _, last = output.rstrip("\n").rpartition("\n")
    found = END.match(last)
    if found is None:
        raise NoManifest(last[:200])
    digest, files, size = found[1], int(found[2]), int(found[3])
    text = f"{body}\n" if body else ""
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        raise NoManifest("its lines are not those the digest was made of")
    return text if len(text) <= MOST_KEPT else "", digest, files, size
