"""One process: train on the digits, one metric line and one checkpoint an epoch. Also what a sweep runs per task."""

from __future__ import annotations

import argparse

import learning
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--rate", type=float, default=0.5)
parser.add_argument("--hidden", type=int, default=48)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--pause", type=float, default=0.5, help="seconds to spend on an epoch beyond its work")
asked = parser.parse_args()

train, test = learning.data(asked.seed)
weights, rng, metrics = learning.fresh(asked.seed, asked.hidden), np.random.default_rng(asked.seed), learning.Metrics()
for step in range(1, asked.epochs + 1):
    loss = learning.epoch(weights, *train, rng=rng, rate=asked.rate)
    metrics.write(step=step, loss=loss, accuracy=learning.tested(weights, test))
    learning.save(learning.folder("checkpoints") / "last.npz", weights, step=step)
    learning.pause(asked.pause)
print(f"done: seed {asked.seed}, rate {asked.rate}, hidden {asked.hidden}")
