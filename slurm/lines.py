"""Steps in sacctmgr's words, one line each or many of a kind in one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from slurm import naming
from slurm.books import GPU, SHARE, Account, Association, Qos
from slurm.steps import Kind, Step

T = TypeVar("T")
_NO_LIMIT = "-1"
_TYPE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TRES = {
    "gpus_at_once": "GrpTRES",
    "gpus_by_type": "GrpTRES",
    "gpu_minutes": "GrpTRESMins",
    "gpu_minutes_by_type": "GrpTRESMins",
}
_OF_QOS = {"longest_minutes": "MaxWall", "jobs_submitted": "GrpSubmitJobs", "jobs_running": "GrpJobs"}
_OF_PEOPLE = {"longest_minutes": "MaxWall", "jobs_submitted": "MaxSubmitJobs", "jobs_running": "MaxJobs"}
_FLAGS = {"no_decay": "NoDecay", "deny_on_limit": "DenyOnLimit"}
_NO_PARTITION = "''"  # without it sacctmgr takes every partition of the user, with it the row that has none
_MOST_NAMES = 50  # in one line
_MOST = 2**31  # what Slurm holds a limit in


def line(step: Step, cluster: str = "") -> str:
    """What `step` is to sacctmgr; `cluster` where slurmdbd serves several.

    Raises Refused for a name that slurmdbd would not keep, a limit below 0 or a default that is not among the QOS.
    """
    _check(step)
    return _line(step.kind, _Names([step.account], [step.user], [step.partition], [step.qos]), _settings(step), cluster)


def merged(steps: Iterable[Step], cluster: str = "") -> list[str]:
    """The same with fewer lines, in the same order of kinds: what is set to the same is said once.

    A line takes sacctmgr 0.3 to 0.7 s however much it changes (see slurm.sacctmgr). Only whole products of users
    and partitions are put together, so that no line touches an association of which no step speaks.
    """
    said: list[str] = []
    for _, run in itertools.groupby(steps, key=lambda step: (step.kind, step.removes)):
        said += _of_a_kind(list(run), cluster)
    return said


def _of_a_kind(steps: list[Step], cluster: str) -> Iterator[str]:
    groups: dict[tuple[str, tuple[str, ...]], list[Step]] = {}
    for step in steps:
        _check(step)
        groups.setdefault((step.account if step.user else "", tuple(_settings(step))), []).append(step)
    for (_, settings), same in groups.items():
        for names in _products(same):
            yield _line(same[0].kind, names, settings, cluster)


class _Names(NamedTuple):
    """What one line is about: every user in every partition of these."""

    accounts: Sequence[str]
    users: Sequence[str]
    partitions: Sequence[str]
    qos: Sequence[str]


def _products(same: list[Step]) -> Iterator[_Names]:
    if not same[0].user:
        for some in _batches(same):
            yield _Names([step.account for step in some], [""], [""], [step.qos for step in some])
        return
    of_user: dict[str, list[str]] = {}
    for step in same:
        of_user.setdefault(step.user, []).append(step.partition)
    alike: dict[tuple[str, ...], list[str]] = {}
    for user, partitions in of_user.items():
        for part in ([""] if "" in partitions else [], [one for one in partitions if one]):
            if part:
                alike.setdefault(tuple(sorted(part)), []).append(user)
    for together, users in alike.items():
        for some_users in _batches(users):
            yield _Names([same[0].account], some_users, together, [""])


def _batches(items: list[T]) -> Iterator[list[T]]:
    return (items[at : at + _MOST_NAMES] for at in range(0, len(items), _MOST_NAMES))


def _line(kind: Kind, names: _Names, settings: Sequence[str], cluster: str) -> str:
    account, user, partition, qos = (",".join(some) for some in names)
    at = f"cluster={cluster}" if cluster else ""
    words = {
        Kind.ADD_QOS: ("add qos", qos),
        Kind.ADD_ACCOUNT: ("add account", account, at),
        Kind.CHANGE_QOS: (f"modify qos where name={qos} set",),
        Kind.CHANGE_ACCOUNT: (f"modify account where name={account}", at, "set"),
        Kind.ADD_USER: (f"add user name={user} account={account}", f"partition={partition}" if partition else "", at),
    }.get(kind, (f"modify user where name={user} account={account} partition={partition or _NO_PARTITION}", at, "set"))
    return " ".join(word for word in (*words, *settings) if word)


def _settings(step: Step) -> list[str]:
    """The words after the names. Only what changes is said: what others set beside it stays."""
    if isinstance(step.after, Account):
        about = _text(description=step.after.description, organization=step.after.organization)
        return [*about, *([f"parent={step.after.parent}"] if step.after.parent else [])]
    changes = {change.field: (change.before, change.after) for change in step.changes()}
    untyped = GPU if isinstance(step.after, Qos) else SHARE
    said = [*_flags(changes, step), *_qos(changes, step.after), *_tres(changes, untyped)]
    names = _OF_QOS if isinstance(step.after, Qos) else _OF_PEOPLE
    said += [f"{word}={_amount(changes[name][1])}" for name, word in names.items() if name in changes]
    before, after = changes.get("overrules", (frozenset(), frozenset()))
    said += [f"{word}={_NO_LIMIT}" for word in sorted((before or frozenset()) - after)]
    if step.kind is Kind.ADD_QOS and isinstance(step.after, Qos):
        said += _text(description=step.after.description)
    return said


def _text(**said: str) -> Iterator[str]:
    """In quotes, of characters that end none."""
    return (f'{key}="{naming.words(value)}"' for key, value in said.items() if naming.words(value))


def _flags(changes: Mapping[str, tuple[Any, Any]], step: Step) -> Iterator[str]:
    """On a QOS that is there, one by one: "Flags=" would take the site's own away."""
    said = {flag: changes[name][1] for name, flag in _FLAGS.items() if name in changes}
    if step.before is None and said:
        yield f"Flags={','.join(said)}"
    elif said:
        yield from (f"Flags{'+' if is_set else '-'}={flag}" for flag, is_set in said.items())


