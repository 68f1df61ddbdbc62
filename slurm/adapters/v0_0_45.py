"""REST v0.0.45, as Slurm 26.05 speaks it: v0.0.42 but for a ping, whose "pinged" is gone, and "shared"."""

from __future__ import annotations

import dataclasses

from slurm.adapters import Json, v0_0_42
from slurm.adapters.v0_0_42 import (
    accounting_query,
    accounting_record,
    hold_body,
    node_record,
    partition_record,
    release,
    submit_body,
)
from slurm.contract import JobRecord

__all__ = [
    "VERSION",
    "accounting_query",
    "accounting_record",
    "hold_body",
    "is_up",
    "job_record",
    "node_record",
    "partition_record",
    "release",
    "submit_body",
]
VERSION = "v0.0.45"


def job_record(job: Json) -> JobRecord:
    """26.05 takes "shared" and obeys it, but shows an empty list whatever was asked."""
    return dataclasses.replace(v0_0_42.job_record(job), exclusive=None)


def is_up(answer: Json) -> bool:
    return any(ping.get("responding") is True for ping in answer.get("pings") or ())
