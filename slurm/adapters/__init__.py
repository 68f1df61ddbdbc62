"""One adapter per REST version: our requests to its bodies, its answers to our records."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from slurm.contract import JobRecord, NodeRecord, PartitionRecord, Submission

# the first that slurmrestd offers is used
KNOWN = ("v0.0.45", "v0.0.42", "v0.0.38")
Json = Mapping[str, Any]


class Adapter(Protocol):
    """What differs between REST versions. Every function is pure."""

    VERSION: str

    def submit_body(self, submission: Submission) -> dict[str, Any]: ...

    def hold_body(self, held: bool) -> dict[str, Any]: ...

    def job_record(self, job: Json) -> JobRecord: ...

    def accounting_record(self, job: Json, uid: int) -> JobRecord:
        """slurmdbd's JSON of one job: for its words. It names the user only, so the caller gives the uid."""

    def accounting_query(self, account: str, since: datetime) -> dict[str, str]: ...

    def node_record(self, node: Json) -> NodeRecord: ...

    def partition_record(self, partition: Json) -> PartitionRecord: ...

    def release(self, answer: Json) -> str:
        """Slurm's release, as every answer's "meta" has it."""

    def is_up(self, answer: Json) -> bool:
        """Whether a ping says that a slurmctld answers."""


def load(version: str) -> Adapter:
    """The adapter of a version in KNOWN."""
    return importlib.import_module(f"slurm.adapters.{version.replace('.', '_')}")
