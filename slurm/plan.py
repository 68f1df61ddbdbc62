"""Compare what is wanted in slurmdbd with what is there: the steps between, in order, with a cap on removals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from slurm import lines
from slurm.books import Account, Association, Books
from slurm.contract import Refused
from slurm.steps import Kind, Step

_ADDS = (Kind.ADD_QOS, Kind.ADD_ACCOUNT)
_PEOPLE = (Kind.ADD_USER, Kind.CHANGE_USER, Kind.STOP_USER)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """`withheld`: removals over the cap. `refused`: what sacctmgr cannot be told (a name, a default that is not
    among the QOS); it keeps nothing else from being done."""

    steps: tuple[Step, ...] = ()
    withheld: tuple[Step, ...] = ()
    refused: tuple[Step, ...] = ()


def plan(wanted: Books, there: Books, *, removals: int | None = None) -> Plan:
    """The steps from `there` to `wanted`, at most `removals` of them removing (None: all).

    QOS and accounts come before the associations that name them. What gives comes before what takes: somebody whose
    allocation moves from one partition or QOS to the next is at no moment without either, and a QOS is closed only
    after the people under it have another default. The price is that for the seconds between, both are open; the
    limits of each hold meanwhile.
    """
    steps = sorted(_steps(wanted, there), key=lambda step: _place(step, wanted))
    said = [step for step in steps if _can_be_said(step)]
    taking = [step for step in said if step.removes]
    withheld = () if removals is None else taking[max(0, removals) :]
    late = {id(step) for step in withheld}
    refused = tuple(step for step in steps if not _can_be_said(step))
    return Plan(tuple(step for step in said if id(step) not in late), tuple(withheld), refused)


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as it should be; of what is not there at all, `field` is "missing".

    `account`, `user`, `partition` and `qos` name the subject as a Step's do.
    """

    account: str
    user: str
    partition: str
    qos: str
    field: str
    wanted: Any
    there: Any


def differences(wanted: Books, there: Books) -> list[Difference]:
    """What a drift page shows: field by field what the steps of an uncapped plan would change."""
    found = []
    for step in sorted(_steps(wanted, there), key=lambda step: _place(step, wanted)):
        if step.before is None:
            found.append(Difference(*step.subject, "missing", step.after, None))
        else:
            found += [Difference(*step.subject, one.field, one.after, one.before) for one in step.changes()]
    return found


def _steps(wanted: Books, there: Books) -> Iterator[Step]:
    for name, qos in wanted.qos.items():
        if there.qos.get(name) != qos:
            yield Step(Kind.CHANGE_QOS if name in there.qos else Kind.ADD_QOS, qos, there.qos.get(name))
    for name in wanted.governed & wanted.accounts.keys() - there.accounts.keys():
        yield Step(Kind.ADD_ACCOUNT, wanted.accounts[name])
    for key, row in wanted.associations.items():
        if row.account in wanted.governed:
            yield from _towards(row, there.associations.get(key))
    for key in there.associations.keys() - wanted.associations.keys():
        yield from _without(there.associations[key], wanted.governed)


def _towards(row: Association, there: Association | None) -> Iterator[Step]:
    """An account's own row comes with its account: other limits on it are a change. Its QOS are the site's."""
    if not row.user:
        there = there or Association(row.account)
        if there.limits != row.limits:
            yield Step(Kind.CHANGE_ACCOUNT, dataclasses.replace(there, limits=row.limits), there)
    elif there is None:
        yield Step(Kind.ADD_USER, row)
    elif there != row:
        stops = row.is_stopped and not there.is_stopped
        yield Step(Kind.STOP_USER if stops else Kind.CHANGE_USER, row, there)


def _without(there: Association, governed: frozenset[str]) -> Iterator[Step]:
    """Stopped, with the rest of it as it is: who comes back finds it, and a running job is not touched."""
    if there.user and there.account in governed and not there.is_stopped:
        stopped = dataclasses.replace(there, limits=dataclasses.replace(there.limits, jobs_submitted=0))
        yield Step(Kind.STOP_USER, stopped, there)


def _place(step: Step, wanted: Books) -> tuple[int, int, tuple[str, ...]]:
    """Where in the order: what is named by others first, what takes last and QOS last of all."""
    if step.removes:
        rank = 5 if step.kind in _PEOPLE else 6
    elif step.kind in _ADDS:
        rank = _ADDS.index(step.kind)
    else:
        rank = {Kind.ADD_USER: 3, Kind.CHANGE_USER: 4}.get(step.kind, 2)
    return rank, _depth(step, wanted), step.subject


def _depth(step: Step, wanted: Books) -> int:
    """How many of the accounts above a new one are wanted too: they are added before it."""
    above, name = 0, step.after.parent if isinstance(step.after, Account) else ""
    while name in wanted.accounts and above < len(wanted.accounts):
        above, name = above + 1, wanted.accounts[name].parent
    return above


def _can_be_said(step: Step) -> bool:
    try:
        lines.line(step)
    except Refused:
        return False
    return True
