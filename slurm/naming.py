"""Names that may go into Slurm's accounting: checked before they reach a command line."""

from __future__ import annotations

import re

from slurm.contract import Refused

_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,63}")


def checked(name: str) -> str:
    """An account, QOS, user or partition: slurmdbd lower-cases names, so only lower case is taken."""
    need(bool(_NAME.fullmatch(name)), f"{name!r} cannot be a name in Slurm's accounting")
    return name


def words(text: str) -> str:
    """A description: sacctmgr splits at commas and reads quotes, so only plain characters stay."""
    return re.sub(r"[^\w .:/()-]", " ", text).strip()[:200]


def need(good: bool, words: str) -> None:
    if not good:
        raise Refused(words)
