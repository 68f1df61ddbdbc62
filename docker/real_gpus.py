"""Puts the GPUs of this host in the place of node gpu01's placeholders: docker-compose.gpu.yml asks for it."""

from __future__ import annotations

import re
from pathlib import Path

KIND = re.compile(r"[a-z0-9_]{1,30}")
FILES = ("slurm.conf", "gres.conf", "job_submit.lua")


def put(folder: Path, count: int, kind: str) -> None:
    """`count` GPUs of type `kind` on gpu01, as /dev/nvidia0 and on; in Slurm's words `kind` takes a100's place."""
    if count < 1 or not KIND.fullmatch(kind):
        raise SystemExit("BANCADA_REAL_GPUS is their number, BANCADA_GPU_TYPE one word of small letters and digits.")
    devices = f"/dev/nvidia[0-{count - 1}]" if count > 1 else "/dev/nvidia0"
    for name in FILES:
        path = folder / name
        text = path.read_text().replace("a100", kind)
        text = re.sub(rf"(?m)^(NodeName=gpu01 .*gpu:{kind}:)\d+", rf"\g<1>{count}", text)
        text = re.sub(r"(?m)^(NodeName=gpu01 Name=gpu .*File=)\S+", rf"\g<1>{devices}", text)
        path.write_text(text)
