"""The fake cluster behind pyslurm's gateway: real child processes, in which a stand-in for pyslurm is imported."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from slurm import fake
from slurm.commands import Commands
from slurm.contract import JobRecord, ReservationRecord, Used
from slurm.fake.gateway import FakeGateway
from slurm.native.children import Children
from slurm.native.gateway import PyslurmGateway
from slurm.orders import Order
from slurm.tokens import Token
from tests.contract.fake_lab import FakeLab
from tests.contract.real_lab import KeyTokens
from tests.slurm.pyslurm_desk import Desk

STAND_IN = Path(__file__).parents[1] / "slurm" / "stand_in"
WEIGHTS = "PartitionName={} AllowGroups=ALL AllowAccounts=ALL TRESBillingWeights=GRES/gpu=1\n"


class Shown(Commands):
    """scontrol's text of the partitions."""

    def read(self, token: Token, program: str, *args: str) -> str:
        assert (program, args) == ("scontrol", ("-o", "show", "partition"))
        return "".join(WEIGHTS.format(name) for name in ("gpu", "large", "prep"))


@dataclasses.dataclass
class HalfFake(PyslurmGateway):
    """What goes by command is the fake's."""

    text: FakeGateway

    def jobs(self) -> Sequence[JobRecord]:
        return self.text.jobs()

    def accounting(self, *, since: datetime, job_ids: Collection[int] = ()) -> Sequence[JobRecord]:
        return self.text.accounting(since=since, job_ids=job_ids)

    def accounting_of(self, account: str, since: datetime) -> Sequence[JobRecord]:
        return self.text.accounting_of(account, since)

    def used(self, *, since: datetime, job_ids: Collection[int]) -> Sequence[Used]:
        return self.text.used(since=since, job_ids=job_ids)

    def reservations(self) -> Sequence[ReservationRecord]:
        return self.text.reservations()

    def order_with(self, token: Token, order: Order) -> None:
        self.text.order(order, as_user=token.name)


def opened(folder: Path) -> tuple[HalfFake, Desk]:
    """A gateway whose children ask the fake cluster "contract"; to be closed, both."""
    cluster = fake.named("contract")
    desk = Desk(folder / "desk.sock", cluster)
    children = Children(str(folder / "desk.sock"), 60.0, folder=str(STAND_IN))
    gateway = HalfFake(KeyTokens(secrets.token_bytes(32)), Shown("/none", 1.0), children, cluster.gateway())
    return gateway, desk


class PyslurmLab(FakeLab):
    name = "pyslurm"

    def __init__(self, gateway: HalfFake) -> None:
        super().__init__()
        self.gateway = gateway
