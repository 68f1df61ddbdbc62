"""Starts one service in its container, as the user the container runs as: python3 docker/run.py NAME."""

from __future__ import annotations

import os
import sys

from house import PREPARED_BY_INIT, service

from stack import seed_slurm, shell
from stack.fault import Fault
from stack.service import Service


def prepare(one: Service) -> None:
    """What the supervisor of `make up` does before a start; slurmctld's cluster must be known before it asks."""
    if one.prepare and one.name not in PREPARED_BY_INIT:
        one.prepare()
    if one.name == "slurmctld":
        seed_slurm.cluster()


def main() -> None:
    one = service(sys.argv[1])
    os.umask(one.umask)
    try:
        prepare(one)
    except Fault as fault:
        raise SystemExit(f"{one.name}: {fault}") from None
    os.chdir(one.cwd)
    # the compose file has the last word on every setting
    os.execvpe(one.argv[0], list(one.argv), {**shell.ENV, **one.env, **os.environ})


if __name__ == "__main__":
    main()
