"""`bancada-verify`: check an export, an archive or a bundle of a portal's audit trail without the portal.

Only the standard library and `cryptography`. It says what it checked, and names the first record that is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from . import bundles, quick
from .evidence import Bad, Report, digest_of, encoded, verify, verify_items

__all__ = ["NOTHING", "OK", "WRONG", "Bad", "Report", "digest_of", "encoded", "main", "verify"]
OK, WRONG, NOTHING = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """0 all is as it was sealed, 1 something is wrong, 2 there was nothing to verify (or a wrong command line)."""
    parser = argparse.ArgumentParser(prog="bancada-verify", description=__doc__)
    parser.add_argument("export", help="the file (JSON lines, or a bundle), or - for standard input")
    parser.add_argument("--key", action="append", default=[], metavar="PEM", help="public key of the sealer")
    parser.add_argument("--remembered", metavar="FILE", help="checkpoints kept outside, one JSON object a line")
    asked = parser.parse_args(arguments)
    if not asked.key and not bundles.is_bundle(asked.export):
        parser.error("--key is needed: the public key of the sealer, as you were given it")
    try:
        keys = [_key(Path(name)) for name in asked.key]
        kept = Path(asked.remembered).read_text().splitlines() if asked.remembered else []
        report = _checked(asked.export, keys, [json.loads(line) for line in kept if line.strip()])
    except Bad as bad:
        _say(f"WRONG: {bad}")
        return WRONG
    except (OSError, ValueError) as error:
        sys.stderr.write(f"cannot verify: {error}\n")
        return NOTHING
    return _told(report, compared=bool(kept))


def _checked(export: str, keys: Sequence[Ed25519PublicKey], remembered: Sequence[dict[str, Any]]) -> Report:
    if bundles.is_bundle(export):
        return bundles.check(Path(export), keys, remembered)
    items = quick.items(sys.stdin.buffer) if export == "-" else quick.items_of(Path(export))
    return verify_items(items, keys, remembered)


def _told(report: Report, *, compared: bool) -> int:
    _say("\n".join(report.lines()))
    if not report.events + report.digests_only:
        _say("NOTHING to verify")
        return NOTHING
    _say("OK" if report.remembered or not compared else "OK, though none of the remembered checkpoints lies in it")
    return OK


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")


def _key(path: Path) -> Ed25519PublicKey:
    key = serialization.load_pem_public_key(path.read_bytes())
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(f"{path} is no Ed25519 public key")
    return key


if __name__ == "__main__":
    raise SystemExit(main())
