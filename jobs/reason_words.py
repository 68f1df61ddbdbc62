"""Why a job waits, in plain words: one row for each of Slurm's reasons that people meet, and families for the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

# who can change it
OWNER: Text = _("the person who submitted it")
PI: Text = _("the PI or a manager of the project")
ADMIN: Text = _("a cluster administrator")
NOBODY: Text = _("nobody: it only takes time")

_WAIT = _("Nothing to do: it starts by itself.")
_SMALLER = _("With fewer GPUs, less memory or a shorter time limit it fits into a smaller gap.")
_AGAIN = _("Cancel it, change what it asks for and submit it again.")
_ASK_ADMIN = _("Ask a cluster administrator, naming the job and Slurm's own word.")
_WHEN_ENDED = _("It starts when another job of the project ends.")
_MORE = _("The PI may ask the cluster administrators for more.")
_OWN_ENDS = _("It starts when one of the same person's jobs ends.")
_SHORTER = _("Cancel it and submit it again with a shorter time limit.")

# Slurm's word: (sentence, who can change it, what to try)
# fmt: off
WAITING: dict[str, tuple[Text, Text, Text]] = {
    "Resources": (_("It is next, and waits for enough GPUs, CPUs and memory to be idle at the same time."), NOBODY,
        _SMALLER),
    "Priority": (_("Jobs with a higher priority are before it in the queue."), NOBODY,
        _("It moves up by itself. With a shorter time limit it may fit in before them.")),
    "WaitingForScheduling": (_("Slurm has not looked at it yet."), NOBODY, _WAIT),
    "Dependency": (_("It starts when the job before it in the chain has ended."), NOBODY,
        _("See how far that job is.")),
    "DependencyNeverSatisfied": (
        _("The job before it in the chain ended in a way that never lets this one start."), OWNER,
        _("Cancel it, and submit it again once the job before it has worked.")),
    "BeginTime": (_("Its earliest start time has not come yet."), NOBODY,
        _("Nothing to do. After a requeue Slurm itself waits about two minutes.")),
    "JobHeldUser": (_("It is held in queue, by the person who submitted it."), OWNER,
        _("Release it, and it waits for its turn.")),
    "JobHeldAdmin": (_("It is held in queue, by a cluster administrator."), ADMIN, _ASK_ADMIN),
    "JobHoldMaxRequeue": (_("It is held in queue: it was requeued too many times."), ADMIN,
        _("See why its earlier runs ended, then ask a cluster administrator to release it.")),
    "JobArrayTaskLimit": (_("The array already runs as many tasks at once as it was asked to."), OWNER,
        _("The next task starts when one of them ends.")),
    "Licenses": (_("It waits for a software licence that other jobs are using."), NOBODY, _WAIT),
    "Cleaning": (_("Its nodes are still tidying up after its previous run."), NOBODY, _WAIT),
    "Prolog": (_("Its nodes are being prepared."), NOBODY, _WAIT),
    "NodeDown": (_("A node it needs is down."), ADMIN,
        _("Submit it again without naming a node, or wait for the node.")),
    "ReqNodeNotAvail": (_("A node it needs cannot be used now: it is out of service, or reserved."), ADMIN,
        _("Before a maintenance window, a time limit that ends in time lets the job start now.")),
    "NodesUnavailable": (_("The nodes it needs are out of service, or reserved for other jobs."), ADMIN,
        _("Try another partition or GPU type, or wait for the nodes.")),
    "Reservation": (_("It waits for its reservation of nodes to begin."), NOBODY, _WAIT),
    "ReservationDeleted": (_("Its reservation of nodes does not exist any more."), OWNER,
        _("Cancel it and submit it again without the reservation.")),
    "PartitionDown": (_("The partition starts no jobs now."), ADMIN,
        _("Try another partition, or wait until it is open again.")),
    "PartitionInactive": (_("The partition is closed to new jobs."), ADMIN, _("Try another partition.")),
    "PartitionNodeLimit": (
        _("It asks for more nodes than the partition gives one job, or some of its nodes are out of service."), OWNER,
        _AGAIN),
    "PartitionTimeLimit": (_("Its time limit is longer than the partition accepts."), OWNER, _SHORTER),
    "PartitionConfig": (_("The partition cannot run what the job asks for."), OWNER, _AGAIN),
    "BadConstraints": (_("No node has what the job asks for."), OWNER, _AGAIN),
    "AccountNotAllowed": (_("The project may not use this partition."), ADMIN,
        _("Submit it to a partition of the project, or ask for access to this one.")),
    "InvalidAccount": (_("Slurm does not accept this person's jobs in the project."), ADMIN,
        _("A new member waits a minute; after that, ask a cluster administrator.")),
    "InvalidQOS": (_("Slurm does not accept this allocation for the project."), ADMIN, _ASK_ADMIN),
    "QOSNotAllowed": (_("The allocation cannot be used in this partition."), OWNER,
        _("Submit it with another allocation, or to another partition.")),
    "QOSUsageThreshold": (_("The project has used too much lately for this allocation to start jobs."), ADMIN,
        _ASK_ADMIN),
    "QOSGrpGRES": (_("All GPUs at once of the allocation are in use."), PI, _WHEN_ENDED),
    "QOSGrpGRESMinutes": (_("The GPU-hours left in the allocation are not enough for this job."), PI,
        _("A shorter time limit or fewer GPUs may fit. The PI may ask the cluster administrators for more GPU-hours.")),
    "QOSGrpGRESRunMinutes": (
        _("The running jobs have committed all GPU-hours that the allocation lets run at once."), PI,
        _WHEN_ENDED),
    "QOSMaxGRESPerUser": (_("The person's jobs already use all GPUs at once that one person may use."), PI, _OWN_ENDS),
    "QOSMaxGRESPerJob": (_("It asks for more GPUs than the allocation gives one job."), OWNER, _AGAIN),
    "QOSMaxGRESPerNode": (_("It asks for more GPUs on one node than the allocation allows."), OWNER, _AGAIN),
    "QOSMinGRES": (_("It asks for fewer GPUs than the allocation requires."), OWNER, _AGAIN),
    "MaxGRESPerAccount": (_("The project already uses all its GPUs at once."), PI, _WHEN_ENDED),
    "AssocGrpGRES": (_("The project already uses all its GPUs at once."), PI, _WHEN_ENDED),
    "AssocGrpGRESMinutes": (_("The GPU-hours left to the project are not enough for this job."), PI, _MORE),
    "AssocGrpGRESRunMinutes": (
        _("The running jobs have committed all GPU-hours that the project lets run at once."), PI,
        _WHEN_ENDED),
    "AssocGrpBilling": (_("The person's jobs already use all GPUs at once of their share of the allocation."), PI,
        _OWN_ENDS),  # a share's GPUs are counted in billing, see slurm.books
    "AssocGrpBillingMinutes": (_("The GPU-hours left of the person's share are not enough for this job."), PI,
        _("A shorter time limit or fewer GPUs may fit. The PI or a manager of the project can raise the share.")),
    "AssocGrpBillingRunMinutes": (_("The person's running jobs have committed all GPU-hours of their share."), PI,
        _OWN_ENDS),
    "AssocMaxGRESPerJob": (_("It asks for more GPUs than the project gives one job."), OWNER, _AGAIN),
    "QOSMaxJobsPerUserLimit": (_("The person already runs as many jobs at once as one person may."), PI, _OWN_ENDS),
    "QOSGrpJobsLimit": (_("The allocation already runs as many jobs at once as it may."), PI, _WHEN_ENDED),
    "QOSGrpSubmitJobsLimit": (_("The allocation already has as many jobs in the queue as it may."), PI, _WHEN_ENDED),
    "QOSMaxSubmitJobPerUserLimit": (_("The person already has as many jobs in the queue as one person may."), PI,
        _OWN_ENDS),
    "AssocMaxJobsLimit": (_("The person already runs as many jobs at once as the project lets one person."), PI,
        _OWN_ENDS),
    "AssocMaxSubmitJobLimit": (
        _("The person already has as many jobs in the queue as the project lets one person."), PI,
        _OWN_ENDS),
    "AssocGrpJobsLimit": (_("The project already runs as many jobs at once as it may."), PI, _WHEN_ENDED),
    "AssocGrpSubmitJobsLimit": (_("The project already has as many jobs in the queue as it may."), PI, _WHEN_ENDED),
    "QOSMaxWallDurationPerJobLimit": (_("Its time limit is longer than the allocation gives one job."), OWNER,
        _SHORTER),
    "AssocMaxWallDurationPerJobLimit": (_("Its time limit is longer than the project gives one job."), OWNER, _SHORTER),
    "AssociationJobLimit": (_("The project already runs as many jobs at once as it may."), PI, _WHEN_ENDED),
    "AssociationResourceLimit": (_("The project already uses all it may use at once."), PI, _WHEN_ENDED),
    "AssociationTimeLimit": (_("The project has used all its time."), PI, _MORE),
    "QOSJobLimit": (_("The allocation already runs as many jobs at once as it may."), PI, _WHEN_ENDED),
    "QOSResourceLimit": (_("All that the allocation may use at once is in use."), PI, _WHEN_ENDED),
    "QOSTimeLimit": (_("The time left in the allocation is not enough for this job."), PI, _MORE),
    "AccountingPolicy": (_("A limit of the project or of its allocation keeps it waiting."), PI, _ASK_ADMIN),
    "MaxMemPerLimit": (_("It asks for more memory for each CPU than the partition allows."), OWNER, _AGAIN),
    "DeadLine": (_("It can no longer end before its deadline."), OWNER, _AGAIN),
    "BurstBufferResources": (_("It waits for room in the fast storage."), NOBODY, _WAIT),
    "BurstBufferStageIn": (_("Its files are being copied to the fast storage."), NOBODY, _WAIT),
    "FrontEndDown": (_("The nodes that start jobs are down."), ADMIN, _ASK_ADMIN),
    "JobLaunchFailure": (_("Slurm could not start it on its node."), ADMIN,
        _("Check that the project's folder exists and may be written; then ask a cluster administrator.")),
    "SystemFailure": (_("Something failed in the cluster itself, not in the job."), ADMIN, _ASK_ADMIN),
    "launch failed requeued held": (_("It is held in queue: its node could not start it."), ADMIN,
        _("Ask a cluster administrator to see the node and release the job.")),
    "job requeued in held state": (_("It is held in queue: it was requeued that way."), OWNER,
        _("Release it, and it waits for its turn.")),
}
# Slurm's own sentences, recognised by how they begin
SENTENCES: tuple[tuple[str, str], ...] = (
    ("Nodes required for job are DOWN", "NodesUnavailable"),
    ("Required nodes are reserved", "NodesUnavailable"),
    ("Required nodes outside of the reservation", "ReservationDeleted"),
    ("Job's account not permitted to use this partition", "AccountNotAllowed"),
    ("Job's QOS not permitted to use this partition", "QOSNotAllowed"),
)
# The limits that Slurm names by pattern: QOSGrpCpuLimit, AssocMaxMemPerJob, MaxNodePerAccount, ...
FAMILY = re.compile(
    r"(?:QOS|Assoc|)(?P<kind>Grp|Max|Min)"
    r"(?P<thing>BB|Billing|C[Pp][Uu]|Energy|GRES|License|Mem(?:ory)?|Node|Wall|Unknown)"
    r"(?P<sum>(?:Run)?Minutes|)(?P<each>PerJob|PerNode|PerUser|PerAccount|)(?:NotSatisfied)?(?:Limit)?"
)
THINGS: dict[str, Text] = {
    "bb": _("fast storage"), "billing": _("cost units"), "cpu": _("CPUs"), "energy": _("energy"), "gres": _("GPUs"),
    "license": _("software licences"), "mem": _("memory"), "memory": _("memory"), "node": _("nodes"), "wall": _("time"),
    "unknown": _("other resources"),
}
# (which kind of limit): sentence with {thing}, who, what to try
FAMILIES: dict[str, tuple[Text, Text, Text]] = {
    "total": (_("All that the project's allocation may use at once is in use: {thing}."), PI, _WHEN_ENDED),
    "hours": (_("What is left in the project's allocation is not enough for this job: {thing}."), PI, _MORE),
    "person": (_("The person's jobs already use all that one person may use at once: {thing}."), PI, _OWN_ENDS),
    "job": (_("It asks for more than one job may have: {thing}."), OWNER, _AGAIN),
    "least": (_("It asks for less than a job must ask for here: {thing}."), OWNER, _AGAIN),
}
# fmt: on
