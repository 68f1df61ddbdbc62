"""Run Slurm's own commands: absolute paths, argument lists, an empty environment but for the token, a time limit."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

from slurm.contract import Refused, Unanswered, Unreachable
from slurm.tokens import Token

_UNREACHED = ("Connection refused", "connect failure", "Unable to contact slurm controller", "No route to host")
_NOTHING = ("Nothing modified", "Nothing deleted", "Nothing new added")  # idempotent sacctmgr says so on its way out


@dataclasses.dataclass(frozen=True)
class Commands:
    """`folder` holds squeue, sacct and sacctmgr; `conf` is slurm.conf; `deadline` seconds for each run."""

    conf: str
    deadline: float
    folder: str = "/usr/bin"

    def read(self, token: Token, program: str, *args: str) -> str:
        """What a reading command prints. Exit status, complaints and time are looked at: silence is not "none"."""
        done = self._run(token, program, args)
        if done.returncode or "error:" in done.stderr.lower():
            raise _silence(program, done.stderr or done.stdout)
        return done.stdout

    def change(self, token: Token, program: str, *args: str) -> None:
        """Run a changing command. sacctmgr's exit status is not to be trusted: read the effect back."""
        done = self._run(token, program, args)
        words = (done.stderr + "\n" + done.stdout).strip()
        if not done.returncode or any(phrase in words for phrase in _NOTHING):
            return
        if any(phrase in words for phrase in _UNREACHED):
            raise Unreachable(f"{program}: {_first(words)}")
        raise Refused(f"{program}: {_first(words)}")

    def _run(self, token: Token, program: str, args: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        argv = [str(Path(self.folder) / program), *args]
        try:
            return subprocess.run(
                argv,
                env=self._environment(token),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=self.deadline,
                check=False,
                cwd="/",
            )
        except subprocess.TimeoutExpired:
            raise Unanswered(f"{program} did not end within {self.deadline:g} s") from None
        except OSError as error:
            raise Unreachable(f"{program} cannot be run: {error}") from None

    def _environment(self, token: Token) -> dict[str, str]:
        return {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SLURM_TIME_FORMAT": "%s",
            "SLURM_CONF": self.conf,
            "SLURM_JWT": token.text,
        }


def _silence(program: str, words: str) -> Unreachable | Unanswered:
    kind = Unreachable if any(phrase in words for phrase in _UNREACHED) else Unanswered
    return kind(f"{program}: {_first(words)}")


def _first(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[0][:300] if lines else "said nothing"
