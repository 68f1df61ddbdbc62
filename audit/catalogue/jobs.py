"""Events about jobs and their outputs: each act with who asked and the identity it ran as. 5xxx."""

from audit.actions import Action as A
from audit.catalogue.entry import D, Entry, F, Kind, R, RetentionClass

JOB, ACCESS = RetentionClass.JOB, RetentionClass.ACCESS

ENTRIES = (
    Entry(A.JOB_SUBMITTED, 5001, JOB, Kind.JOB_MADE, D,
          "digest partition gpus gpu_type nodes minutes allocation array tasks",
          "Who asked for which work and how much of the machine; the script by its digest."),
    Entry(A.JOB_REFUSED, 5002, JOB, Kind.JOB_MADE, R, "words", "Slurm's own words for not taking it."),
    Entry(A.JOB_ACCEPTED, 5003, JOB, Kind.JOB_MADE, D, "slurm_job_id uid submit_time attempt",
          "Which job of Slurm's it is, as whom on the machine: the join with every other log."),
    Entry(A.JOB_RELEASED, 5004, JOB, Kind.JOB_CHANGED, D + F, "slurm_job_id by_hand",
          "From here on it could start; failed where somebody released by hand what the portal held."),
    Entry(A.JOB_UNCONFIRMED, 5005, JOB, Kind.JOB_CHANGED, F, "why",
          "For a time nobody knew whether it had been taken; what became of it follows."),
    Entry(A.JOB_ADOPTED, 5006, JOB, Kind.JOB_CHANGED, D, "slurm_job_id",
          "It had been taken after all, and is this one."),
    Entry(A.JOB_HELD, 5007, JOB, Kind.JOB_CHANGED, D + F, "slurm_job_id why",
          "Work of somebody who has left does not start by itself; failed where it had begun meanwhile."),
    Entry(A.JOB_LOST, 5008, JOB, Kind.JOB_ENDED, F, "slurm_job_id attempt",
          "Neither Slurm nor its accounting knows it."),
    Entry(A.JOB_CANCEL_ASKED, 5009, JOB, Kind.JOB_CHANGED, D, "before why",
          "Who wanted it stopped, themselves or for another."),
    Entry(A.JOB_CANCELLED, 5010, JOB, Kind.JOB_ENDED, D, "before state exit_code exit_signal asked_by slurm_job_id",
          "It stopped because somebody asked for it."),
    Entry(A.JOB_STARTED, 5011, JOB, Kind.JOB_STARTED, D, "nodes gpus slurm_job_id",
          "From when on which nodes somebody's code ran."),
    Entry(A.JOB_REQUEUED, 5012, JOB, Kind.JOB_CHANGED, D, "restart_count slurm_job_id",
          "It ran, stopped, and will run again: two runs, one request."),
    Entry(A.JOB_ENDED, 5013, JOB, Kind.JOB_ENDED, D + F, "state exit_code exit_signal asked_by slurm_job_id",
          "Until when it ran, and how it came out."),
    Entry(A.JOB_DISCOVERED, 5014, JOB, Kind.JOB_MADE, D, "slurm_job_id",
          "Work on a project's account that the portal was never asked for."),
    Entry(A.JOB_CHANGE_ASKED, 5015, JOB, Kind.JOB_CHANGED, D, "act before minutes number tasks",
          "Who wanted it held, released, put back, or given another limit."),
    Entry(A.JOB_CHANGED, 5016, JOB, Kind.JOB_CHANGED, D + R, "act before after slurm_job_id why",
          "What Slurm did with that, or its words for not doing it."),
    Entry(A.JOB_LABELLED, 5017, JOB, Kind.JOB_CHANGED, D, "field before after",
          "What people call it; the request itself never changes."),
    Entry(A.JOB_REPEATED, 5018, JOB, Kind.JOB_MADE, D, "of tasks", "Which job this one is a repetition of."),
    Entry(A.METRICS_CHANGED, 5019, JOB, Kind.CHANGED, D, "before after",
          "How curves are read out of the outputs of the project."),
    Entry(A.LOG_READ, 5101, ACCESS, Kind.READ, D, "owner", "Whose output somebody else looked into."),
    Entry(A.LOG_DOWNLOADED, 5102, ACCESS, Kind.TAKEN_OUT, D, "stream bytes",
          "Whose output left the portal, how much of it."),
)  # fmt: skip
