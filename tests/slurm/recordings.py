"""Answers recorded from real daemons (`make record`): a folder for each release of Slurm, a file for each REST version."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slurm.contract import Submission

FOLDER = Path(__file__).parent / "recorded"
PROJECT = "/srv/var/projects/visao"
# what the first recorded job asks for
ASKED = Submission(
    name="train|x",
    account="visao",
    partition="gpu",
    qos="visao-2026",
    script="#!/bin/bash\nsleep 6\nexit 3\n",
    working_directory=PROJECT,
    standard_output=f"{PROJECT}/%j.out",
    time_limit_minutes=5,
    comment="bancada:0123456789abcdef0123456789abcdef",
    nodes=2,
    tasks=2,
    cpus_per_task=2,
    memory_mb=1536,
    gpus=2,
    gpu_type="a100",
    environment={"PATH": "/usr/bin:/bin", "NOTE": "a=b\nc"},
)


def whole(after: int) -> Submission:
    """A request with all its options, which waits for another job."""
    return dataclasses.replace(
        ASKED,
        comment="bancada:fedcba9876543210fedcba9876543210",
        tasks=4,
        tasks_per_node=2,
        gpus_per_task=1,
        exclusive=True,
        constraint="fast",
        reservation="recorded",
        begin=datetime(2036, 1, 1, tzinfo=UTC),
        signal="USR1@120",
        requeue=False,
        array="1-4%2",
        dependencies=frozenset({f"afterany:{after}"}),
        standard_error=f"{PROJECT}/%A_%a.err",
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Recording:
    """`said`: by name, {"status", "body"} of an answer or the text that a command printed."""

    release: str  # "22.05.8"
    version: str  # of REST, "v0.0.38"
    job_id: int  # of ASKED
    whole_id: int
    said: Mapping[str, Any]

    def body(self, name: str) -> Any:
        """A copy of its own for who changes it."""
        return json.loads(json.dumps(self.said[name]["body"]))

    @property
    def is_old(self) -> bool:
        """Numbers plain, one state: before v0.0.40."""
        return self.version == "v0.0.38"


def read(path: Path) -> Recording:
    return Recording(**json.loads(path.read_text()))


def write(recording: Recording, folder: Path = FOLDER) -> Path:
    """Into the folder of its release: 22.05/v0.0.38.json."""
    path = folder / recording.release.rpartition(".")[0] / f"{recording.version}.json"
    facts = dataclasses.asdict(recording)
    said = [f"  {json.dumps(name)}: {json.dumps(answer, sort_keys=True)}" for name, answer in facts.pop("said").items()]
    head = json.dumps(facts, indent=1).removesuffix("\n}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f'{head},\n "said": {{', ",\n".join(said), " }", "}", ""]))
    return path


ALL = [read(path) for path in sorted(FOLDER.glob("*/*.json"))]
NAMES = [f"{one.release}-{one.version}" for one in ALL]
