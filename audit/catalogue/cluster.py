"""Events about the cluster itself: nodes, maintenance, announcements, GPUs used past the queue. 92xx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, R, RetentionClass

ACCESS, OPERATOR = RetentionClass.ACCESS, RetentionClass.OPERATOR

ENTRIES = (
    Entry(A.METRICS_READ, 9201, ACCESS, Kind.READ, D, "owner", "Whose GPU readings somebody else looked at."),
    Entry(A.GPU_OUTSIDE, 9202, OPERATOR, Kind.FINDING, D, "node gpu uid memory_mib since",
          "Work that Slurm does not know ran on a GPU that others may be waiting for."),
    Entry(A.NODE_CHANGE_ASKED, 9203, OPERATOR, Kind.CHANGED, D, "node change reason jobs",
          "Who wanted a node in or out of service, why, and which jobs were on it."),
    Entry(A.NODE_CHANGED, 9204, OPERATOR, Kind.CHANGED, D + R + F, "node change words",
          "What Slurm did with that, or its words for not doing it."),
    Entry(A.MAINTENANCE_PLANNED, 9205, OPERATOR, Kind.MADE, D, "name starts ends nodes mailed",
          "From when to when which nodes take no jobs, and how many people were told."),
    Entry(A.MAINTENANCE_CHANGED, 9206, OPERATOR, Kind.CHANGED, D + R + F, "name change words",
          "Whether the reservation is in Slurm."),
    Entry(A.MAINTENANCE_CANCELLED, 9207, OPERATOR, Kind.ENDED, D, "name", "The window will not be."),
    Entry(A.ANNOUNCED, 9208, OPERATOR, Kind.MADE, D, "place starts ends", "What people were told, where and how long."),
    Entry(A.ANNOUNCEMENT_ENDED, 9209, OPERATOR, Kind.ENDED, D, "place", "It is not shown any more."),
)  # fmt: skip