def _qos(changes: Mapping[str, tuple[Any, Any]], after: Qos | Association) -> Iterator[str]:
    """List and default go together: sacctmgr refuses a list without the default that is set at that moment."""
    if isinstance(after, Association) and ("qos" in changes or "default_qos" in changes):
        yield f"qos={','.join(sorted(after.qos))}"
        yield f"defaultqos={after.default_qos}"


def _tres(changes: Mapping[str, tuple[Any, Any]], untyped: str) -> Iterator[str]:
    """A limit that goes is set to -1; TRES that are not named, and so a site's limits on CPUs, stay."""
    said: dict[str, dict[str, str]] = {}
    for name in (name for name in _TRES if name in changes):
        before, after = (_by_tres(value, untyped) for value in changes[name])
        for tres in before.keys() | after.keys():
            if before.get(tres) != after.get(tres):
                said.setdefault(_TRES[name], {})[tres] = _amount(after.get(tres))
    for word, amounts in said.items():
        yield f"{word}=" + ",".join(f"{tres}={amount}" for tres, amount in sorted(amounts.items()))


def _by_tres(value: int | Mapping[str, int] | None, untyped: str) -> dict[str, int]:
    if isinstance(value, Mapping):
        return {f"{GPU}:{kind}": amount for kind, amount in value.items()}
    return {} if value is None else {untyped: value}


def _amount(value: int | None) -> str:
    return _NO_LIMIT if value is None else str(int(value))


def _check(step: Step) -> None:
    after, changed = step.after, {change.field for change in step.changes()}
    for name in _names(step):
        naming.checked(name)
    if isinstance(after, Association) and (step.kind is Kind.ADD_USER or {"qos", "default_qos"} & changed):
        for name in after.qos:
            naming.checked(name)
        naming.need(after.default_qos in after.qos, f"{after.default_qos!r} is not one of {step.user}'s QOS")
    for change in step.changes():
        for kind, value in change.after.items() if isinstance(change.after, Mapping) else [("gpu", change.after)]:
            naming.need(bool(_TYPE.fullmatch(kind)), f"{kind!r} cannot be a type of GPU")
            good = not isinstance(value, int) or 0 <= value < _MOST
            naming.need(good, f"{value} cannot be a limit ({change.field})")


def _names(step: Step) -> list[str]:
    """All that must be names; empty only where nothing is a meaning of its own."""
    after = step.after
    if isinstance(after, Association):
        return [after.account, *(name for name in (after.user, after.partition) if name)]
    return [after.name, *([after.parent] if isinstance(after, Account) and after.parent else [])]
