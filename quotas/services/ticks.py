"""What is verified of a project outside the portal: its people's logins, its group and folder; with the exact cure."""

from __future__ import annotations

import grp
import pwd
import shlex
import stat
import subprocess
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


def verify(project: Project, logins: Sequence[str], *, queue: str) -> dict[str, Any]:
    """The four ticks; `logins` are the project's people, `queue` what Slurm lacks ("" nothing)."""
    files = _files(project, logins)
    if not files["ok"] and settings.SITE_HOOK:
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
    try:
        known = grp.getgrnam(project.unix_group)
    except KeyError:
        command = f"groupadd {group} && gpasswd -M {shlex.quote(','.join(logins))} {group}"
        return _wrong(gettext_noop("The cluster does not know the Unix group."), command)
    try:
        found = Path(project.folder).stat()
    except FileNotFoundError:
        command = f"install -d -m 2770 -g {group} {folder}"
        return _wrong(gettext_noop("The folder is not there."), command)
    except OSError:
        return _wrong(gettext_noop("The folder cannot be looked at."), f"ls -ld {folder}")
    if not stat.S_ISDIR(found.st_mode):
        return _wrong(gettext_noop("The folder's path names something else."), f"ls -ld {folder}")
    if found.st_gid != known.gr_gid:
        return _wrong(gettext_noop("The folder belongs to another group."), f"chgrp {group} {folder}")
    if found.st_mode & 0o2070 != 0o2070:
        return _wrong(gettext_noop("The group cannot write to the folder."), f"chmod 2770 {folder}")
    return {"ok": True, "words": "", "command": ""}


def _wrong(words: str, command: str) -> dict[str, Any]:
    return {"ok": False, "words": words, "command": command}


def _ask_site(project: Project, logins: Sequence[str]) -> None:
    """The site's own program may make what is missing: it gets code, group, folder and logins, and no secret."""
    argv = [settings.SITE_HOOK, project.code, project.unix_group, project.folder, *logins]
    try:
        subprocess.run(argv, env={"PATH": "/usr/bin:/bin"}, timeout=HOOK_SECONDS, check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("the site's hook failed", project=project.code, error=type(error).__name__)
