"""The sealer signs manifests of finished exports: it alone has the key, and signs none that the trail does not know."""

from __future__ import annotations

import json
from typing import Any

import structlog
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.actions import Action
from audit.models import AuditEvent, AuditSeal, Checkpoint
from audit.models.export import Export, State
from audit.services.keys import key_id

log = structlog.get_logger(__name__)
DOMAIN = b"bancada:manifest:1\n"  # so that no signature of one kind passes for one of another


def sign_waiting(key: Ed25519PrivateKey) -> int:
    """Sign what waits and is as the trail says; how many."""
    signed = 0
    for row in Export.objects.filter(state=State.SIGNING, signature=""):
        if not _is_known(row):
            log.warning("manifest not signed: the sealed trail does not know it", export=str(row.pk))
            continue
        row.signature, row.key_id = key.sign(DOMAIN + row.manifest.encode()).hex(), key_id(key.public_key())
        row.public_key = _pem(key)
        row.save(update_fields=["signature", "key_id", "public_key"])
        signed += 1
    return signed


def _pem(key: Ed25519PrivateKey) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def _is_known(row: Export) -> bool:
    """Whether a sealed event tells of just this evidence, and its checkpoint is one of ours."""
    try:
        said = json.loads(row.manifest)
        digest, last, checkpoint = said["files"]["evidence.jsonl.gz"], said["last"], said["checkpoint"]
    except (ValueError, KeyError, TypeError):
        return False
    told = AuditEvent.objects.about("export", row.pk).filter(action=Action.TRAIL_EXPORTED, outcome="done")
    events = [event for event in told if _agrees(event.detail, said, digest)]
    sealed = AuditSeal.objects.filter(event_id__in=[event.pk for event in events]).exists()
    ours = Checkpoint.objects.filter(pk=row.checkpoint_id, seq=last, signature=bytes.fromhex(checkpoint["signature"]))
    return sealed and ours.exists()


def _agrees(detail: dict[str, Any], said: dict[str, Any], digest: str) -> bool:
    parts = {"digest": digest, "count": said["count"], "first": said["first"], "last": said["last"]}
    return all(detail.get(name) == value for name, value in parts.items()) and detail.get("filter") == said["filter"]
