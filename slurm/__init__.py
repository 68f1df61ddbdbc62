"""How the portal speaks to Slurm: plain Python, no Django."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slurm.contract import Accounts, Gateway

if TYPE_CHECKING:
    from slurm.native.gateway import PyslurmGateway
    from slurm.operating import Nodes
    from slurm.rest import RestGateway
    from slurm.tokens import Tokens

SIGNER = "/run/bancada/signer.sock"
CONF = "/etc/slurm/slurm.conf"
_REST, _NATIVE, _FAKE = "rest+unix://", "pyslurm:", "fake:"


def connect(
    url: str, *, signer: str | Path | Tokens = SIGNER, conf: str | Path = CONF, deadline: float = 10.0
) -> Gateway:
    """The gateway an address names; nothing is opened before the first call.

    rest+unix:///path/rest.sock   slurmrestd on a Unix socket, with squeue and sacct under `conf` for the bulk
    pyslurm:                      libslurm, in a child process for each identity; pyslurm:/folder where pyslurm lies
    fake:NAME                     a cluster in this process's memory, the same for every caller of that name

    `signer` is the signer's socket (or any Tokens), `deadline` seconds for each request. slurmrestd itself takes 9 s
    to say that slurmctld refuses connections: a shorter deadline turns that Unreachable into Unanswered.
    """
    if url.startswith(_FAKE):
        from slurm import fake

        return fake.named(url.removeprefix(_FAKE)).gateway()
    return _real(url, signer, conf, deadline)


def accounts(
    url: str,
    *,
    signer: str | Path | Tokens = SIGNER,
    conf: str | Path = CONF,
    deadline: float = 30.0,
    cluster: str = "",
) -> Accounts:
    """The administrator's door of the same cluster; the signer lets only the worker's uid through it.

    `cluster` is its name in slurmdbd, needed only where that serves several.
    """
    if url.startswith(_FAKE):
        from slurm import fake

        return fake.named(url.removeprefix(_FAKE)).accounts()
    from slurm.sacctmgr import Sacctmgr

    return Sacctmgr(_real(url, signer, conf, deadline), cluster)


def nodes(url: str, *, signer: str | Path | Tokens = SIGNER, conf: str | Path = CONF, deadline: float = 15.0) -> Nodes:
    """The administrator's orders to nodes of the same cluster; the signer lets only the worker's uid through it."""
    if url.startswith(_FAKE):
        from slurm import fake

        return fake.named(url.removeprefix(_FAKE)).nodes_door()
    from slurm.operating import ScontrolNodes

    return ScontrolNodes(_real(url, signer, conf, deadline))


def _real(url: str, signer: str | Path | Tokens, conf: str | Path, deadline: float) -> RestGateway | PyslurmGateway:
    from slurm.commands import Commands
    from slurm.tokens import SignerTokens

    tokens = SignerTokens(signer) if isinstance(signer, str | Path) else signer
    commands = Commands(str(conf), deadline)
    if url.startswith(_NATIVE):
        from slurm.native.children import Children
        from slurm.native.gateway import PyslurmGateway

        return PyslurmGateway(tokens, commands, Children(str(conf), deadline, folder=url.removeprefix(_NATIVE)))
    if url.startswith(_REST):
        from slurm.rest import RestGateway
        from slurm.wire import Wire

        return RestGateway(tokens, commands, Wire(url.removeprefix(_REST), deadline=deadline))
    raise ValueError(f"not an address of Slurm: {url!r} (rest+unix:///path/rest.sock, pyslurm: or fake:NAME)")
