"""Slurm and what stands between it and us: the signer, slurmrestd, accounting, the follower's picture, ticket key."""

from __future__ import annotations

import os
import socket
import stat
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from cluster import slurm_door
from cluster.models import Cluster
from jobs.models import Job
from jobs.states import Phase
from logs import keys
from logs.client import Reader, ReaderDown
from portal.doctor.finding import Trouble
from slurm.books import GPU
from slurm.contract import Refused, SlurmError, Unreachable
from slurm.tokens import SignerTokens

STUCK_AFTER = timedelta(minutes=2)


def signer() -> str:
    """It gives this process a token."""
    try:
        token = SignerTokens(settings.SIGNER_SOCKET).reading()
    except Unreachable as error:
        raise Trouble(str(error), "start the signer, or correct BANCADA_SIGNER_SOCKET") from error
    except Refused as error:
        raise Trouble(str(error), "name this process's user in the signer's --allow") from error
    return f"gives us a token as {token.name}"


def slurm() -> str:
    """slurmrestd and slurmctld answer."""
    try:
        return f"Slurm {slurm_door.gateway().version()} through {settings.SLURM_URL}"
    except SlurmError as error:
        raise Trouble(str(error), "start slurmctld and slurmrestd; correct SLURM_URL and SLURM_CONF") from error


def accounting() -> str:
    """slurmdbd answers."""
    try:
        rows = slurm_door.gateway().accounting(since=timezone.now() - timedelta(hours=1))
    except SlurmError as error:
        raise Trouble(str(error), "start slurmdbd; jobs go on, but nothing is confirmed as gone meanwhile") from error
    return f"answers; {len(rows)} jobs in the last hour"


def shares() -> str:
    """People's shares of an allocation hold only where each partition counts GPUs, and nothing else, in billing."""
    try:
        rows = slurm_door.gateway().partitions()
    except SlurmError as error:
        raise Trouble(str(error), "see Slurm above") from error
    wrong = sorted(row.name for row in rows if dict(row.billing) != {GPU: 1.0})
    if wrong:
        raise Trouble(
            f"billing counts something else than GPUs in {', '.join(wrong)}: people's shares are not what they say",
            "put TRESBillingWeights=GRES/gpu=1 into these partitions of slurm.conf (contrib/slurm.conf.example)",
        )
    return f"billing counts GPUs in {len(rows)} partitions"


def picture() -> str:
    """What the follower last saw: tells from any process whether Slurm is followed."""
    row = Cluster.objects.filter(name=settings.CLUSTER_NAME).first()
    if row is None or row.age_seconds is None:
        raise Trouble("the cluster was never seen", "start `manage.py follow_slurm`")
    if row.stale:
        raise Trouble(
            f"{row.age_seconds:.0f} s old {row.last_error}".strip(), "read the log of `manage.py follow_slurm`"
        )
    if row.unreachable:
        raise Trouble(f"Slurm does not answer: {row.last_error}", "run doctor as the process of database role slurm")
    return f"{row.age_seconds:.0f} s old, Slurm {row.slurm_version}"


def hand_over() -> str:
    """Requests that nobody hands over."""
    limit = timezone.now() - STUCK_AFTER
    waiting = Job.objects.filter(phase=Phase.REQUESTED, created_at__lt=limit).count()
    if waiting:
        raise Trouble(f"{waiting} jobs wait to be handed to Slurm", "start the worker of queue slurm and beat")
    return "nothing waits"


def log_reader() -> str:
    """The log reader's socket."""
    try:
        Reader(settings.READER_SOCKET, timeout=2).status()
    except ReaderDown as error:
        fix = "start logs.reader and logs.opener, or correct BANCADA_READER_SOCKET"
        raise Trouble(f"{settings.READER_SOCKET}: {error}", fix) from error
    return "answers"


def files_door() -> str:
    """The files' door: somebody listens, and lets this process in."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.settimeout(2)
        failed = probe.connect_ex(settings.FILES_SOCKET)
    if failed:
        fix = "start files.opener, name web's uid in its --allow-uid, or correct BANCADA_FILES_SOCKET"
        raise Trouble(f"{settings.FILES_SOCKET}: {os.strerror(failed)}", fix)
    return "listens"


def ticket_key() -> str:
    """The private key of log tickets: there, readable by us and by nobody else."""
    path = Path(settings.TICKET_KEY_FILE or "/nonexistent")
    try:
        mode = path.stat().st_mode
        name = keys.key_id(keys.load_private(path))
    except (OSError, ValueError) as error:
        raise Trouble(
            f"no key of log tickets: {error}", "make one and set BANCADA_TICKET_KEY (docs/operate.md)"
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Trouble(f"{path} may be read by others", f"chmod 400 {path}")
    return f"key {name}"
