"""What an administrator orders of nodes: out of service, back again, reserved for maintenance. By scontrol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from slurm import naming, reserved
from slurm.base import Base

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_RESERVATION = re.compile(r"[a-z][a-z0-9-]{0,39}")


class Nodes(Protocol):
    """Each raises Refused (Slurm's no), Unreachable (nothing was done) or Unanswered (some may have been)."""

    def drain(self, node: str, reason: str) -> None:
        """No new jobs; those on it go on."""

    def resume(self, node: str) -> None:
        """Back in service."""

    def reserve(self, name: str, nodes: Sequence[str], start: datetime, end: datetime) -> None:
        """A maintenance reservation, made or changed: no job that would run into it starts. No nodes: all of them."""

    def unreserve(self, name: str) -> None:
        """Gone, also where it was not there."""


class ScontrolNodes:
    """Through a gateway's commands, with the token of Slurm's user `bancada`."""

    def __init__(self, gateway: Base) -> None:
        self.gateway = gateway

    def drain(self, node: str, reason: str) -> None:
        self._order("update", f"NodeName={checked(node)}", "State=DRAIN", f"Reason={naming.words(reason) or 'bancada'}")

    def resume(self, node: str) -> None:
        self._order("update", f"NodeName={checked(node)}", "State=RESUME")

    def reserve(self, name: str, nodes: Sequence[str], start: datetime, end: datetime) -> None:
        facts = [f"ReservationName={window(name)}", f"StartTime={_time(start)}", f"EndTime={_time(end)}"]
        facts.append(f"Nodes={','.join(map(checked, nodes)) or 'ALL'}")
        act = "update" if self._is_there(name) else "create"
        self._order(act, *facts, *([] if act == "update" else ["Users=root", "Flags=MAINT,IGNORE_JOBS"]))

    def unreserve(self, name: str) -> None:
        if self._is_there(name):
            self._order("delete", f"ReservationName={window(name)}")

    def _is_there(self, name: str) -> bool:
        """Looked for as the administrator: the reader's token is not this worker's to have."""
        found = reserved.read(self.gateway.commands, self.gateway.tokens.admin())
        return window(name) in {one.name for one in found}

    def _order(self, *words: str) -> None:
        self.gateway.commands.order(self.gateway.tokens.admin(), "scontrol", *words)


def checked(node: str) -> str:
    """A node's name. Raises Refused for what cannot be one: scontrol takes ALL for every node."""
    naming.need(bool(_NODE.fullmatch(node)) and node.upper() != "ALL", f"{node!r} cannot be a node's name")
    return node


def window(name: str) -> str:
    """A reservation's name as the portal gives them. Raises Refused for another."""
    naming.need(bool(_RESERVATION.fullmatch(name)), f"{name!r} cannot be a reservation's name")
    return name


def _time(at: datetime) -> str:
    """scontrol reads times in its own time zone, which commands of ours set to UTC."""
    return f"{at:%Y-%m-%dT%H:%M:%S}"
