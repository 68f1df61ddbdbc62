"""A node's agent beside its simulated GPUs: writes their scene every second, and runs what stands after `--`.

python3 -m stack.driver.play NODE KIND COUNT SCENE [--spool DIR] -- COMMAND...
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

from gpu.procfs import Proc
from gpu.whose import Whose
from stack.driver.scenes import scene

EVERY = 1.0  # seconds


def main() -> int:
    """As long as the command runs; its exit status."""
    words = sys.argv[1:]
    split = words.index("--")
    parser = argparse.ArgumentParser()
    for name, kind in (("node", str), ("kind", str), ("count", int), ("scene", Path)):
        parser.add_argument(name, type=kind)
    parser.add_argument("--spool", type=Path)
    asked = parser.parse_args(words[:split])
    whose = Whose(Proc(), spool=asked.spool, node=asked.node)
    _write(asked.scene, scene(whose, asked.node, asked.kind, asked.count))
    child = subprocess.Popen(words[split + 1 :])
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    while child.poll() is None:
        time.sleep(EVERY)
        _write(asked.scene, scene(whose, asked.node, asked.kind, asked.count))
    return child.returncode


def _write(path: Path, text: str) -> None:
    """Whole, and only where it says something new."""
    if not path.exists() or path.read_text() != text:
        fresh = path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
