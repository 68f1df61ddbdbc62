"""Events about ready-made requests and the software the site has validated. 57xx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, RetentionClass

JOB = RetentionClass.JOB

ENTRIES = (
    Entry(A.PRESET_ADDED, 5701, JOB, Kind.MADE, D, "preset title after",
          "From when on who could ask for what without saying all of it; the script by its digest."),
    Entry(A.PRESET_CHANGED, 5702, JOB, Kind.CHANGED, D, "preset title before after",
          "What the next request of this name is, and was; each version stays as it is."),
    Entry(A.PRESET_RETIRED, 5703, JOB, Kind.ENDED, D, "preset why", "No new request uses it."),
    Entry(A.PRESET_OFFERED, 5704, JOB, Kind.CHANGED, D, "preset", "New requests may use it again."),
    Entry(A.SOFTWARE_ADDED, 5711, JOB, Kind.MADE, D, "software line", "Which software the site stands for."),
    Entry(A.SOFTWARE_CHANGED, 5712, JOB, Kind.CHANGED, D, "software before after",
          "What a name and a version meant, from when to when."),
    Entry(A.SOFTWARE_RETIRED, 5713, JOB, Kind.ENDED, D, "software why", "Who names it is warned."),
    Entry(A.SOFTWARE_OFFERED, 5714, JOB, Kind.CHANGED, D, "software", "The site stands for it again."),
    Entry(A.ENVIRONMENT_ASKED, 5731, JOB, Kind.MADE, D, "environment kind python text job",
          "Who asked for which packages; the text's first 2,000 characters, and the job that builds them."),
    Entry(A.ENVIRONMENT_BUILT, 5732, JOB, Kind.CHANGED, D + F, "environment digest size why",
          "What jobs of the project ran on: the lock by its digest; or that it was not built, and why."),
    Entry(A.ENVIRONMENT_RETIRED, 5733, JOB, Kind.ENDED, D, "environment", "Who names it is warned."),
    Entry(A.ENVIRONMENT_OFFERED, 5734, JOB, Kind.CHANGED, D, "environment", "It is offered again."),
    Entry(A.ENVIRONMENT_DELETED, 5735, JOB, Kind.ENDED, D, "environment",
          "From when on no job could run on it again as it was."),
    Entry(A.DICTIONARY_CHANGED, 5721, JOB, Kind.CHANGED, D, "number note before after",
          "What imported scripts say instead of what was written in them, from when on."),
)  # fmt: skip
