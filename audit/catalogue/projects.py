"""Events about projects, their members and allocations, and what Slurm holds of them. 3xxx, 4xxx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, RetentionClass

GOVERNANCE, ACCESS, OPERATOR = RetentionClass.GOVERNANCE, RetentionClass.ACCESS, RetentionClass.OPERATOR
_LIMITS = "gpus_at_once gpu_minutes longest_minutes jobs_submitted jobs_running gpus_by_type gpu_minutes_by_type " + (
    "partitions deny_on_limit"
)

ENTRIES = (
    Entry(A.PROJECT_CREATED, 3001, GOVERNANCE, Kind.MADE, D, "account unix_group folder partitions classification",
          "Since when a group exists in Slurm and on the disk, and how secret its work is."),
    Entry(A.PROJECT_CHANGED, 3002, GOVERNANCE, Kind.CHANGED, D, "before after",
          "Where its jobs may run and where its files lie decides who can reach them."),
    Entry(A.PROJECT_ARCHIVED, 3003, GOVERNANCE, Kind.ENDED, D, "why", "Nobody submits there any more."),
    Entry(A.PROJECT_REOPENED, 3004, GOVERNANCE, Kind.CHANGED, D, "why", "Its members may submit again."),
    Entry(A.PROJECT_REQUESTED, 3005, GOVERNANCE, Kind.MADE, D, "code why", "Who asked for it, and with which reason."),
    Entry(A.PROJECT_DECIDED, 3006, GOVERNANCE, Kind.CHANGED, D, "decision answer",
          "Who said yes or no, and with which words."),
    Entry(A.PROJECTS_EXPORTED, 3007, ACCESS, Kind.TAKEN_OUT, D, "filter",
          "The whole list with its people left the portal."),
    Entry(A.MEMBER_ADDED, 3101, GOVERNANCE, Kind.MEMBER_IN, D, "role why until",
          "From here on this person sees the project's jobs and outputs."),
    Entry(A.MEMBER_ROLE_CHANGED, 3102, GOVERNANCE, Kind.RIGHT_GIVEN, D, "before after why",
          "What a member may do in the project is another from now on."),
    Entry(A.MEMBER_EXPIRY_CHANGED, 3103, GOVERNANCE, Kind.CHANGED, D, "before after why",
          "Until when somebody may be in."),
    Entry(A.MEMBER_EXPIRED, 3104, GOVERNANCE, Kind.MEMBER_OUT, D, "role until",
          "They could not act after this moment."),
    Entry(A.MEMBER_REMOVED, 3105, GOVERNANCE, Kind.MEMBER_OUT, D, "role on_end why",
          "Who put somebody out, why, and what became of their jobs."),
    Entry(A.JOIN_REQUESTED, 3106, GOVERNANCE, Kind.MADE, D, "why", "Who wanted in."),
    Entry(A.JOIN_DECIDED, 3107, GOVERNANCE, Kind.CHANGED, D, "decision role answer", "Who let them in, or did not."),
    Entry(A.REQUEST_WITHDRAWN, 3108, GOVERNANCE, Kind.ENDED, D, "", "A request ended by who made it, undecided."),
    Entry(A.ALLOCATION_CREATED, 4001, GOVERNANCE, Kind.MADE, D, f"qos starts_on ends_on {_LIMITS}",
          "What a project was given, for which time."),
    Entry(A.ALLOCATION_CHANGED, 4002, GOVERNANCE, Kind.CHANGED, D, "why before after",
          "Who took from or gave to whom while it ran."),
    Entry(A.ALLOCATION_CLOSED, 4003, GOVERNANCE, Kind.ENDED, D, "why", "Nothing is spent from it any more."),
    Entry(A.ALLOCATION_WARNED, 4004, GOVERNANCE, Kind.FINDING, D, "level percent used committed limit",
          "Who was told in time that it runs out."),
    Entry(A.ALLOCATION_REQUESTED, 4005, GOVERNANCE, Kind.MADE, D,
          "kind why allocation gpus_at_once gpu_minutes gpus_by_type gpu_minutes_by_type longest_minutes "
          "jobs_submitted jobs_running partitions no_limit ends_on",
          "Who asked for how much, for what."),
    Entry(A.ALLOCATION_COMMENTED, 4006, GOVERNANCE, Kind.CHANGED, D, "text",
          "What was asked and answered before the decision."),
    Entry(A.ALLOCATION_DECIDED, 4007, GOVERNANCE, Kind.CHANGED, D, "decision answer",
          "Who gave it, or did not, and why."),
    Entry(A.SHARE_CHANGED, 4008, GOVERNANCE, Kind.CHANGED, D, "allocation before after",
          "What one member may use of what all have."),
    Entry(A.FUNDING_ADDED, 4009, GOVERNANCE, Kind.MADE, D, "number",
          "Whose money it is; funders ask for it years later."),
    Entry(A.FUNDING_CHANGED, 4010, GOVERNANCE, Kind.CHANGED, D, "before after", "The same, when it was put right."),
    Entry(A.LIMITS_APPLIED, 4101, OPERATOR, Kind.CHANGED, D, "steps",
          "What Slurm was told to enforce, before it was told; limits.failed where it did not take it."),
    Entry(A.LIMITS_FAILED, 4102, OPERATOR, Kind.CHANGED, F, "why", "What was decided is not enforced yet, and why."),
    Entry(A.DRIFT_SEEN, 4103, OPERATOR, Kind.FINDING, D, "differences count",
          "Somebody changed Slurm past the portal: rights may be other than they look."),
    Entry(A.DRIFT_ADOPTED, 4104, OPERATOR, Kind.CHANGED, D, "adopted", "Who took over what was changed there."),
    Entry(A.DRIFT_RESTORED, 4105, OPERATOR, Kind.CHANGED, D + F, "differences steps count withheld why",
          "Who put back what the portal says, or that it was done by itself; failed where Slurm did not take it."),
    Entry(A.REPORT_READ, 4201, ACCESS, Kind.TAKEN_OUT, D, "table report filter",
          "Who took figures about people's use along."),
)  # fmt: skip
