"""The process's own doors to Slurm, opened once and kept alive."""

from __future__ import annotations

from functools import cache

from django.conf import settings

import slurm
from slurm.contract import Accounts, Gateway
from slurm.operating import Nodes

DEADLINE = 12.0  # seconds: slurmrestd itself takes 9 to say that slurmctld is away


@cache
def gateway() -> Gateway:
    """The ordinary door, as `settings.SLURM_URL` says."""
    return slurm.connect(settings.SLURM_URL, signer=settings.SIGNER_SOCKET, conf=settings.SLURM_CONF, deadline=DEADLINE)


@cache
def nodes() -> Nodes:
    """The administrator's orders to nodes; only the worker's uid is given its token."""
    return slurm.nodes(settings.SLURM_URL, signer=settings.SIGNER_SOCKET, conf=settings.SLURM_CONF)


@cache
def accounts() -> Accounts:
    """The administrator's door; only the worker's uid is given its token."""
    return slurm.accounts(settings.SLURM_URL, signer=settings.SIGNER_SOCKET, conf=settings.SLURM_CONF)
