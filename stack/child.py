"""One supervised process: prepare, start, wait until ready, stop."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from stack import pidfile, shell
from stack.fault import Fault
from stack.service import Service

PAUSES = (0, 0.5, 1, 2, 4, 8, 15, 30)  # seconds before the next restart: what ran well comes back at once
STEADY = 60.0  # seconds after which a process counts as having come up well


class Child:
    """A service and its process, if it has one."""

    def __init__(self, service: Service) -> None:
        self.service, self.process = service, None  # type: Service, subprocess.Popen[bytes] | None
        self.state, self.note = "stopped", ""
        self.since = self.next_try = 0.0
        self.crashes = 0

    @property
    def pid_file(self) -> Path:
        return shell.VAR / "run" / "pid" / self.service.name

    @property
    def log_file(self) -> Path:
        return shell.VAR / "log" / f"{self.service.name}.log"

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def bring_up(self, leaving: Callable[[], bool]) -> None:
        """Until it is ready. Raises Fault, with the last line of its log, when it ends or takes too long."""
        self.state = "starting"
        try:
            if self.service.prepare:
                self.service.prepare()
            self.spawn()
            self._wait(leaving)
            if self.service.finish:
                self.service.finish()
        except (Fault, OSError) as why:
            self.state, self.note = "failed", str(why)
            raise Fault(f"{self.service.name}: {why}") from why
        self.state, self.note = "ready", ""

    def spawn(self) -> None:
        env = {**shell.ENV, **self.service.env}
        with self.log_file.open("ab") as log:
            os.fchmod(log.fileno(), 0o600)  # whoever runs a job on this host may not read who does what
            self.process = subprocess.Popen(
                self.service.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.service.cwd,
                env=env,
                start_new_session=True,
                umask=self.service.umask,
                **shell.credentials(self.service.user),
            )  # type: ignore[call-overload]
        self.since = time.monotonic()
        pidfile.write(self.pid_file, self.process.pid)

    def _wait(self, leaving: Callable[[], bool]) -> None:
        deadline, pause = time.monotonic() + self.service.patience, 0.05
        while not self.service.ready():
            if not self.alive:
                raise Fault(f"ended while starting: {self.last_line()}")
            if leaving() or time.monotonic() > deadline:
                raise Fault(f"not ready after {self.service.patience:.0f} s: {self.last_line()}")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def last_line(self) -> str:
        """The last line of its log, which usually says why."""
        with self.log_file.open("rb") as log:
            log.seek(max(0, self.log_file.stat().st_size - 4000))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "nothing in its log"

    def ask_to_stop(self) -> None:
        if self.alive and self.process:
            self.process.send_signal(signal.SIGCONT)  # a paused process could not hear
            self.process.send_signal(self.service.stop)

    def see_off(self) -> None:
        """Wait for the end, then make sure: whatever is left of its process group is killed."""
        if self.process:
            try:
                self.process.wait(self.service.grace)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self._kill_group(self.process.pid)
        self.process, self.state, self.note = None, "stopped", ""
        self.pid_file.unlink(missing_ok=True)

    def _kill_group(self, pid: int) -> None:
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def notice_end(self) -> None:
        """A process that ended by itself: plan the next try, or leave it down."""
        code = self.process.returncode if self.process else 0
        steady = time.monotonic() - self.since > STEADY
        self.crashes = 1 if steady else self.crashes + 1
        self.note = f"ended with {code} ({self.crashes}): {self.last_line()}"
        self.state = "waiting" if self.service.restart else "failed"
        self.next_try = time.monotonic() + PAUSES[min(self.crashes, len(PAUSES)) - 1]
        self.pid_file.unlink(missing_ok=True)
