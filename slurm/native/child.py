"""A process that speaks to Slurm as one user: a line of JSON is a call, a line of JSON the answer, in turn."""

from __future__ import annotations

import importlib
import json
import os
import select
import sys
from typing import IO, Any

from slurm import answers
from slurm.contract import Refused, SlurmError, Unanswered, Unreachable

LIFE = 60.0  # seconds without a call: its token is over by then


def main() -> None:
    """Read calls until there are no more. Says {"ready": ...} first: without it nothing was ever tried."""
    answer = _private_output()
    pyslurm = importlib.import_module("pyslurm")  # ends the process where there is no usable slurm.conf
    forget_slurm()
    from slurm.native import calls

    _say(answer, {"ready": str(getattr(pyslurm, "__version__", "?"))})
    while select.select([sys.stdin], [], [], LIFE)[0]:
        line = sys.stdin.buffer.readline()
        if not line:
            return
        _say(answer, _answer(pyslurm, calls.KNOWN, json.loads(line)))


def forget_slurm() -> None:
    """pyslurm copies every SLURM_ variable into the jobs it submits; libslurm has read its token by now."""
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]


def _private_output() -> IO[bytes]:
    """What pyslurm or libslurm prints must not be taken for an answer."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "wb")


def _say(out: IO[bytes], what: dict[str, Any]) -> None:
    out.write(json.dumps(what).encode() + b"\n")
    out.flush()


def _answer(pyslurm: Any, known: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"done": known[asked["call"]](pyslurm, **asked["with"])}
    except pyslurm.RPCError as error:
        return _trouble(_verdict(error))
    except SlurmError as error:
        return _trouble(error)
    except Exception as error:
        return _trouble(Unanswered(f"pyslurm: {error!r}"))


def _verdict(error: Any) -> SlurmError:
    code = error.errno if isinstance(error.errno, int) else 0
    return answers.verdict(500, [(code, str(error))])


def _trouble(error: SlurmError) -> dict[str, Any]:
    kind = next(kind for kind in (Refused, Unreachable, Unanswered) if isinstance(error, kind))
    return {"trouble": kind.__name__, "words": str(error)[:500], "code": getattr(error, "code", 0)}


if __name__ == "__main__":
    main()
