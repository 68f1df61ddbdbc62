"""What is verified of a project outside the portal: its people's logins, its group and folder; with the exact cure."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.utils.translation import gettext_noop

from projects.models import Project
from quotas.models import Allocation

log = structlog.get_logger(__name__)
HOOK_SECONDS = 20
HOOK_EVERY = 600.0  # seconds, for each project
_asked_until: dict[int, float] = {}


def verify(project: Project, logins: Sequence[str], *, queue: str) -> dict[str, Any]:
    """The four ticks; `logins` are the project's people, `queue` what Slurm lacks ("" nothing).

    It looks at shared storage and may run the site's program, so it belongs in no transaction.
    """
    files = _files(project, logins)
    if not files["ok"] and settings.SITE_HOOK and _may_ask(project):
        _ask_site(project, logins)
        files = _files(project, logins)
    return {
        "login": _login(logins),
        "files": files,
        "allocation": {"ok": Allocation.objects.current().filter(project=project).exists()},
        "queue": {"ok": not queue, "words": queue},
    }


def _login(logins: Sequence[str]) -> dict[str, Any]:
    missing = [login for login in logins if not on_system(login)]
    return {"ok": not missing, "missing": missing, "command": f"getent passwd {shlex.join(missing)}" if missing else ""}


def on_system(login: str) -> bool:
    """Whether the cluster's name service knows this login."""
    try:
        pwd.getpwnam(login)
    except KeyError:
        return False
    return True


def _files(project: Project, logins: Sequence[str]) -> dict[str, Any]:
    group, folder = shlex.quote(project.unix_group), shlex.quote(project.folder)
    make = f"install -d -m 2770 -g {group} {folder} {folder}/logs"
    try:
        known = grp.getgrnam(project.unix_group)
    except KeyError:
        command = f"groupadd {group} && gpasswd -M {shlex.quote(','.join(logins))} {group}"
        return _wrong(gettext_noop("The cluster does not know the Unix group."), command)
    wrong = _folder(Path(project.folder), known.gr_gid, project.unix_group, make)
    wrong = wrong or _logs(Path(project.folder, "logs"), known.gr_gid, project.unix_group, make)
    if wrong:
        return wrong
    outside = [login for login in logins if _is_outside(login, known.gr_gid)]
    if outside:
        command = " && ".join(f"gpasswd -a {shlex.quote(login)} {group}" for login in outside)
        words = gettext_noop("Not everybody of the project is in its Unix group: %(logins)s.")
        return _wrong(words, command) | {"missing": outside}
    return {"ok": True, "words": "", "command": ""}


def _folder(path: Path, gid: int, group: str, make: str) -> dict[str, Any] | None:
    """What is wrong with a folder in which the project's people write; None where nothing is."""
    name, group = shlex.quote(str(path)), shlex.quote(group)
    try:
        found = path.stat()
    except FileNotFoundError:
        absent = gettext_noop("The folder for outputs (logs) is not there.") if path.name == "logs" else ""
        return _wrong(absent or gettext_noop("The folder is not there."), make)
    except OSError:
        return _wrong(gettext_noop("The folder cannot be looked at."), f"ls -ld {name}")
    if not stat.S_ISDIR(found.st_mode):
        return _wrong(gettext_noop("The folder's path names something else."), f"ls -ld {name}")
    if found.st_gid != gid:
        return _wrong(gettext_noop("The folder belongs to another group."), f"chgrp {group} {name}")
    if found.st_mode & 0o2070 != 0o2070:
        return _wrong(gettext_noop("The group cannot write to the folder."), f"chmod 2770 {name}")
    return None


def _logs(path: Path, gid: int, group: str, make: str) -> dict[str, Any] | None:
    """The same of the folder for outputs. The one it stands in lets in the project's group alone, as it should: who is
    not of it cannot look, and what cannot be seen is not called wrong.
    """
    try:
        path.stat()
    except PermissionError:
        return None
    except OSError:
        pass  # said below
    return _folder(path, gid, group, make)


def _is_outside(login: str, gid: int) -> bool:
    """Whether the cluster knows the login and not in this group; who is unknown is another tick's business."""
    try:
        return gid not in os.getgrouplist(login, pwd.getpwnam(login).pw_gid)
    except KeyError:
        return False


def _wrong(words: str, command: str) -> dict[str, Any]:
    return {"ok": False, "words": words, "command": command}


def _may_ask(project: Project) -> bool:
    """Not again and again: a program that fails or hangs would take the worker's whole time."""
    now = time.monotonic()
    if now < _asked_until.get(project.pk, 0.0):
        return False
    _asked_until[project.pk] = now + HOOK_EVERY
    return True


def _ask_site(project: Project, logins: Sequence[str]) -> None:
    """The site's own program may make what is missing: it gets code, group, folder and logins, and no secret."""
    argv = [settings.SITE_HOOK, project.code, project.unix_group, project.folder, *logins]
    try:
        subprocess.run(argv, env={"PATH": "/usr/bin:/bin"}, timeout=HOOK_SECONDS, check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("the site's hook failed", project=project.code, error=type(error).__name__)
