"""Events about the trail itself and about what administrators do past the pages. 7xxx, 9xxx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, RetentionClass

ACCESS, TRAIL, OPERATOR = RetentionClass.ACCESS, RetentionClass.TRAIL, RetentionClass.OPERATOR

ENTRIES = (
    Entry(A.TRAIL_READ, 7001, ACCESS, Kind.READ, D, "filter count",
          "Who looked at the trail, and at which part of it."),
    Entry(A.TRAIL_EXPORTED, 7002, TRAIL, Kind.LOG_EXPORTED, D + F,
          "form filter first last count digest checkpoint asker after",
          "Which part of the trail was written out, for whom, up to where; by its digest any copy is known again."),
    Entry(A.EXPORT_ASKED, 7003, TRAIL, Kind.LOG_EXPORTED, D, "form filter first last",
          "Who wants which part of the trail, before anything is written."),
    Entry(A.EXPORT_FETCHED, 7004, TRAIL, Kind.TAKEN_OUT, D, "form digest first_byte",
          "Who took a finished export along, each time."),
    Entry(A.CHECKPOINT_MAILED, 7005, TRAIL, Kind.LOG_EXPORTED, D, "checkpoint last count",
          "Which signed seals left the host by mail: with them, rewriting what they cover is found out."),
    Entry(A.FOLLOWER_AWAY, 9002, OPERATOR, Kind.FINDING, F, "since until",
          "What jobs did in this time is known from Slurm's accounting only: the trail says where it was blind."),
    Entry(A.COMMAND_RUN, 9001, OPERATOR, Kind.COMMAND, D, "command arguments system_user",
          "What was done in a shell leaves a line like what is done on a page."),
)  # fmt: skip
