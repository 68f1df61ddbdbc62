"""What slurmdbd should hold and what it holds, in one shape: accounts, QOS and the associations of people."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

GPU = "gres/gpu"
SHARE = "billing"  # what the untyped GPUs of an association are counted in, see Limits
Key: TypeAlias = tuple[str, str, str]  # (account, user, partition); user "" is the account's own row


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What a QOS, or one person's association, enforces: None (or no entry) is no limit, 0 is closed.

    GPU-minutes and minutes; per type under gpus_by_type and gpu_minutes_by_type. A QOS counts everybody under it
    (GrpTRES, GrpTRESMins, MaxWall, GrpSubmitJobs, GrpJobs), an association one person in one partition (GrpTRES,
    GrpTRESMins, MaxWall, MaxSubmitJobs, MaxJobs).

    Of what a job's QOS limits Slurm does not look at the association's limit any more, TRES by TRES (seen on 22.05: a
    person with GrpTRES=gres/gpu=1 ran two jobs under a QOS with gres/gpu=8). So an association's untyped GPUs are
    counted in the TRES `billing`, which no QOS of ours limits, and the partition says TRESBillingWeights=GRES/gpu=1.
    A type that the QOS limits too, and a longest run where it has one, hold by the QOS alone: see `overruled`.
    """

    gpus_at_once: int | None = None
    gpus_by_type: Mapping[str, int] = dataclasses.field(default_factory=dict)
    gpu_minutes: int | None = None
    gpu_minutes_by_type: Mapping[str, int] = dataclasses.field(default_factory=dict)
    longest_minutes: int | None = None
    jobs_submitted: int | None = None
    jobs_running: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """Only whether it is there is compared: where it hangs in the tree is the site's, and free text is not read back.

    Text and `parent` ("" is root) are said when the account is added. slurmdbd lower-cases the text.
    """

    name: str
    description: str = dataclasses.field(default="", compare=False)
    organization: str = dataclasses.field(default="", compare=False)
    parent: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Qos:
    """A QOS; usage never decays in ours. Flags we do not name are the site's. The text is not read back.

    `overrules` names limits that others put on it and ours never has, for with them Slurm lets a person with
    MaxSubmitJobs=0 submit (MaxSubmitJobsPerUser, MaxSubmitJobsPerAccount) or does not look at MaxJobs (the other two).
    """

    name: str
    limits: Limits = Limits()
    deny_on_limit: bool = False
    description: str = dataclasses.field(default="", compare=False)
    no_decay: bool = True
    overrules: frozenset[str] = frozenset()

    @property
    def is_closed(self) -> bool:
        """GrpSubmitJobs=0: nobody submits under it, what runs runs on."""
        return self.limits.jobs_submitted == 0


@dataclasses.dataclass(frozen=True, slots=True)
class Association:
    """One person in one account and partition ("" for all), or with user "" the account's own row.

    What is read is the row's own: what it inherits of its account is not in it.
    """

    account: str
    user: str = ""
    partition: str = ""
    qos: frozenset[str] = frozenset()
    default_qos: str = ""
    limits: Limits = Limits()

    @property
    def key(self) -> Key:
        return self.account, self.user, self.partition

    @property
    def is_stopped(self) -> bool:
        """MaxSubmitJobs=0: new jobs are refused, what runs runs on."""
        return self.limits.jobs_submitted == 0


@dataclasses.dataclass(frozen=True, slots=True)
class Books:
    """Both sides of a comparison. In what is wanted, `governed` names the accounts that are ours.

    A person's association in a governed account that is there and not wanted is to be stopped, never deleted; the
    rows of other accounts are nobody's business here, whatever else is in the mappings.
    """

    accounts: Mapping[str, Account] = dataclasses.field(default_factory=dict)
    qos: Mapping[str, Qos] = dataclasses.field(default_factory=dict)
    associations: Mapping[Key, Association] = dataclasses.field(default_factory=dict)
    governed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if "root" in self.governed:
            raise ValueError("Slurm's root account is the site's")

    @classmethod
    def of(
        cls,
        accounts: Iterable[Account] = (),
        qos: Iterable[Qos] = (),
        associations: Iterable[Association] = (),
        *,
        governed: Collection[str] | None = None,
    ) -> Books:
        """Under their keys; `governed` is every account given unless said otherwise."""
        named = {one.name: one for one in accounts}
        return cls(
            accounts=named,
            qos={one.name: one for one in qos},
            associations={one.key: one for one in associations},
            governed=frozenset(named if governed is None else governed),
        )

    def overruled(self) -> list[tuple[Key, str, str]]:
        """(association, field, QOS): limits of people that Slurm does not look at for jobs under this QOS.

        gpus_by_type and gpu_minutes_by_type are named once, whichever of their types it is.
        """
        return [
            (row.key, field, name)
            for row in self.associations.values()
            for name in sorted(row.qos & self.qos.keys())
            for field in _overruled(row.limits, self.qos[name].limits)
        ]


def _overruled(person: Limits, qos: Limits) -> list[str]:
    found = ["longest_minutes"] if None not in (person.longest_minutes, qos.longest_minutes) else []
    found += ["gpus_by_type"] if person.gpus_by_type.keys() & qos.gpus_by_type.keys() else []
    return found + (
        ["gpu_minutes_by_type"] if person.gpu_minutes_by_type.keys() & qos.gpu_minutes_by_type.keys() else []
    )
