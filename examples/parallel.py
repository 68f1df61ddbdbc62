"""Several processes, one gradient: each rank trains on its part, and the weights are averaged after every epoch.

Started by srun, it averages through files in the project's folder, so that it runs wherever numpy does; with torch
there and started by torchrun, through torch.distributed instead. Rank 0 writes the metrics and the checkpoint.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import learning
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--rate", type=float, default=0.5)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--pause", type=float, default=0.3)
asked = parser.parse_args()

rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0)))
world = int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", 1)))
meeting = Path("runs") / learning.job() / f"ranks-{os.environ.get('SLURM_RESTART_COUNT', 0)}"


def through_torch(weights: dict) -> dict:
    """All ranks' mean, by gloo: it needs no GPU."""
    import torch

    for name, value in weights.items():
        tensor = torch.from_numpy(np.ascontiguousarray(value))
        torch.distributed.all_reduce(tensor)
        weights[name] = tensor.numpy() / world
    return weights


def through_files(weights: dict, step: int, longest: float = 120.0) -> dict:
    """All ranks' mean: each writes its own and reads the others'. Raises TimeoutError where one does not come."""
    learning.save(meeting / f"{step}-{rank}.npz", weights)
    paths, until = [meeting / f"{step}-{other}.npz" for other in range(world)], time.monotonic() + longest
    while not all(path.exists() for path in paths):
        if time.monotonic() > until:
            raise TimeoutError(f"rank {rank} waited {longest:.0f} s for the others at step {step}")
        time.sleep(0.05)
    parts = [learning.restore(path) for path in paths]
    return {name: np.mean([part[name] for part in parts], axis=0) for name in weights}


with_torch = "TORCHELASTIC_RUN_ID" in os.environ
if with_torch:
    import torch

    torch.distributed.init_process_group("gloo")
(images, labels), test = learning.data(asked.seed)
weights, rng = learning.fresh(asked.seed), np.random.default_rng(asked.seed + rank)
metrics = learning.Metrics(quiet=rank != 0)
print(
    f"rank {rank} of {world} on {os.uname().nodename}, GPUs {os.environ.get('CUDA_VISIBLE_DEVICES', 'none')}",
    flush=True,
)
for step in range(1, asked.epochs + 1):
    loss = learning.epoch(weights, images[rank::world], labels[rank::world], rng=rng, rate=asked.rate)
    weights = through_torch(weights) if with_torch else through_files(weights, step)
    metrics.write(step=step, loss=loss, accuracy=learning.tested(weights, test), ranks=world)
    if rank == 0:
        learning.save(learning.folder("checkpoints") / "last.npz", weights, step=step)
    learning.pause(asked.pause)
print(f"rank {rank} done", flush=True)
