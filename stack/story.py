"""The whole of `up`: ground first, then the database, then the portal, then wait until it says it is ready."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from stack import card, control, database, manage, stamps
from stack.fault import Fault
from stack.layout import Stack, same_settings
from stack.service import choose
from stack.table import table

Say = Callable[[str], None]
# what the portal's processes are made of
ROOMS = (
    "access",
    "accounts",
    "audit",
    "cluster",
    "datasets",
    "jobs",
    "locale",
    "logs",
    "portal",
    "presets",
    "projects",
    "quotas",
    "slurm",
    "templates",
)


def up(stack: Stack, names: list[str], say: Say = print) -> None:
    """Idempotent. `names` narrows it to some services and what they need; empty means all, and the demo."""
    if control.supervisor(stack) is not None and not same_settings(stack):
        raise Fault("The stack runs already, with the settings it was started with: make down first.")
    services = table(stack)
    chosen = choose(services, names)
    portal = [service.name for service in chosen if "portal" in service.sets]
    ground = [service.name for service in chosen if "portal" not in service.sets]
    _start_ground(stack, ground, say)
    filled = any("postgres" in service.after for service in chosen) and database.prepare(stack, say)
    if portal:
        _start_portal(stack, portal, say)
    if not names:
        if any(service.name == "web" for service in services):
            wait(stack)
        if filled:  # the worker tells Slurm's accounting of the demo's projects
            manage.run(stack, "limits", "--wait", "40")
        card.write(stack)
        card.show(stack)


def _start_ground(stack: Stack, names: list[str], say: Say) -> None:
    """A supervisor keeps the table it was started with: say so where that is old."""
    own, cold = _files(stack, ["stack"]), control.supervisor(stack) is None
    control.up(stack, names, say)
    if cold:
        stamps.keep(stack, "stack", own)
    elif not stamps.fresh(stack, "stack", own):
        say("stack/ has changed since this stack was started: make down, then make up, brings that in")


def _start_portal(stack: Stack, names: list[str], say: Say) -> None:
    """Processes that run old code are stopped first."""
    code = _files(stack, ROOMS)
    if not stamps.fresh(stack, "portal", code):
        control.ask(stack, "stop", ["portal"], lambda line: None)
        stamps.keep(stack, "portal", code)
    control.up(stack, names, say)


def _files(stack: Stack, folders: Iterable[str]) -> list[Path]:
    return sorted(
        path
        for name in folders
        for path in (stack.checkout / name).rglob("*")
        if path.suffix in (".py", ".html", ".mo")
    )


def wait(stack: Stack, seconds: float = 60) -> None:
    """Until /readyz says yes, through the door."""
    deadline, said = time.monotonic() + seconds, "nothing"
    while time.monotonic() < deadline:
        ok, said = _ready(stack)
        if ok:
            return
        time.sleep(0.3)
    raise Fault(f"The portal at {stack.address} is not ready after {seconds:.0f} s: {said}")


def _ready(stack: Stack) -> tuple[bool, str]:
    link = http.client.HTTPConnection("127.0.0.1", stack.tcp("door"), timeout=5)
    try:
        link.request("GET", "/readyz")
        answer = link.getresponse()
        return answer.status == 200, _short(answer.read().decode(errors="replace"))
    except OSError as why:
        return False, str(why)
    finally:
        link.close()


def _short(text: str) -> str:
    """The parts of /readyz that are not well, or the beginning of whatever came."""
    try:
        parts = json.loads(text)
    except ValueError:
        return text[:200]
    return json.dumps(parts)[:500]
