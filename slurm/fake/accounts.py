"""The Accounts of a fake cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from slurm import naming
from slurm.contract import Association, Limits
from slurm.fake.cluster import Cluster, Membership, Qos
from slurm.fake.gateway import FakeGateway


@dataclasses.dataclass(frozen=True)
class FakeAccounts:
    """slurmdbd must answer; slurmctld hears of it at once."""

    cluster: Cluster

    def ensure_account(self, account: str, *, description: str = "", organization: str = "") -> None:
        self.cluster.health.check("slurmdbd")
        self.cluster.account_names.add(naming.checked(account))

    def ensure_qos(self, qos: str, limits: Limits, *, deny_on_limit: bool = False) -> None:
        self.cluster.health.check("slurmdbd")
        self.cluster.qos[naming.checked(qos)] = Qos(limits, deny_on_limit)

    def ensure_user(
        self, user: str, *, account: str, partitions: Sequence[str], qos: Sequence[str], default_qos: str
    ) -> None:
        self.cluster.health.check("slurmdbd")
        known = self.cluster.associations
        naming.need(account in self.cluster.account_names, f"no account {account}")
        naming.need(all(one in self.cluster.qos for one in qos), f"not all of these QOS exist: {', '.join(qos)}")
        naming.need(default_qos in qos, f"{default_qos} is not one of the user's QOS")
        for partition in partitions:
            known[account, naming.checked(user), partition] = Membership(tuple(qos), default_qos)
        for key, member in known.items():
            if key[:2] == (account, user) and key[2] not in partitions:
                member.max_submit_jobs = 0

    def stop_user(self, user: str, *, account: str) -> None:
        self.cluster.health.check("slurmdbd")
        for (its_account, its_user, _), member in self.cluster.associations.items():
            if (its_account, its_user) == (account, user):
                member.max_submit_jobs = 0

    def associations(self, account: str) -> Sequence[Association]:
        self.cluster.health.check("slurmdbd")
        return [
            Association(account, user, partition, member.qos, member.default_qos, member.max_submit_jobs)
            for (its_account, user, partition), member in self.cluster.associations.items()
            if its_account == account
        ]

    def cancel_any(self, job_id: int) -> None:
        gateway = FakeGateway(self.cluster)
        self.cluster.health.check("slurmrestd", "slurmctld")
        gateway.end(self.cluster.get(job_id))
