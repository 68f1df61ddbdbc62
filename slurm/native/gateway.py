"""The gateway by pyslurm: acts and single things in a child process of that identity, the bulk as text as ever."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from slurm import answers
from slurm.adapters import common
from slurm.base import Base
from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Refused, SlurmError, Submission, Unanswered
from slurm.native.children import Children
from slurm.native.submission import NO_USER, packed
from slurm.text import OVER
from slurm.tokens import Token

T = TypeVar("T")
Json = Mapping[str, Any]
READS_ONLY = "this Slurm takes no submission by token from libslurm, so this gateway only reads here: use slurmrestd"
_WEIGHTS = re.compile(r"^PartitionName=(\S+) .*?TRESBillingWeights=(\S+)", re.MULTILINE)


@dataclasses.dataclass
class PyslurmGateway(Base):
    """Slurm by libslurm; safe to share between threads, to be opened after a fork."""

    children: Children

    def version(self) -> str:
        return str(self.children.ask(self.tokens.reading(), "release_of"))

    def submit(self, submission: Submission, *, as_user: str) -> int:
        token = self.tokens.of(as_user)
        try:
            job_id = self.children.ask(token, "submit", asked=packed(submission), user=as_user)
        except Refused as refused:
            if refused.code == NO_USER:
                raise Refused(f"{refused.message}: {READS_ONLY}", code=NO_USER) from None
            raise
        if not isinstance(job_id, int) or job_id <= 0:
            raise Unanswered("pyslurm answered without a job id and without an error")
        return job_id

    def hold_with(self, token: Token, job_id: int, *, held: bool = True) -> None:
        self.children.ask(token, "hold", job_id=job_id, held=held)

    def end_with(self, token: Token, job_id: int) -> None:
        """pyslurm reads an error that another call may have left behind: what the job is then counts."""
        try:
            self.children.ask(token, "cancel", job_id=job_id)
        except SlurmError:
            if not all(record.states & (OVER | {"COMPLETING"}) for record in self.named(job_id, token)):
                raise

    def named(self, job_id: int, token: Token) -> list[JobRecord]:
        try:
            found = self.children.ask(token, "jobs_of", job_id=job_id)
        except Refused as refused:
            if refused.code == answers.UNKNOWN_JOB:
                return []
            raise
        return _parsed(lambda: [_job(one) for one in found])

    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]:
        token = self.tokens.reading()
        found = self.children.ask(token, "accounted", account=account, since=int(since.timestamp()))
        return _parsed(lambda: [common.accounting_record(one, uid, _pair(one)) for one in found])

    def accounting_backlog(self) -> int:
        found = self.children.ask(self.tokens.reading(), "backlog")
        return _parsed(lambda: int(found))

    def nodes(self) -> Sequence[NodeRecord]:
        found = self.children.ask(self.tokens.reading(), "nodes")
        return _parsed(lambda: [common.node_record(one, common.words(one["states"])) for one in found])

    def partitions(self) -> Sequence[PartitionRecord]:
        """What a partition charges stands in scontrol's text only."""
        token = self.tokens.reading()
        found = self.children.ask(token, "partitions")
        weights = dict(_WEIGHTS.findall(self.commands.read(token, "scontrol", "-o", "show", "partition")))
        return _parsed(lambda: [common.partition_record(**one, billing=weights.get(one["name"], "")) for one in found])


def _job(one: Json) -> JobRecord:
    """GPUs per task are not shown: None, so that nobody compares them."""
    return dataclasses.replace(common.job_record(one, _pair(one)), requested_gpus_per_task=None)


def _pair(one: Json) -> tuple[int | None, int | None]:
    code, signal = one["exit"]
    return code, signal


def _parsed(read: Callable[[], T]) -> T:
    """Something of another shape than was asked for is no answer."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Unanswered(f"pyslurm's answer cannot be read ({error!r})") from None
