"""Code from a git address, at a commit: what may be named, and the shell that fetches it on the node. Pure.

It is fetched by the job itself, as its person, before the first command of the script. Neither hooks, nor submodules,
nor the person's own git settings, nor an address that another one leads to count.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

ADDRESS = re.compile(
    r"(?P<address>(?P<scheme>https?|ssh)://(?:git@)?[A-Za-z0-9][A-Za-z0-9.-]{0,200}(?::[0-9]{1,5})?"
    r"(?:/[A-Za-z0-9_~][A-Za-z0-9_.~+-]{0,100}){1,12})@(?P<commit>[0-9a-f]{40})"
)
RUNS = "runs"  # the folder in the project's where each job that brings something has one of its own
PREFIX = re.compile(r"(https?|ssh)://(git@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?/([A-Za-z0-9_.~+-]+/)*")


def parsed(text: str) -> tuple[str, str] | None:
    """(address, commit) of "https://host/path.git@<40 hex digits>"; None where it is none."""
    match = ADDRESS.fullmatch(text)
    return (match["address"], match["commit"]) if match else None


def allowed(address: str, prefixes: Iterable[str]) -> bool:
    """Whether it lies beneath one of the site's; a prefix ends with a slash, or counts as if it did."""
    return any(address.startswith(f"{one.rstrip('/')}/") for one in prefixes)


def bad_prefixes(prefixes: Iterable[str]) -> list[str]:
    """Those of a setting that can be none."""
    return [one for one in prefixes if not PREFIX.fullmatch(f"{one.rstrip('/')}/")]


def place(job: object) -> str:
    """Where the code of a job lies and its script starts, from the project's folder on; a task has its own beside."""
    return f"{RUNS}/git-{job}"


_FETCH = (
    'say() { echo "bancada: $1" >&2; exit 1; }',
    '[ ! -e "$p/.git/bancada" ] || exit 0',  # a second run goes on in it
    'command -v git >/dev/null || say "git is not on this node"',
    'mkdir -p -- "${p%/*}" && rm -rf -- "$p" && mkdir -- "$p" && cd -- "$p" || say "there is no folder for the code"',
    "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXTERNAL_DIFF",
    "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=true"
    " GIT_LFS_SKIP_SMUDGE=1",
    'export GIT_SSH_COMMAND="ssh -o BatchMode=yes" GIT_ALLOW_PROTOCOL="$s"',
    "g() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c http.followRedirects=false"
    ' -c submodule.recurse=false -c fetch.recurseSubmodules=false -c advice.detachedHead=false "$@"; }',
    "git init -q --template= >/dev/null",
    'g fetch -q --no-tags --depth=1 -- "$a" "$c" || say "git could not fetch $c from $a"',
    'g checkout -q --detach "$c" && [ "$(git rev-parse HEAD)" = "$c" ] || say "git could not check out $c"',
    ": >.git/bancada",
)


def line(folder: str, job: object, text: str) -> str:
    """One line of shell: the code is fetched, and the script goes on in it; else the job says why and ends."""
    found = parsed(text)
    if found is None:
        raise ValueError(text)
    address, commit = found
    words = {"a": address, "c": commit, "s": address.partition(":")[0]}
    given = " ".join(f"{name}={shlex.quote(value)};" for name, value in words.items())
    where = f'{shlex.quote(f"{folder}/{place(job)}")}"${{SLURM_ARRAY_TASK_ID:+-$SLURM_ARRAY_TASK_ID}}"'
    return f"( p={where}; {given} {'; '.join(_FETCH)} ) </dev/null || exit 1; cd -- {where} || exit 1"
