"""Records what a running stack's slurmrestd and commands answer to the gateway, for the replay on every run.

python -m tests.contract.recording VAR FOLDER      # VAR: the running stack's; FOLDER: tests/slurm/recorded
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from slurm.commands import Commands
from slurm.contract import SlurmError
from slurm.rest import RestGateway
from slurm.tokens import Token
from slurm.wire import Wire
from tests.contract.lab import is_over, is_running
from tests.contract.real_lab import RealLab
from tests.slurm import recordings
from tests.slurm.recordings import ASKED

T = TypeVar("T")
NOBODYS = 60_000_000


class TapedWire(Wire):
    """Keeps the last answer."""

    last: dict[str, Any]

    def _raw(self, method: str, path: str, token: Token, body: Any = None) -> tuple[int, bytes]:
        status, content = super()._raw(method, path, token, body)
        try:
            self.last = {"status": status, "body": json.loads(content)}
        except ValueError:
            self.last = {"status": status, "body": content.decode()}
        return status, content


class TapedCommands(Commands):
    """Keeps what the last command printed."""

    last: str = ""

    def read(self, token: Token, program: str, *args: str) -> str:
        printed = super().read(token, program, *args)
        object.__setattr__(self, "last", printed)
        return printed


class Desk:
    """A stack whose answers are kept by name."""

    def __init__(self, var: Path, folder: Path) -> None:
        self.lab = RealLab(var, folder)
        plain = self.lab.gateway
        self.wire = TapedWire(self.lab.inside / "run/slurmrestd/rest.sock", deadline=12.0)
        self.commands = TapedCommands(plain.commands.conf, 15.0, str(folder))
        self.gateway = self.lab.gateway = RestGateway(plain.tokens, self.commands, self.wire)
        self.said: dict[str, Any] = {}
        self.began = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=2)

    @property
    def version(self) -> str:
        """Of REST, as the two sides agreed."""
        return self.gateway._spoken(self.gateway.tokens.reading()).VERSION

    def take(self, name: str, call: Callable[[], T]) -> T | None:
        """Keep what was answered last while this was done, a refusal too."""
        try:
            return call()
        except SlurmError:
            return None
        finally:
            self.said[name] = self.wire.last

    def text(self, name: str, job_id: int, call: Callable[[], object]) -> None:
        """Keep the lines about this job."""
        call()
        lines = self.commands.last.splitlines(keepends=True)
        self.said[name] = "".join(line for line in lines if re.match(rf"\s*{job_id}\b", line))


def still(desk: Desk) -> None:
    """What needs no job."""
    gateway = desk.gateway
    desk.take("ping", gateway.version)
    desk.take("diag", gateway.accounting_backlog)
    statistics = desk.said["diag"]["body"]["statistics"]
    desk.said["diag"]["body"]["statistics"] = {"dbd_agent_queue_size": statistics["dbd_agent_queue_size"]}
    desk.take("partitions", gateway.partitions)
    desk.take("no_such_job", lambda: gateway.job(NOBODYS))
    desk.take("refused", lambda: gateway.submit(dataclasses.replace(ASKED, account="atlas"), as_user="davi"))
    desk.take("accounting_empty", lambda: gateway.accounting_details("nothing", desk.began, 20004))


def one_job(desk: Desk) -> int:
    """From held to accounted for."""
    gateway, lab = desk.gateway, desk.lab
    job_id = desk.take("submit", lambda: gateway.submit(ASKED, as_user="davi"))
    assert job_id
    desk.take("held", lambda: gateway.job(job_id))
    desk.take("release", lambda: gateway.hold_with(gateway.tokens.of("davi"), job_id, held=False))
    lab.until(is_running(lab, job_id))
    desk.take("running", lambda: gateway.job(job_id))
    desk.take("nodes", gateway.nodes)
    desk.text("squeue", job_id, gateway.jobs)
    lab.until(is_over(lab, job_id))
    desk.take("over", lambda: gateway.job(job_id))
    lab.until(lambda: all(row.end_time for row in gateway.accounting(since=desk.began, job_ids=[job_id])))
    desk.text("sacct", job_id, lambda: gateway.accounting(since=desk.began, job_ids=[job_id]))
    desk.text("used", job_id, lambda: gateway.used(since=desk.began, job_ids=[job_id]))
    desk.take("accounting", lambda: gateway.accounting_details("visao", desk.began, 20004))
    body = desk.said["accounting"]["body"]
    body["jobs"] = [job for job in body["jobs"] if job["job_id"] == job_id]
    return job_id


def one_array(desk: Desk) -> None:
    """Two tasks that run until they are cancelled."""
    gateway, lab = desk.gateway, desk.lab
    asked = dataclasses.replace(ASKED, array="0-1", nodes=1, tasks=1, script="#!/bin/bash\nexec sleep 600\n")
    job_id = gateway.submit(asked, as_user="davi")
    gateway.release(job_id, as_user="davi")
    lab.until(lambda: [one.states for one in gateway.named(job_id, gateway.tokens.reading())] == [{"RUNNING"}] * 2)
    desk.take("array", lambda: gateway.job(job_id))
    gateway.cancel(job_id, as_user="davi")
    lab.until(is_over(lab, job_id))
    desk.take("killed", lambda: gateway.job(job_id))
    del desk.said["killed"]["body"]["jobs"][1:]


def whole_request(desk: Desk) -> int:
    """Every option at once, then somebody else's cancel and the owner's."""
    gateway, lab = desk.gateway, desk.lab
    with lab.feature("gpu01,gpu02", "fast"), lab.reservation("recorded", "gpu01,gpu02", "davi"):
        first = gateway.submit(ASKED, as_user="davi")
        job_id = desk.take("whole_submit", lambda: gateway.submit(recordings.whole(first), as_user="davi"))
        assert job_id, desk.wire.last
        desk.take("whole_held", lambda: gateway.job(job_id))
        path = f"/slurm/{desk.version}/job/{job_id}"
        desk.take("cancel_of_another", lambda: desk.wire.delete(path, gateway.tokens.of("felipe")))
        desk.take("cancel", lambda: gateway.cancel(job_id, as_user="davi"))
    return job_id


def scrubbed(said: dict[str, Any]) -> dict[str, Any]:
    """Without the names of the machine it was recorded on."""
    text = json.dumps(said)
    host = os.uname()
    for name, other in ((host.nodename, "slurm"), (host.release, "6.1"), (host.version, "#1")):
        text = text.replace(json.dumps(name)[1:-1], other)
    return json.loads(text)


def main(var: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as commands:
        Path(commands).chmod(0o755)
        desk = Desk(var.resolve(), Path(commands))
        still(desk)
        job_id = one_job(desk)
        one_array(desk)
        whole_id = whole_request(desk)
        made = recordings.Recording(desk.gateway.version(), desk.version, job_id, whole_id, scrubbed(desk.said))
    print(recordings.write(made, folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
