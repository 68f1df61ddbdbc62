"""Fine-tune: take weights trained before, freeze the first layer, and train the rest on few images of another seed.

Without `--start` it trains those weights first, so that it runs by itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import learning
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--start", type=Path, help="a checkpoint, for example checkpoints/<job>/last.npz")
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--images", type=int, default=400)
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--seed", type=int, default=11)
parser.add_argument("--pause", type=float, default=0.3)
asked = parser.parse_args()

if asked.start:
    weights = learning.restore(asked.start)
    if weights is None:
        raise SystemExit(f"there is no checkpoint {asked.start}")
    weights = {name: weights[name] for name in ("w1", "b1", "w2", "b2")}
else:
    before, _test = learning.data(7)
    weights, rng = learning.fresh(7), np.random.default_rng(7)
    for _epoch in range(5):
        learning.epoch(weights, *before, rng=rng, rate=0.5)
    learning.save(learning.folder("checkpoints") / "base.npz", weights, step=0)
(images, labels), test = learning.data(asked.seed)
frozen = {name: weights[name].copy() for name in ("w1", "b1")}
rng, metrics = np.random.default_rng(asked.seed), learning.Metrics()
for step in range(1, asked.epochs + 1):
    loss = learning.epoch(weights, images[: asked.images], labels[: asked.images], rng=rng, rate=asked.rate)
    weights.update({name: value.copy() for name, value in frozen.items()})
    metrics.write(step=step, loss=loss, accuracy=learning.tested(weights, test))
    learning.save(learning.folder("checkpoints") / "last.npz", weights, step=step)
    learning.pause(asked.pause)
print("done")
