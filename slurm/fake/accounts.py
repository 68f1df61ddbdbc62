"""The Accounts of a fake cluster: takes steps and refuses them as slurmdbd does."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from slurm import lines, naming
from slurm.books import Account, Association, Books, Qos
from slurm.contract import Refused, Unanswered
from slurm.fake.cluster import Cluster
from slurm.fake.gateway import FakeGateway
from slurm.fake.orders import obey
from slurm.orders import Order
from slurm.steps import Step, onto


@dataclasses.dataclass(frozen=True)
class FakeAccounts:
    """slurmdbd must answer; slurmctld hears of it at once."""

    cluster: Cluster

    def books(self, accounts: Collection[str] | None = None, qos: Collection[str] = ()) -> Books:
        for name in (*(accounts or ()), *qos):
            naming.checked(name)
        self.cluster.health.check("slurmdbd")
        with self.cluster.lock:
            people = [one for one in self.cluster.associations.values() if accounts is None or one.account in accounts]
            kinds = [one for one in self.cluster.qos.values() if accounts is None or one.name in qos]
        return Books.of((Account(one.account) for one in people if not one.user), kinds, people, governed=())

    def carry_out(self, steps: Sequence[Step]) -> Sequence[str]:
        for step in steps:
            lines.line(step)
        self.cluster.health.check("slurmdbd")
        with self.cluster.lock:
            cut = self.cluster.health.cut()
            said = [_taken(self.cluster, step) for step in steps[:cut]]
            self.cluster.tick()
        if cut is not None:
            raise Unanswered("sacctmgr was killed")
        return [words for words in said if words]

    def cancel_any(self, job_id: int) -> None:
        gateway = FakeGateway(self.cluster)
        self.cluster.health.check("slurmrestd", "slurmctld")
        gateway.end(self.cluster.named(job_id))

    def hold_any(self, job_id: int) -> None:
        self.cluster.health.check("slurmrestd", "slurmctld")
        with self.cluster.lock:
            waiting = [job for job in self.cluster.named(job_id) if not job.is_over]
            if not waiting:
                raise Refused("Job has already finished", code=2084)
            for job in waiting:
                job.held = job.reason = "JobHeldAdmin"

    def order_any(self, order: Order) -> None:
        self.cluster.health.check("slurmrestd", "slurmctld")
        with self.cluster.lock:
            obey(self.cluster, order, user=None)


def _taken(cluster: Cluster, step: Step) -> str:
    """Done, or what slurmdbd has against it; what is there is not added, and what is not there not changed."""
    after = step.after
    if isinstance(after, Account):
        cluster.associations.setdefault((after.name, "", ""), Association(after.name))
    elif isinstance(after, Qos):
        if step.kind.adds != (after.name in cluster.qos):
            cluster.qos[after.name] = onto(cluster.qos.get(after.name, after), step)
    elif (after.account, "", "") not in cluster.associations:
        return f"This account '{after.account}' doesn't exist."
    elif step.kind.adds != (after.key in cluster.associations):
        row = onto(cluster.associations.get(after.key, after), step)
        said = _objection(cluster, row)
        cluster.associations |= {} if said else {row.key: row}
        return said
    return ""


def _objection(cluster: Cluster, row: Association) -> str:
    unknown = sorted(row.qos - cluster.qos.keys())
    if unknown:
        return f"You gave a bad qos '{unknown[0]}'."
    if row.default_qos and row.default_qos not in row.qos:
        return "These associations don't have access to their default qos."
    return ""
