"""Whether this machine's Slurm and the pyslurm of pyproject.toml fit, and building the one against the other.

python -m tests.contract.pairing               # prints "fits", or why it is not run
python -m tests.contract.pairing build FOLDER  # pyslurm into FOLDER

pyslurm is made for one release of Slurm (its YY.MM). With the small headers of contrib/pyslurm the unmodified 25.11.2
also builds against 26.05: a pairing its authors do not support, used where 26.05 is what a machine has.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "contrib" / "pyslurm"
BY_HEADERS = "26.05"


def wanted() -> str:
    """pyslurm==25.11.2"""
    (one,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["pyslurm"]
    return str(one)


def installed() -> str:
    """Slurm's release on this machine: 22.05.8."""
    try:
        return subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "none"


def series(release: str) -> str:
    found = re.search(r"(\d+)\.(\d+)", release)
    return f"{found[1]}.{found[2]}" if found else "none"


def verdict(slurm: str, pyslurm: str) -> str:
    if series(slurm) in (series(pyslurm), BY_HEADERS):
        return "fits"
    return (
        f"test-pyslurm: not run: Slurm {slurm} here; {pyslurm} fits {series(pyslurm)}, and by our headers {BY_HEADERS}"
    )


def build(folder: Path) -> None:
    """Without optimisation: a minute instead of several."""
    libraries = next(iter(sorted(Path("/usr/lib").glob("*/libslurm.so"))), Path("/usr/lib/libslurm.so")).parent
    own = {"SLURM_INCLUDE_DIR": str(HEADERS)} if series(installed()) == BY_HEADERS else {}
    env = {**os.environ, "CFLAGS": "-O0 -g0", "SLURM_LIB_DIR": str(libraries), **own}
    argv = [sys.executable, "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*argv, "--upgrade", "--target", str(folder), wanted()], env=env, check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        build(Path(sys.argv[2]))
    else:
        print(verdict(installed(), wanted()))
