"""The stack's own secrets: made once, each readable by exactly the user or group that needs it."""

from __future__ import annotations

import base64
import hashlib
import secrets
from pathlib import Path

from stack import shell

FOLDER = Path("/srv/var/secrets")
TICKETS = Path("/srv/var/tickets")
CHECKPOINTS = Path("/srv/var/checkpoints")  # the public key, and what the sealer signs, for those outside

# file, owner, group, mode
WORDS = (
    ("django", "root", "bancada-portal", 0o440),
    ("ldap", "root", "bancada-directory", 0o440),
    ("redis-broker", "root", "bancada-bus", 0o440),
    ("redis-hints", "root", "bancada-bus", 0o440),
    ("prometheus", "root", "bancada-portal", 0o440),
    ("agent", "bancada-agent", "bancada-prometheus", 0o440),
    ("metrics", "bancada-prometheus", "bancada-portal", 0o440),
)


# file -> what it holds, with the word of that name in place of {}; same readers as the word
ADDRESSES = {
    "redis-broker": "redis+socket://:{}@/srv/var/run/redis/broker.sock",
    "redis-hints": "unix://:{}@/srv/var/run/redis/hints.sock?db=0",
    "prometheus": "http://portal:{}@%s",
}


def prepare(prometheus: str) -> None:
    """`prometheus`: its host and port."""
    for name, user, group, mode in WORDS:
        if not (FOLDER / name).exists():
            shell.write(FOLDER / name, secrets.token_urlsafe(36), user=user, group=group, mode=mode)
        if name in ADDRESSES:
            text = ADDRESSES[name].replace("%s", prometheus).format(word(name))
            shell.write(FOLDER / f"{name}-url", text, user=user, group=group, mode=mode)
    _slurm_key()
    _ticket_key()
    _seal_key()


def word(name: str) -> str:
    return (FOLDER / name).read_text()


def _slurm_key() -> None:
    """Slurm's JWT key, a copy each for SlurmUser and the signer: no other process can forge a token."""
    if not (FOLDER / "signer-jwt").exists():
        key = secrets.token_hex(32)
        shell.write(FOLDER / "slurm-jwt", key, user="bancada-slurmctld", mode=0o400)
        shell.write(FOLDER / "signer-jwt", key, user="bancada-signer", mode=0o400)


def _seal_key() -> None:
    """The Ed25519 pair of the trail's sealer: only it signs, whoever verifies needs the public half."""
    if not (FOLDER / "seal.pem").exists():
        private = shell.run(["openssl", "genpkey", "-algorithm", "ed25519"])
        shell.write(CHECKPOINTS / "seal.pub.pem", shell.run(["openssl", "pkey", "-pubout"], text=private))
        shell.write(FOLDER / "seal.pem", private, user="bancada-seal", mode=0o400)


def _ticket_key() -> None:
    """The Ed25519 pair of log tickets: the slurm worker signs, reader and opener check with the public half."""
    if not (FOLDER / "ticket.pem").exists():
        private = shell.run(["openssl", "genpkey", "-algorithm", "ed25519"])
        public = shell.run(["openssl", "pkey", "-pubout"], text=private)
        raw = base64.b64decode("".join(public.splitlines()[1:-1]))[-32:]
        shell.write(TICKETS / f"{hashlib.sha256(raw).hexdigest()[:16]}.pem", public)  # its name is the key's id
        shell.write(FOLDER / "ticket.pem", private, user="bancada-slurm", mode=0o400)
