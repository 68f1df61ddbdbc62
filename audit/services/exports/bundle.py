"""The signed bundle: evidence, a manifest the sealer signs, and all it takes to verify both without the portal."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model

from audit.models.export import Export
from audit.services import unseen
from audit.services.sealing import told

EVIDENCE = "evidence.jsonl.gz"
_TEXTS = Path(__file__).with_name("texts")
_CLIENT = Path(settings.BASE_DIR) / "client/bancada"
_VERIFIER = ("__init__", "verify", "bodies", "evidence", "quick", "bundles")
# what lies in it besides evidence, manifest and signature; each is named in the manifest with its digest
_FILES = {
    "README.md": _TEXTS / "README.md",
    "README.pt-BR.md": _TEXTS / "README.pt-BR.md",
    "schema.json": _TEXTS / "schema.json",
    **{f"verifier/bancada/{name}.py": _CLIENT / f"{name}.py" for name in _VERIFIER},
}


def manifest(row: Export, digest: str) -> str:
    """What the sealer signs, byte for byte; `digest` is of the packed evidence."""
    return json.dumps({
        "bancada": "bundle", "version": 1, "origin": settings.PUBLIC_URL, "id": str(row.pk),
        "filter": row.asked_for, "project": row.project_code or None, "count": row.count,
        "first": row.after + 1, "last": row.last, "checkpoint": told(row.checkpoint),
        "scope": row.wanted.get("scope"), "exporter": {"number": row.asked_by_id, "sign_in": _login(row)},
        "not_followed": [gap.plain() for gap in unseen.gaps()],
        "asked_at": row.asked_at.astimezone(UTC).isoformat(timespec="seconds"),
        "files": {EVIDENCE: digest} | {name: _digest(path) for name, path in _FILES.items()},
    }, ensure_ascii=False, sort_keys=True, indent=1)  # fmt: skip


def _login(row: Export) -> str:
    found = get_user_model()._default_manager.filter(pk=row.asked_by_id or 0).first()
    return found.get_username() if found else ""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pack(row: Export, into: Path) -> None:
    """The file as it is downloaded. Nothing in it depends on when it is packed."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, data in _written_out(row):
            archive.writestr(_entry(name), data)
        with row.part.open("rb") as evidence, archive.open(_entry(EVIDENCE), "w", force_zip64=True) as target:
            while block := evidence.read(1 << 20):
                target.write(block)


def _written_out(row: Export) -> Iterator[tuple[str, bytes]]:
    yield "manifest.json", row.manifest.encode()
    yield "manifest.sig", json.dumps({"key": row.key_id, "signature": row.signature}).encode() + b"\n"
    yield "public-key.pem", row.public_key.encode()
    yield from ((name, path.read_bytes()) for name, path in _FILES.items())


def _entry(name: str) -> zipfile.ZipInfo:
    """Readable by everybody, and as old as a zip can be."""
    found = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    found.external_attr = 0o644 << 16
    return found
