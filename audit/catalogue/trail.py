"""Events about the trail itself and about what administrators do past the pages. 7xxx, 9xxx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, RetentionClass

ACCESS, TRAIL, OPERATOR = RetentionClass.ACCESS, RetentionClass.TRAIL, RetentionClass.OPERATOR

ENTRIES = (
    Entry(A.TRAIL_READ, 7001, ACCESS, Kind.READ, D, "filter count",
          "Who looked at the trail, and at which part of it."),
    Entry(A.TRAIL_EXPORTED, 7002, TRAIL, Kind.LOG_EXPORTED, D + F, "after filter",
          "Which part of the trail was written out, by whom, up to where."),
    Entry(A.COMMAND_RUN, 9001, OPERATOR, Kind.COMMAND, D, "command arguments system_user",
          "What was done in a shell leaves a line like what is done on a page."),
)  # fmt: skip
