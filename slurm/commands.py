"""Run Slurm's own commands: absolute paths, argument lists, an empty environment but for the token, a time limit."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from slurm.contract import Refused, Unanswered, Unreachable
from slurm.tokens import Token

_UNREACHED = ("Connection refused", "connect failure", "Unable to contact slurm controller", "No route to host")
_UNHEARD = ("Socket timed out", "Zero Bytes were transmitted", "Communication connection failure")
_TROUBLE = ("Problem", "These associations don't", "No account")  # sacctmgr's complaints among what it did


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

    def tell(self, token: Token, program: str, *args: str, lines: Sequence[str], deadline: float) -> list[str]:
        """Give a command what it is to change, line by line; what it complained of, for people to read.

        sacctmgr's exit status only says that some line changed nothing: read the effect back.
        """
        done = self._run(token, program, args, text="".join(f"{line}\n" for line in lines), deadline=deadline)
        if done.returncode < 0:
            raise Unanswered(f"{program} was ended by signal {-done.returncode}")
        if done.returncode and any(phrase in done.stderr for phrase in _UNREACHED):
            # without a connection it reads and echoes all the same; what it does it says with a space before it
            acted = any(line.startswith(" ") for line in done.stdout.splitlines())
            raise (Unanswered if acted else Unreachable)(f"{program}: {_first(done.stderr)}")
        return list(dict.fromkeys(_complaints(done))) if done.returncode else []

    def order(self, token: Token, program: str, *args: str) -> None:
        """Give one order; what the command has against it is Slurm's no."""
        done = self._run(token, program, args)
        if not done.returncode and "error:" not in done.stderr.lower():
            return
        if done.returncode < 0:
            raise Unanswered(f"{program} was ended by signal {-done.returncode}")
        if any(phrase in done.stderr for phrase in _UNREACHED):
            raise Unreachable(f"{program}: {_first(done.stderr)}")
        if any(phrase in done.stderr for phrase in _UNHEARD):
            raise Unanswered(f"{program}: {_first(done.stderr)}")
        raise Refused(_first(done.stderr or done.stdout))

    def _run(
        self, token: Token, program: str, args: tuple[str, ...], *, text: str = "", deadline: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        argv, patience = [str(Path(self.folder) / program), *args], deadline or self.deadline
        try:
            return subprocess.run(
                argv,
                env=self._environment(token),
                input=text,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=patience,
                check=False,
                cwd="/",
            )
        except subprocess.TimeoutExpired:
            raise Unanswered(f"{program} did not end within {patience:g} s") from None
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


def _complaints(done: subprocess.CompletedProcess[str]) -> Iterator[str]:
    """All of standard error, and of the rest, where prompts and what was done stand too, the lines in trouble."""
    for line in done.stderr.splitlines():
        yield line.strip().removeprefix("sacctmgr: error: ")[:300]
    for line in done.stdout.splitlines():
        if line.strip().startswith(_TROUBLE):
            yield line.strip()[:300]


def _first(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[0][:300] if lines else "said nothing"
