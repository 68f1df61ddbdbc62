"""A sealed trail to export from, made quickly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from audit import context, trail
from audit.actions import Action
from audit.models import Checkpoint
from audit.services.sealing import Sealer

KEY = Ed25519PrivateKey.generate()


def fill(user: Any, project: Any, *, parts: int = 3, each: int = 5, **detail: Any) -> Checkpoint:
    """Events in a project and outside, a checkpoint after each part; the last one."""
    sealer, last = Sealer.where_it_stands(), None
    for part in range(parts):
        with context.coming_from("web", address="192.0.2.7"):
            for number in range(each):
                where = project if number % 2 else None
                trail.record(Action.LOG_READ, by=user, project=where, about=project, part=part, number=number, **detail)
        sealer.seal()
        last = sealer.checkpoint(KEY)
    assert last is not None
    return last


def key_file(folder: Path) -> Path:
    """The public half, as an auditor has it."""
    path = folder / "key.pem"
    path.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return path
