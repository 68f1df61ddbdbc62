"""The record of a job: the request, its hand-overs to Slurm, its runs, and what is still to be done about it."""

from jobs.models.gpus import GpuSummary, TaskSummary
from jobs.models.handover import Handover, HandoverOutcome, Intent, IntentKind, Run
from jobs.models.importing import DictionaryVersion, Draft, DraftState
from jobs.models.job import Job, JobQuerySet, Phase, Source
from jobs.models.notice import Kind, Notice, NoticeChoice, Way
from jobs.models.pattern import MetricPattern
from jobs.models.report import Report
from jobs.models.star import Star
from jobs.models.view import SavedView

__all__ = [
    "DictionaryVersion",
    "Draft",
    "DraftState",
    "GpuSummary",
    "Handover",
    "HandoverOutcome",
    "Intent",
    "IntentKind",
    "Job",
    "JobQuerySet",
    "Kind",
    "MetricPattern",
    "Notice",
    "NoticeChoice",
    "Phase",
    "Report",
    "Run",
    "SavedView",
    "Source",
    "Star",
    "TaskSummary",
    "Way",
]  # fmt: skip
