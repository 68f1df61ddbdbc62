"""Small steps inside the namespace: run a command as somebody, write a file from a template, ask a socket."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import socket
import string
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stack.fault import Fault

TEMPLATES = Path(__file__).resolve().parent / "templates"
ENV = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
}
VAR = Path("/srv/var")


def credentials(user: str | None) -> dict[str, object]:
    """Arguments for subprocess that make a child this user with its groups; none needed for who we are already."""
    entry = pwd.getpwnam(user) if user else None
    if entry is None or entry.pw_uid == os.geteuid():
        return {}
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(entry.pw_name, entry.pw_gid)}


def run(
    argv: Sequence[str], *, user: str | None = None, text: str | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Run to the end as `user` (None: as we are); what it printed. Raises Fault with its errors, else its last line."""
    done = subprocess.run(
        argv, input=text, text=True, capture_output=True, cwd="/", env={**ENV, **(env or {})}, **credentials(user)
    )  # type: ignore[call-overload]
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        errors = [line for line in said if "ERROR" in line] or said[-1:]
        raise Fault(f"{argv[0]} failed ({done.returncode}): {' · '.join(errors[:5])}")
    return str(done.stdout)


def works(argv: Sequence[str], *, user: str | None = None, env: Mapping[str, str] | None = None) -> bool:
    try:
        run(argv, user=user, env=env)
    except (Fault, OSError):
        return False
    return True


def write(path: Path | str, text: str, *, user: str = "root", group: str | None = None, mode: int = 0o644) -> None:
    """Write a file whole, with its owner set before anybody else could read it."""
    path = Path(path)
    fresh = path.with_name(path.name + ".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        os.fchown(file.fileno(), pwd.getpwnam(user).pw_uid, grp.getgrnam(group or user).gr_gid)
        os.fchmod(file.fileno(), mode)
        file.write(text)
    fresh.replace(path)


def render(
    template: str, path: Path | str, values: Mapping[str, object], *, user: str = "root", mode: int = 0o644
) -> None:
    """Write a file from templates/, where $name stands for a value."""
    text = string.Template((TEMPLATES / template).read_text()).substitute(values)
    write(path, text, user=user, mode=mode)


def listens(where: str | int) -> bool:
    """Whether something accepts on a Unix socket's path or a loopback port."""
    family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(where if isinstance(where, str) else ("127.0.0.1", where))
        except OSError:
            return False
    return True


def empty(folder: Path) -> bool:
    return not any(folder.iterdir())


def clear(folder: Path) -> None:
    """Remove what is in a folder, not the folder: after a set-up that broke half-way."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
