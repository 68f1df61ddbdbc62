"""Batch inference: label many images with a checkpoint, in batches; what is done already is not done again.

Without `--model` it trains a small one first, so that it runs by itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import learning
import numpy as np
from train_digits import forward

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", type=Path, help="a checkpoint, for example checkpoints/<job>/last.npz")
parser.add_argument("--batches", type=int, default=12)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--pause", type=float, default=0.3)
asked = parser.parse_args()

(images, labels), _test = learning.data(asked.seed)
if asked.model:
    weights = learning.restore(asked.model)
    if weights is None:
        raise SystemExit(f"there is no checkpoint {asked.model}")
else:
    weights, rng = learning.fresh(asked.seed), np.random.default_rng(asked.seed)
    for _epoch in range(5):
        learning.epoch(weights, images, labels, rng=rng, rate=0.5)
where, metrics = learning.folder("labelled"), learning.Metrics()
for step, batch in enumerate(np.array_split(np.arange(len(labels)), asked.batches), start=1):
    path = where / f"batch-{step:03d}.npz"
    if not path.exists():
        chances = forward(weights, images[batch])[1]
        learning.save(path, {"index": batch, "label": chances.argmax(axis=1), "chance": chances.max(axis=1)})
    kept = learning.restore(path)
    right = float((kept["label"] == labels[batch]).mean())
    metrics.write(step=step, images=len(batch), right=right, certainty=float(kept["chance"].mean()))
    learning.pause(asked.pause)
print(f"done: {len(labels)} images in {where}")
