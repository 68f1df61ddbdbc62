"""Which portal, and the token for it: from the environment, or from a file only its owner can read."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bancada.api import Trouble


def place() -> Path:
    """Where `bancada login` keeps it."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "bancada" / "login.json"


def known() -> tuple[str, str]:
    """(address, token). Raises Trouble where neither the environment nor the file says."""
    kept = _read()
    url = os.environ.get("BANCADA_URL") or kept.get("url", "")
    token = os.environ.get("BANCADA_TOKEN") or (kept.get("token", "") if url == kept.get("url") else "")
    if not url or not token:
        raise Trouble("Sign in with `bancada login`, or set BANCADA_URL and BANCADA_TOKEN.")
    return url, token


def _read() -> dict[str, str]:
    path = place()
    try:
        if path.stat().st_mode & 0o077:
            raise Trouble(f"{path} can be read by others: chmod 600 it, or sign in again.")
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Trouble(f"{path}: {error}") from error
    return found if isinstance(found, dict) else {}


def keep(url: str, token: str) -> Path:
    """For the next time; the file is its owner's alone from the moment it is there."""
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"url": url, "token": token}, file)
    return path
