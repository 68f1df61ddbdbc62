"""All checks in the order in which one would look."""

from __future__ import annotations

from portal.doctor import cluster, machine, people, stores
from portal.doctor.finding import Check, Finding, run_all
from portal.roles import SLURM, WEB, WORK

ASK_DIRECTORY = frozenset({WEB, WORK, SLURM})
ON_CLUSTER = frozenset({SLURM})

CHECKS = (
    Check("settings", machine.configuration),
    Check("versions", machine.versions),
    Check("disk", machine.disk),
    Check("PostgreSQL", stores.postgres),
    Check("migrations", stores.migrations),
    Check("database rights", stores.grants),
    Check("clock", stores.clock),
    Check("broker", stores.broker),
    Check("hints", stores.hints),
    Check("directory server", people.server, ASK_DIRECTORY),
    Check("directory search", people.search, ASK_DIRECTORY),
    Check("site groups", people.site_groups, ASK_DIRECTORY),
    Check("cluster picture", cluster.picture),
    Check("hand-over", cluster.hand_over),
    Check("log reader", cluster.log_reader, frozenset({WEB})),
    Check("files", cluster.files_door, frozenset({WEB})),
    Check("signer", cluster.signer, ON_CLUSTER),
    Check("Slurm", cluster.slurm, ON_CLUSTER),
    Check("accounting", cluster.accounting, ON_CLUSTER),
    Check("shares", cluster.shares, ON_CLUSTER),
    Check("ticket key", cluster.ticket_key, ON_CLUSTER),
)


def report(*, every: bool = False) -> list[Finding]:
    """What there is to say, as this process. `every`: ask also what belongs to other processes."""
    return run_all(CHECKS, stores.role(), every)
