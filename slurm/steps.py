"""One step from what slurmdbd holds towards what it should hold, and what the books look like after some."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from slurm.books import Account, Association, Books, Limits, Qos

Entry: TypeAlias = Account | Qos | Association


class Kind(enum.StrEnum):
    """What is done. Nothing is ever deleted: deleting an association kills its jobs."""

    ADD_QOS = "add_qos"
    ADD_ACCOUNT = "add_account"
    CHANGE_QOS = "change_qos"
    CHANGE_ACCOUNT = "change_account"  # the limits of the account's own row
    ADD_USER = "add_user"
    CHANGE_USER = "change_user"
    STOP_USER = "stop_user"  # MaxSubmitJobs=0 where it was not

    @property
    def adds(self) -> bool:
        return self in (Kind.ADD_QOS, Kind.ADD_ACCOUNT, Kind.ADD_USER)


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One field of a step's subject: of Limits, or qos, default_qos, deny_on_limit, no_decay, overrules."""

    field: str
    before: Any  # None where there is nothing yet, and for "no limit"
    after: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """Makes `before` (None: not there) into `after`, which are both an Account, a Qos or an Association."""

    kind: Kind
    after: Entry
    before: Entry | None = None

    @property
    def account(self) -> str:
        """ "" for a QOS."""
        return self.after.account if isinstance(self.after, Association) else self._named(Account)

    @property
    def user(self) -> str:
        return self.after.user if isinstance(self.after, Association) else ""

    @property
    def partition(self) -> str:
        return self.after.partition if isinstance(self.after, Association) else ""

    @property
    def qos(self) -> str:
        """The QOS it is about; "" for an account and for a person."""
        return self._named(Qos)

    def _named(self, kind: type[Account] | type[Qos]) -> str:
        return self.after.name if isinstance(self.after, kind) else ""

    @property
    def subject(self) -> tuple[str, str, str, str]:
        """(account, user, partition, qos): names it among all steps of a plan."""
        return self.account, self.user, self.partition, self.qos

    def changes(self) -> tuple[Change, ...]:
        """Field by field, what is another afterwards; for what is added, what it is given."""
        before = _fields(self.before)
        return tuple(
            Change(name, before.get(name), value)
            for name, value in _fields(self.after).items()
            if value != before.get(name) and (self.before is not None or _says_something(value))
        )

    @property
    def removes(self) -> bool:
        """Something that was allowed is shut: a limit becomes 0 that was not. Lowering above 0 is none."""
        return self.before is not None and any(_shuts(change) for change in self.changes())


def _says_something(value: Any) -> bool:
    return bool(value) or type(value) is int


def _shuts(change: Change) -> bool:
    if isinstance(change.after, Mapping):
        return any(amount == 0 and change.before.get(kind) != 0 for kind, amount in change.after.items())
    return change.after == 0 and type(change.after) is int


def _fields(entry: Entry | None) -> dict[str, Any]:
    """What is compared of an entry, flat. An account's own row has limits only: its QOS would run through to people."""
    if entry is None or isinstance(entry, Account):
        return {}
    limits = {field.name: getattr(entry.limits, field.name) for field in dataclasses.fields(Limits)}
    if isinstance(entry, Qos):
        own = ("deny_on_limit", "no_decay", "overrules")
        return {**{name: getattr(entry, name) for name in own}, **limits}
    return {"qos": entry.qos, "default_qos": entry.default_qos, **limits} if entry.user else limits


def carried_out(there: Books, steps: Iterable[Step]) -> Books:
    """The books as they are once all these steps are done: only what a step changes, on what is there."""
    accounts, qos, associations = dict(there.accounts), dict(there.qos), dict(there.associations)
    for step in steps:
        after = step.after
        if isinstance(after, Account):
            accounts[after.name] = after
            associations.setdefault((after.name, "", ""), Association(after.name))
        elif isinstance(after, Qos):
            qos[after.name] = onto(qos.get(after.name, after), step)
        else:
            associations[after.key] = onto(associations.get(after.key, after), step)
    return Books(accounts, qos, associations, there.governed)


def onto(entry: Any, step: Step) -> Any:
    """The entry with what this step changes."""
    said = {change.field: change.after for change in step.changes()}
    limits = {name: said.pop(name) for name in list(said) if name in Limits.__dataclass_fields__}
    return dataclasses.replace(entry, limits=dataclasses.replace(entry.limits, **limits), **said)
