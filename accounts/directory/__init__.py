"""How we speak to the institutional directory: entries by their own id, groups, passwords, and when it is silent."""

from __future__ import annotations

from accounts.directory.patience import Turns

_PROBES = Turns()  # apart from people's: an impatient probe must not make them wait


def reachable(*, deadline: float) -> None:
    """Raise DirectoryDown unless it answers, encrypted and to the portal's own password, within `deadline` seconds."""
    from accounts.directory.conversation import conversation  # most processes never ask it: python-ldap is 6 MB

    with conversation(seconds=deadline, turns=_PROBES):
        pass
