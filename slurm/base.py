"""What every gateway to a real Slurm does alike: looks after its acts, reads the bulk as text, finds a job by token."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from datetime import datetime

from slurm import answers, bulk, reserved, search, used
from slurm.commands import Commands
from slurm.contract import JobRecord, Refused, ReservationRecord, Unanswered, Used
from slurm.orders import Order
from slurm.text import OVER
from slurm.tokens import Token, Tokens

ALREADY_OVER = 2021  # ESLURM_ALREADY_DONE
_HELD = frozenset({"JobHeldUser", "JobHeldAdmin"})


@dataclasses.dataclass
class Base(ABC):
    """A slurm.contract.Gateway but for how a request is sent and how one thing is read."""

    tokens: Tokens
    commands: Commands

    @abstractmethod
    def named(self, job_id: int, token: Token) -> list[JobRecord]:
        """The job of this number, or the tasks of the array; none where slurmctld has none."""

    @abstractmethod
    def hold_with(self, token: Token, job_id: int, *, held: bool = True) -> None:
        """What an administrator holds only an administrator releases."""

    @abstractmethod
    def end_with(self, token: Token, job_id: int) -> None:
        """End it, without a look."""

    @abstractmethod
    def accounting_details(self, account: str, since: datetime, uid: int) -> Sequence[JobRecord]:
        """What slurmdbd has of an account's jobs active since then, with free text; `uid` is taken on trust."""

    @abstractmethod
    def accounting_backlog(self) -> int:
        """How many messages slurmctld still owes slurmdbd: until it is 0, slurmdbd's word is not the last."""

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

    def order(self, order: Order, *, as_user: str) -> None:
        self.order_with(self.tokens.of(as_user), order)

    def order_with(self, token: Token, order: Order) -> None:
        """By command, whatever the gateway."""
        self.commands.order(token, *order.argv())

    def cancel(self, job_id: int, *, as_user: str) -> None:
        self.cancel_with(self.tokens.of(as_user), job_id)

    def cancel_with(self, token: Token, job_id: int) -> None:
        """Slurm says yes to cancelling what is over: look first. Of an array, all tasks are ended."""
        records = self.named(job_id, token)
        if not records:
            raise Refused(f"Slurm has no job {job_id} that this user may cancel", code=answers.UNKNOWN_JOB)
        if all(record.states & OVER and "COMPLETING" not in record.states for record in records):
            raise Refused(f"job {job_id} is over already", code=ALREADY_OVER)
        self.end_with(token, job_id)

    def job(self, job_id: int, *, as_user: str | None = None) -> JobRecord | None:
        found = self.named(job_id, self.tokens.of(as_user) if as_user else self.tokens.reading())
        return next((record for record in found if record.job_id == job_id), found[0] if found else None)

    def jobs(self) -> Sequence[JobRecord]:
        return bulk.queue(self.commands, self.tokens.reading())

    def accounting(self, *, since: datetime, job_ids: Collection[int] = ()) -> Sequence[JobRecord]:
        return bulk.accounting(self.commands, self.tokens.reading(), since=since, job_ids=job_ids)

    def used(self, *, since: datetime, job_ids: Collection[int]) -> Sequence[Used]:
        return used.read(self.commands, self.tokens.reading(), since=since, job_ids=job_ids)

    def find(self, *, comment: str, uid: int, account: str, since: datetime) -> Sequence[JobRecord]:
        return search.find(self, search.Wanted(comment, uid, account, since.replace(microsecond=0)))

    def reservations(self) -> Sequence[ReservationRecord]:
        return reserved.read(self.commands, self.tokens.reading())

    def accounting_of(self, account: str, since: datetime) -> Sequence[JobRecord]:
        """The rows of one account, or Unanswered while some are half written."""
        return bulk.accounting(self.commands, self.tokens.reading(), since=since, account=account)
