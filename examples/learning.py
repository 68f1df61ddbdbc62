"""What the example jobs share: seeded digits, a small network in numpy, metric lines, and checkpoints written whole.

numpy only; with scikit-learn there the digits are its own. Each metric line is JSON, on standard output and in
`metrics.jsonl` of the job's folder, as the portal draws curves from.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
from train_digits import accuracy, load, step

HIDDEN = 48


def job() -> str:
    """The number of the job, with that of the task in an array; "local" outside Slurm."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID", "local")


def folder(kind: str) -> Path:
    """A folder of this job's own below `kind`, made if need be."""
    path = Path(kind) / job()
    path.mkdir(parents=True, exist_ok=True)
    return path


class Metrics:
    """`metrics.write(step=3, loss=0.5)`: a line on standard output and one in the file."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.path = None if quiet else folder("runs") / "metrics.jsonl"

    def write(self, **values: float) -> None:
        """Numbers by name; `step` among them."""
        if self.quiet or self.path is None:
            return
        line = json.dumps(
            {name: round(float(value), 6) if name != "step" else int(value) for name, value in values.items()}
        )
        print(line, flush=True)
        with self.path.open("a") as file:
            file.write(line + "\n")


def data(seed: int) -> tuple[tuple, tuple]:
    """((images, labels) to train on, (images, labels) to test on), the same for the same seed."""
    rng = np.random.default_rng(seed)
    images, labels, _source = load(rng)
    order, held = rng.permutation(len(labels)), len(labels) // 10
    return (images[order[held:]], labels[order[held:]]), (images[order[:held]], labels[order[:held]])


def fresh(seed: int, hidden: int = HIDDEN) -> dict:
    """Weights to begin with."""
    rng = np.random.default_rng(seed)
    shapes = {"w1": (64, hidden), "b1": hidden, "w2": (hidden, 10), "b2": 10}
    return {name: rng.normal(0, 0.1, shape) if name[0] == "w" else np.zeros(shape) for name, shape in shapes.items()}


def epoch(weights: dict, images, labels, *, rng, rate: float, batch: int = 64) -> float:
    """Once through all images in seeded order; mean loss."""
    batches = np.array_split(rng.permutation(len(labels)), max(1, len(labels) // batch))
    return float(np.mean([step(weights, images[one], labels[one], rate) for one in batches]))


def save(path: Path, weights: dict, **facts: float) -> None:
    """Beside itself first, so that a killed job never leaves half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.stem}.new.npz")
    np.savez(new, **weights, **facts)
    new.replace(path)


def restore(path: Path) -> dict | None:
    """What `save` kept, or None."""
    if not path.exists():
        return None
    with np.load(path) as kept:
        return {name: kept[name] for name in kept.files}


def tested(weights: dict, test: tuple) -> float:
    """Share of the test images it gets right."""
    return accuracy({name: weights[name] for name in ("w1", "b1", "w2", "b2")}, *test)


def pause(seconds: float) -> None:
    """So that there is something to watch."""
    time.sleep(seconds)
