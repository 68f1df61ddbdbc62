"""The administrator's door: accounts, associations and QOS by sacctmgr, each effect read back.

sacctmgr's exit status and words differ between releases; what counts is what it lists afterwards. Only fields that
hold names and numbers are read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from slurm import naming, text
from slurm.contract import Association, Limits
from slurm.rest import RestGateway

_QOS = ("Name", "GrpTRES", "GrpTRESMins", "MaxWall", "GrpJobs", "GrpSubmit", "Flags")
_ASSOCIATION = ("Account", "User", "Partition", "QOS", "DefaultQOS", "MaxSubmit")
_GPU = "gres/gpu"
_NO_LIMIT = "-1"


@dataclasses.dataclass(frozen=True)
class Sacctmgr:
    """Works through a gateway's commands and connections, with the token of Slurm's user `bancada`."""

    gateway: RestGateway

    def ensure_account(self, account: str, *, description: str = "", organization: str = "") -> None:
        if self._has_account(naming.checked(account)):
            return
        about = {"description": description, "organization": organization}
        set_to = [f"{key}={naming.words(value)}" for key, value in about.items() if naming.words(value)]
        self._change("add", "account", account, *set_to)
        naming.need(self._has_account(account), f"account {account} is not there after adding it")

    def _has_account(self, account: str) -> bool:
        rows = self._list("account", ("Account",), f"where name={account}")
        return any(row["Account"] == account for row in rows)

    def ensure_qos(self, qos: str, limits: Limits, *, deny_on_limit: bool = False) -> None:
        wanted = _wanted(limits, deny_on_limit)
        there = self._qos(naming.checked(qos))
        if there is None:
            self._change("add", "qos", qos)
            there = self._qos(qos)
        naming.need(there is not None, f"QOS {qos} is not there after adding it")
        if there != wanted:
            self._change("modify", "qos", "where", f"name={qos}", "set", *_settings(wanted, there or {}))
            naming.need(self._qos(qos) == wanted, f"QOS {qos} does not have its limits after setting them")

    def _qos(self, qos: str) -> dict[str, Any] | None:
        for row in self._list("qos", _QOS, f"where name={qos}"):
            if row["Name"] == qos:
                return _limits_of(row)
        return None

    def ensure_user(
        self, user: str, *, account: str, partitions: Sequence[str], qos: Sequence[str], default_qos: str
    ) -> None:
        naming.need(default_qos in qos, f"{default_qos} is not one of the user's QOS")
        for name in (user, account, *partitions, *qos):
            naming.checked(name)
        there = {row.partition: row for row in self._of(user, account)}
        for partition in partitions:
            if not _fits(there.get(partition), qos, default_qos):
                self._set_user(user, account, partition, qos, default_qos, is_new=partition not in there)
        for partition in set(there) - set(partitions):
            self._stop(user, account, there[partition])
        after = {row.partition: row for row in self._of(user, account)}
        good = all(_fits(after.get(partition), qos, default_qos) for partition in partitions)
        naming.need(good, f"{user} does not have the associations in {account} after setting them")

    def _set_user(
        self, user: str, account: str, partition: str, qos: Sequence[str], default_qos: str, *, is_new: bool
    ) -> None:
        where = [f"name={user}", f"account={account}", *([f"partition={partition}"] if partition else [])]
        set_to = [f"qos={','.join(qos)}", f"defaultqos={default_qos}"]
        if is_new:
            self._change("add", "user", *where, *set_to)
        else:
            self._change("modify", "user", "where", *where, "set", *set_to, f"MaxSubmitJobs={_NO_LIMIT}")

    def stop_user(self, user: str, *, account: str) -> None:
        for row in self._of(naming.checked(user), naming.checked(account)):
            self._stop(user, account, row)
        stopped = all(row.max_submit_jobs == 0 for row in self._of(user, account))
        naming.need(stopped, f"{user} may still submit in {account} after being stopped")

    def _stop(self, user: str, account: str, row: Association) -> None:
        if row.max_submit_jobs != 0:
            where = [f"name={user}", f"account={account}", *([f"partition={row.partition}"] if row.partition else [])]
            self._change("modify", "user", "where", *where, "set", "MaxSubmitJobs=0")

    def associations(self, account: str) -> Sequence[Association]:
        return self._associations(f"account={naming.checked(account)}")

    def _of(self, user: str, account: str) -> list[Association]:
        found = self._associations(f"account={account}", f"user={user}")
        return [row for row in found if (row.account, row.user) == (account, user)]

    def _associations(self, *where: str) -> list[Association]:
        return [
            Association(
                account=row["Account"],
                user=row["User"],
                partition=row["Partition"],
                qos=tuple(name for name in row["QOS"].split(",") if name),
                default_qos=row["DefaultQOS"],
                max_submit_jobs=int(row["MaxSubmit"]) if row["MaxSubmit"] else None,
            )
            for row in self._list("associations", _ASSOCIATION, "where", *where)
        ]

    def cancel_any(self, job_id: int) -> None:
        self.gateway.cancel_with(self.gateway.tokens.admin(), job_id)

    def _list(self, what: str, fields: Sequence[str], *where: str) -> list[dict[str, str]]:
        words = [word for part in where for word in part.split(" ")]
        asked = ("-n", "-P", "list", what, *words, f"format={','.join(fields)}")
        printed = self.gateway.commands.read(self.gateway.tokens.admin(), "sacctmgr", *asked)
        return [dict(zip(fields, line.split("|"), strict=True)) for line in printed.splitlines() if line]

    def _change(self, *words: str) -> None:
        self.gateway.commands.change(self.gateway.tokens.admin(), "sacctmgr", "-i", *words)


def _fits(row: Association | None, qos: Sequence[str], default_qos: str) -> bool:
    return (
        row is not None and set(row.qos) == set(qos) and row.default_qos == default_qos and row.max_submit_jobs is None
    )


def _wanted(limits: Limits, deny_on_limit: bool) -> dict[str, Any]:
    """The limits in the shape they are read back in."""
    return {
        "GrpTRES": _tres(limits.gpus_at_once, limits.gpus_by_type),
        "GrpTRESMins": _tres(limits.gpu_minutes, limits.gpu_minutes_by_type),
        "MaxWall": limits.longest_minutes,
        "GrpJobs": limits.jobs_running,
        "GrpSubmit": limits.jobs_submitted,
        "Flags": frozenset({"NoDecay", *(["DenyOnLimit"] if deny_on_limit else [])}),
    }


def _tres(total: int | None, by_type: Mapping[str, int]) -> dict[str, int]:
    return {**({_GPU: total} if total is not None else {}), **{f"{_GPU}:{kind}": n for kind, n in by_type.items()}}


def _limits_of(row: Mapping[str, str]) -> dict[str, Any]:
    return {
        "GrpTRES": _gpus(row["GrpTRES"]),
        "GrpTRESMins": _gpus(row["GrpTRESMins"]),
        "MaxWall": text.minutes(row["MaxWall"]) if row["MaxWall"] else None,
        "GrpJobs": int(row["GrpJobs"]) if row["GrpJobs"] else None,
        "GrpSubmit": int(row["GrpSubmit"]) if row["GrpSubmit"] else None,
        "Flags": frozenset(flag for flag in row["Flags"].split(",") if flag),
    }


def _gpus(limits: str) -> dict[str, int]:
    """A site's own limits on other TRES are not ours to judge or to take away."""
    return {name: amount for name, amount in text.limits(limits).items() if name.split(":")[0] == _GPU}


def _settings(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    """The words after "set": a limit that is to go is set to -1."""
    said = []
    for name in ("GrpTRES", "GrpTRESMins"):
        gone = dict.fromkeys(set(there.get(name) or {}) - set(wanted[name]), _NO_LIMIT)
        amounts = {**gone, **wanted[name]}
        if amounts:
            said.append(f"{name}=" + ",".join(f"{key}={amount}" for key, amount in sorted(amounts.items())))
    for name in ("MaxWall", "GrpJobs", "GrpSubmit"):
        said.append(f"{name}={_NO_LIMIT if wanted[name] is None else wanted[name]}")
    return [*said, f"Flags={','.join(sorted(wanted['Flags']))}"]
