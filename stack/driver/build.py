"""Builds the stand-in driver with the system's C compiler, where it is older than its source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stack.fault import Fault

SOURCE = Path(__file__).with_name("nvml.c")
NAME = "libnvidia-ml.so.1"


def build(folder: Path) -> Path:
    """The library in this folder. Raises Fault with the compiler's first words."""
    library = folder / NAME
    if library.exists() and library.stat().st_mtime >= SOURCE.stat().st_mtime:
        return library
    folder.mkdir(parents=True, exist_ok=True)
    words = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    done = subprocess.run([*words, "-lm", "-lpthread"], capture_output=True, text=True)
    if done.returncode:
        raise Fault(f"gcc: {(done.stderr.strip().splitlines() or ['it said nothing'])[0]}")
    return library


if __name__ == "__main__":
    build(Path(sys.argv[1]))
