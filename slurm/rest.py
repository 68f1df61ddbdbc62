"""The gateway to a real Slurm: slurmrestd for acts and for single things, squeue and sacct for the bulk."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

from slurm import adapters, answers, bulk, search, used
from slurm.adapters import Adapter, Json
from slurm.commands import Commands
from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Refused, Submission, Unanswered, Unreachable, Used
from slurm.orders import Order
from slurm.text import OVER
from slurm.tokens import Token, Tokens
from slurm.wire import Wire

T = TypeVar("T")
ALREADY_OVER = 2021  # ESLURM_ALREADY_DONE
_HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})


@dataclasses.dataclass
class RestGateway:
    """Slurm behind one slurmrestd; safe to share between threads, to be opened after a fork."""

    wire: Wire
    tokens: Tokens
    commands: Commands
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

    def release(self, job_id: int, *, as_user: str) -> None:
        try:
            self.hold_with(self.tokens.of(as_user), job_id, held=False)
        except (Refused, Unanswered):
            # "not available now" may come with the hold gone, and 22.05 says of an array that it failed when it has
            # not: what counts is whether it still is held
            record = self.job(job_id, as_user=as_user)
            if record is None or "PENDING" not in record.states or record.reason in _HELD:
                raise

    def hold(self, job_id: int, *, as_user: str) -> None:
        try:
            self.hold_with(self.tokens.of(as_user), job_id)
        except Unanswered:  # as above
            record = self.job(job_id, as_user=as_user)
            if record is None or record.reason not in _HELD:
                raise

    def hold_with(self, token: Token, job_id: int, *, held: bool = True) -> None:
        """What an administrator holds only an administrator releases."""
        self.wire.post(self._path(f"job/{int(job_id)}", token), token, self._spoken(token).hold_body(held))

    def order(self, order: Order, *, as_user: str) -> None:
        self.order_with(self.tokens.of(as_user), order)

    def order_with(self, token: Token, order: Order) -> None:
        """By command: slurmrestd knows no such calls."""
        self.commands.order(token, *order.argv())

    def cancel(self, job_id: int, *, as_user: str) -> None:
        self.cancel_with(self.tokens.of(as_user), job_id)

    def cancel_with(self, token: Token, job_id: int) -> None:
        """Slurm says yes to cancelling what is over: look first. Of an array, all tasks are ended."""
        records = self._named(job_id, token)
        if not records:
            raise Refused(f"Slurm has no job {job_id} that this user may cancel", code=answers.UNKNOWN_JOB)
        if all(record.states & OVER and "COMPLETING" not in record.states for record in records):
            raise Refused(f"job {job_id} is over already", code=ALREADY_OVER)
        self.wire.delete(self._path(f"job/{int(job_id)}", token), token)

    def job(self, job_id: int, *, as_user: str | None = None) -> JobRecord | None:
        return self._job(job_id, self.tokens.of(as_user) if as_user else self.tokens.reading())

    def _job(self, job_id: int, token: Token) -> JobRecord | None:
        found = self._named(job_id, token)
        return next((record for record in found if record.job_id == job_id), found[0] if found else None)

    def _named(self, job_id: int, token: Token) -> list[JobRecord]:
        """The job of this number, or the tasks of the array; none where slurmctld has none."""
        try:
            answer = self.wire.get(self._path(f"job/{int(job_id)}", token), token)
        except Refused as refused:
            if refused.code == answers.UNKNOWN_JOB:
                return []
            raise
        return parsed(lambda got: [self._spoken(token).job_record(job) for job in got["jobs"]], answer)

    def jobs(self) -> Sequence[JobRecord]:
        return bulk.queue(self.commands, self.tokens.reading())

    def accounting(self, *, since: datetime, job_ids: Collection[int] = ()) -> Sequence[JobRecord]:
        return bulk.accounting(self.commands, self.tokens.reading(), since=since, job_ids=job_ids)

    def used(self, *, since: datetime, job_ids: Collection[int]) -> Sequence[Used]:
        return used.read(self.commands, self.tokens.reading(), since=since, job_ids=job_ids)

    def find(self, *, comment: str, uid: int, account: str, since: datetime) -> Sequence[JobRecord]:
        return search.find(self, search.Wanted(comment, uid, account, since.replace(microsecond=0)))

    def accounting_of(self, account: str, since: datetime) -> Sequence[JobRecord]:
        """The rows of one account, or Unanswered while some are half written."""
        return bulk.accounting(self.commands, self.tokens.reading(), since=since, account=account)

    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]:
        """What slurmdbd has of an account's jobs active since then, with free text; `uid` is taken on trust."""
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
        """How many messages slurmctld still owes slurmdbd: until it is 0, slurmdbd's word is not the last."""
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
