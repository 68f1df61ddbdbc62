"""manage.py against a running stack: inside the namespace, as the user and database role the command is for."""

from __future__ import annotations

import os
import subprocess

from stack import control, namespace, shell
from stack.environment import environment
from stack.fault import Fault
from stack.layout import INSIDE_CHECKOUT, Stack

PYTHON = f"{INSIDE_CHECKOUT}/.venv/bin/python"
# whose a command is; all others are the web process's
USERS = {
    "migrate": "owner",
    "setup_roles": "owner",
    "seed_demo": "owner",
    "deliver_presets": "owner",
    "collectstatic": "owner",
    "check_grants": "owner",
    "makemigrations": "owner",
    "shell": "owner",
    "dbshell": "owner",
    "follow_slurm": "follower",
    "seal": "seal",
}


def command(words: list[str], user: str | None) -> tuple[list[str], str]:
    """The command line inside, and the service user it is for."""
    who = user or USERS.get(words[0] if words else "", "web")
    return [PYTHON, f"{INSIDE_CHECKOUT}/manage.py", *words], who


def become(stack: Stack, words: list[str], user: str | None) -> None:
    """Replace this process by manage.py."""
    line, who = command(words, user)
    control.execute(stack, line, env={**shell.ENV, **environment(stack, who)}, user=f"bancada-{who}")


def run(stack: Stack, *words: str) -> None:
    """Run to the end; Fault with its last line when it fails."""
    line, who = command(list(words), None)
    argv = [*namespace.enter(control.need(stack)), *control.as_user(f"bancada-{who}"), *line]
    done = subprocess.run(argv, env={**shell.ENV, **environment(stack, who)}, capture_output=True, text=True)
    with (stack.var / "log/manage.log").open("a") as log:
        os.fchmod(log.fileno(), 0o600)
        log.write(f"$ manage.py {' '.join(words)}\n{done.stdout}{done.stderr}")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise Fault(f"manage.py {words[0]} failed: {said[-1]} (all of it in {stack.var}/log/manage.log)")
