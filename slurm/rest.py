"""The gateway to a real Slurm: slurmrestd for acts and for single things, squeue and sacct for the bulk."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from slurm import adapters, answers
from slurm.adapters import Adapter, Json
from slurm.base import Base
from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Refused, Submission, Unanswered, Unreachable
from slurm.tokens import Token
from slurm.wire import Wire

T = TypeVar("T")


@dataclasses.dataclass
class RestGateway(Base):
    """Slurm behind one slurmrestd; safe to share between threads, to be opened after a fork."""

    wire: Wire
    _adapter: Adapter | None = None
    _probing: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def version(self) -> str:
        token = self.tokens.reading()
        answer = self.wire.get(self._path("ping", token), token)
        if not self._spoken(token).is_up(answer):
            raise Unreachable("slurmrestd answers, but no slurmctld behind it does: is slurmctld running?")
        return parsed(self._spoken(token).release, answer)

    def submit(self, submission: Submission, *, as_user: str) -> int:
        token = self.tokens.of(as_user)
        body = self._spoken(token).submit_body(submission)
        answer = self.wire.post(self._path("job/submit", token), token, body)
        job_id = parsed(lambda got: int(got["job_id"]), answer)
        if job_id <= 0:
            raise Unanswered("slurmrestd answered without a job id and without an error")
        return job_id

    def hold_with(self, token: Token, job_id: int, *, held: bool = True) -> None:
        self.wire.post(self._path(f"job/{int(job_id)}", token), token, self._spoken(token).hold_body(held))

    def end_with(self, token: Token, job_id: int) -> None:
        self.wire.delete(self._path(f"job/{int(job_id)}", token), token)

    def named(self, job_id: int, token: Token) -> list[JobRecord]:
        try:
            answer = self.wire.get(self._path(f"job/{int(job_id)}", token), token)
        except Refused as refused:
            if refused.code == answers.UNKNOWN_JOB:
                return []
            raise
        return parsed(lambda got: [self._spoken(token).job_record(job) for job in got["jobs"]], answer)

    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]:
        token, adapter = self.tokens.reading(), self._spoken(self.tokens.reading())
        query = adapter.accounting_query(account, since)
        try:
            answer = self.wire.get(f"/slurmdb/{adapter.VERSION}/jobs/", token, **query)
        except Refused as refused:
            if refused.code == answers.NOTHING_FOUND:
                return []
            raise
        return parsed(lambda got: [adapter.accounting_record(job, uid) for job in got["jobs"]], answer)

    def accounting_backlog(self) -> int:
        token = self.tokens.reading()
        answer = self.wire.get(self._path("diag", token), token)
        return parsed(lambda got: int(got["statistics"]["dbd_agent_queue_size"]), answer)

    def nodes(self) -> Sequence[NodeRecord]:
        token = self.tokens.reading()
        answer = self.wire.get(self._path("nodes", token), token)
        return parsed(lambda got: [self._spoken(token).node_record(node) for node in got["nodes"]], answer)

    def partitions(self) -> Sequence[PartitionRecord]:
        token = self.tokens.reading()
        answer = self.wire.get(self._path("partitions", token), token)
        return parsed(lambda got: [self._spoken(token).partition_record(one) for one in got["partitions"]], answer)

    def _path(self, what: str, token: Token) -> str:
        return f"/slurm/{self._spoken(token).VERSION}/{what}"

    def _spoken(self, token: Token) -> Adapter:
        """The newest version both sides speak; asked once and remembered."""
        if self._adapter is None:
            with self._probing:
                self._adapter = self._adapter or self._probe(token)
        return self._adapter

    def _probe(self, token: Token) -> Adapter:
        for version in adapters.KNOWN:
            if self.wire.status(f"/slurm/{version}/ping", token) != 404:
                return adapters.load(version)
        known = ", ".join(adapters.KNOWN)
        raise Unreachable(f"slurmrestd speaks none of {known}: Slurm 22.05, or 24.11 and later, is needed")


def parsed(read: Callable[[Json], T], answer: Json) -> T:
    """An answer of another shape than Slurm's is no answer."""
    try:
        return read(answer)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise Unanswered(f"slurmrestd's answer cannot be read ({error!r})") from None
