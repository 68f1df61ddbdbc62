"""Reservations as scontrol prints them, a line each: names, times and nodes, no free text."""

from __future__ import annotations

import re

from slurm import text
from slurm.commands import Commands
from slurm.contract import ReservationRecord, Unanswered
from slurm.tokens import Token

_NONE = "No reservations in the system"


def read(commands: Commands, token: Token) -> list[ReservationRecord]:
    """All this token may see: a Slurm with PrivateData=reservations shows a person their own only."""
    return parse(commands.read(token, "scontrol", "-o", "show", "reservation"))


def parse(printed: str) -> list[ReservationRecord]:
    """Raises Unanswered for lines of another form."""
    lines = [line for line in printed.splitlines() if line.strip()]
    try:
        return [_record(line) for line in lines if not line.startswith(_NONE)]
    except (KeyError, ValueError) as error:
        raise Unanswered(f"scontrol's answer cannot be read ({error!r})") from None


def _record(line: str) -> ReservationRecord:
    """A newer release's comment stands last: of two fields of one name the first counts."""
    fields: dict[str, str] = {}
    for name, value in re.findall(r"(?:^|\s)(\w+)=(\S*)", line):
        fields.setdefault(name, "" if value == "(null)" else value)
    return ReservationRecord(
        name=fields["ReservationName"],
        start_time=text.instant(fields["StartTime"]),
        end_time=text.instant(fields["EndTime"]),
        nodes=text.hosts(fields["Nodes"]),
        users=_names(fields.get("Users", "")),
        accounts=_names(fields.get("Accounts", "")),
        is_maintenance="MAINT" in fields.get("Flags", "").split(","),
    )


def _names(value: str) -> tuple[str, ...]:
    return tuple(name for name in value.split(",") if name)
