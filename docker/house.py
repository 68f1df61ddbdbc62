"""The stack as the containers see it: the same table of services, each in a container of its own and known by name."""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path("/srv/bancada")
sys.path.insert(0, str(CHECKOUT))

from stack import layout  # noqa: E402
from stack.service import Service  # noqa: E402
from stack.table import table  # noqa: E402

STACK = layout.Stack(CHECKOUT, Path("/srv/var"), layout.DEFAULT_PORT, spread=True)
# what needs root or somebody else's files to be prepared: the init container does it before they start
PREPARED_BY_INIT = ("slurmdbd", "nginx")


def service(name: str) -> Service:
    """One row of the table."""
    found = [one for one in table(STACK) if one.name == name]
    if not found:
        raise SystemExit(f"There is no service {name}: {', '.join(one.name for one in table(STACK))}.")
    return found[0]
