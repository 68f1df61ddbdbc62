"""The script that builds an environment of a project on a node, how a job uses one, and what the script prints. Pure.

What was asked for goes into the script as base64: no byte of it is ever read by a shell. pip or conda read it, as the
person who asked, on the node.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import shlex
import textwrap

PIP, CONDA = "pip", "conda"
FOLDER = "environments"  # in the project's, one folder a build
TARGETS = {PIP: "requirements.txt", CONDA: "environment.yml"}
BEGIN, END = "bancada-environment 1", "bancada-environment end"
MOST_LOCK = 200 * 1024  # bytes
_BLOCK = re.compile(rf"^{BEGIN}\n(.*?)^{END}$", re.M | re.S)

_HEAD = """#!/bin/bash
# Bancada: builds the environment {title} from {target}.
set -euo pipefail
umask 022
place={place}
fail() {{ echo "bancada: $1" >&2; exit 1; }}
mkdir -p {folder}
[ "${{SLURM_RESTART_COUNT:-0}}" = 0 ] || rm -rf -- "$place"  # what the run before left
mkdir "$place" 2>/dev/null || fail "$place is there already, or the project's folder cannot be written to"
place="$PWD/$place"
trap '[ -e "$place/bancada.lock" ] || rm -rf -- "$place"' EXIT
trap 'exit 1' TERM INT
base64 -d >"$place/{target}" <<'BANCADA_DATA'
{data}
BANCADA_DATA
"""
_PIP = """command -v {python} >/dev/null || fail "{python} is not on this node"
{python} -m venv "$place" || fail "{python} can make no environment on this node: its module venv is not complete"
export PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1
"$place/bin/python" -m pip install -r "$place/requirements.txt" || fail "pip could not install what was asked for"
"$place/bin/python" -m pip freeze --all >"$place/.lock" || fail "pip could not list what was installed"
said=$("$place/bin/python" -c 'import platform; print(platform.python_version())')
"""
_CONDA = """tool=""
for one in micromamba mamba conda; do [ -n "$tool" ] || ! command -v "$one" >/dev/null || tool=$one; done
[ -n "$tool" ] || fail "neither micromamba nor conda is on this node: ask for an environment from requirements.txt"
mv "$place/environment.yml" "$place.yml"
trap 'rm -f -- "$place.yml"; [ -e "$place/bancada.lock" ] || rm -rf -- "$place"' EXIT
rmdir "$place"
case $tool in
  micromamba) micromamba create --yes --prefix "$place" --file "$place.yml" ;;
  *) "$tool" env create --quiet --prefix "$place" --file "$place.yml" ;;
esac || fail "$tool could not install what was asked for"
mv "$place.yml" "$place/environment.yml"
case $tool in
  micromamba) micromamba env export --explicit --prefix "$place" ;;
  *) "$tool" list --explicit --prefix "$place" ;;
esac >"$place/.lock" || fail "$tool could not list what was installed"
said=$([ ! -x "$place/bin/python" ] || "$place/bin/python" -c 'import platform; print(platform.python_version())')
"""
_TAIL = """[ "$(wc -c <"$place/.lock")" -le {most} ] || fail "the list of what was installed is too long"
mv "$place/.lock" "$place/bancada.lock"
echo "{begin}"
echo "python $said"
echo "bytes $(du -sb "$place" | cut -f1)"
sed 's/^/lock /' "$place/bancada.lock"
echo "{end}"
"""


def folder_of(name: str, number: int) -> str:
    """Where a build lies, from the project's folder on."""
    return f"{FOLDER}/{name}-{number}"


def script(*, title: str, name: str, number: int, kind: str, text: str, python: str = "") -> str:
    """All of it but `text` is of our own letters: names are checked before."""
    data = "\n".join(textwrap.wrap(base64.b64encode(text.encode()).decode(), 100))
    head = _HEAD.format(title=title, target=TARGETS[kind], place=folder_of(name, number), folder=FOLDER, data=data)
    body = _PIP.format(python=f"python{python or 3}") if kind == PIP else _CONDA
    return head + body + _TAIL.format(begin=BEGIN, end=END, most=MOST_LOCK)


@dataclasses.dataclass(frozen=True, slots=True)
class Built:
    """What the script printed last: the lock, its SHA-256, the bytes on disk, the version of Python."""

    lock: str
    size: int
    python: str

    @property
    def digest(self) -> str:
        """Of the lock as it is kept."""
        return hashlib.sha256(self.lock.encode()).hexdigest()


def read(output: str) -> Built | None:
    """The last block of an output; None where there is no whole one."""
    blocks = _BLOCK.findall(output.replace("\x00", ""))
    if not blocks:
        return None
    facts = [line.partition(" ") for line in blocks[-1].splitlines()]
    said = {word: rest for word, _blank, rest in facts if word in ("python", "bytes")}
    lock = "".join(f"{rest}\n" for word, _blank, rest in facts if word == "lock")
    size = said.get("bytes", "")
    return Built(lock, int(size) if size.isascii() and size.isdigit() and len(size) < 16 else 0, said.get("python", ""))


def packages(lock: str) -> list[tuple[str, str]]:
    """(name, version or address) of each package of a lock, as pip or conda write it."""
    found = []
    for line in lock.splitlines():
        if line.startswith(("#", "@")) or not line.strip():
            continue
        name, _sign, version = line.partition("==") if "==" in line else line.partition(" @ ")
        if not version and "/" in name:  # conda: an address with name-version-build
            name, version = (name.rpartition("/")[2].rsplit("-", 2)[0], name)
        found.append((name.strip(), version.strip()))
    return found


def line(title: str, path: str, kind: str) -> str:
    """Shell that uses it, in one line; where it is not there any more the job says so and ends."""
    held = shlex.quote(path)
    gone = shlex.quote(f"bancada: the environment {title} is not there any more")
    return f'[ -d {held}/bin ] || {{ echo {gone} >&2; exit 1; }}; export {_ROOT[kind]}={held} PATH={held}/bin:"$PATH"'


def variables(path: str, kind: str, path_before: str) -> dict[str, str]:
    """The same for what is no shell's."""
    return {_ROOT[kind]: path, "PATH": f"{path}/bin:{path_before}"}


_ROOT = {PIP: "VIRTUAL_ENV", CONDA: "CONDA_PREFIX"}
