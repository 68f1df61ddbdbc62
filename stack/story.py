"""The whole of `up`: ground first, then the database, then the portal, then wait until it says it is ready."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable

from stack import card, control, database
from stack.fault import Fault
from stack.layout import Stack
from stack.service import choose
from stack.table import table

Say = Callable[[str], None]


def up(stack: Stack, names: list[str], say: Say = print) -> None:
    """Idempotent. `names` narrows it to some services and what they need; empty means all, and the demo."""
    services = table(stack)
    chosen = choose(services, names)
    portal = [service.name for service in chosen if "portal" in service.sets]
    ground = [service.name for service in chosen if "portal" not in service.sets]
    control.up(stack, ground, say)
    if any("postgres" in service.after for service in chosen):
        database.prepare(stack, say)
    if portal:
        control.up(stack, portal, say)
    if not names:
        if any(service.name == "web" for service in services):
            wait(stack)
        card.write(stack)
        card.show(stack)


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
