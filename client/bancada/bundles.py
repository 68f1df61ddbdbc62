"""A signed bundle of a portal's audit trail: manifest, evidence and every other file are checked, each by its digest.

Like verify.py it needs the standard library and `cryptography` only.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from . import quick
from .evidence import Bad, Report, key_name, verify_items

DOMAIN = b"bancada:manifest:1\n"
EVIDENCE, MANIFEST, SIGNATURE, KEY = "evidence.jsonl.gz", "manifest.json", "manifest.sig", "public-key.pem"
UNSIGNED = {MANIFEST, SIGNATURE, KEY}
MOST = 1 << 20  # bytes of manifest, signature or key: they are read whole


def is_bundle(path: str) -> bool:
    """Whether it is a zip."""
    return path != "-" and zipfile.is_zipfile(path)


def check(path: Path, keys: Sequence[Ed25519PublicKey], remembered: Sequence[dict[str, Any]] = ()) -> Report:
    """Everything in it. Without `keys` its own is used, and the report says so. Raises Bad."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _check(archive, keys, remembered)
    except (zipfile.BadZipFile, EOFError, gzip.BadGzipFile) as error:
        raise Bad(f"bundle: damaged ({error})") from None


def _check(archive: zipfile.ZipFile, keys: Sequence[Ed25519PublicKey], remembered: Sequence[dict[str, Any]]) -> Report:
    names = archive.namelist()
    if len(names) != len(set(names)):
        raise Bad("bundle: two files of one name")
    own = _own_key(archive)
    signed = _manifest(archive, list(keys) or [own])
    _files(archive, names, signed)
    with archive.open(EVIDENCE) as packed, gzip.open(packed) as raw:
        report = verify_items(quick.items(raw), list(keys) or [own], remembered)
    _agree(report, signed)
    report.notes.append(_said(signed))
    if not keys:
        report.notes.append(f"the key {key_name(own)} came with the bundle: compare its name with one you were told")
    return report


def _own_key(archive: zipfile.ZipFile) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(_small(archive, KEY))
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise Bad(f"bundle: {KEY} is no Ed25519 public key")
    return key


def _small(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(name) as file:
            data = file.read(MOST + 1)
    except KeyError:
        raise Bad(f"bundle: {name} is missing") from None
    if len(data) > MOST:
        raise Bad(f"bundle: {name} is too long to be one")
    return data


def _manifest(archive: zipfile.ZipFile, keys: Sequence[Ed25519PublicKey]) -> dict[str, Any]:
    """What the sealer signed."""
    words, known = _small(archive, MANIFEST), {key_name(key): key for key in keys}
    try:
        said = json.loads(_small(archive, SIGNATURE))
        known[said["key"]].verify(bytes.fromhex(said["signature"]), DOMAIN + words)
    except KeyError:
        raise Bad("manifest: signed by a key you did not give") from None
    except (ValueError, TypeError, InvalidSignature):
        raise Bad("manifest: its signature is wrong") from None
    found = json.loads(words)
    if found.get("bancada") != "bundle" or found.get("version") != 1:
        raise Bad("manifest: not a bundle of version 1")
    return dict(found)


def _files(archive: zipfile.ZipFile, names: Sequence[str], signed: dict[str, Any]) -> None:
    """Each file is what was signed, none is missing, none is there besides."""
    digests = dict(signed["files"])
    for name in sorted(set(names) - UNSIGNED - set(digests)):
        raise Bad(f"bundle: {name} is not in the manifest")
    for name, digest in digests.items():
        if name not in names:
            raise Bad(f"bundle: {name} is missing")
        with archive.open(name) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:  # type: ignore[arg-type]
                raise Bad(f"bundle: {name} is another than the one that was signed")


def _agree(report: Report, signed: dict[str, Any]) -> None:
    """The evidence is what the manifest says of it."""
    pairs = {
        "origin": (report.origin, signed["origin"]), "first": (report.first, signed["first"]),
        "last": (report.last, signed["last"]), "filter": (report.filter, signed["filter"]),
        "count": (report.events, signed["count"]),
    }  # fmt: skip
    for name, (found, said) in pairs.items():
        if found != said:
            raise Bad(f"manifest: says {name} {said}, and the evidence has {found}")


def _said(signed: dict[str, Any]) -> str:
    who = signed["exporter"].get("sign_in") or "nobody named"
    return f"bundle {signed['id']}, asked for by {who} at {signed['asked_at']}: {len(signed['files'])} files as signed"
