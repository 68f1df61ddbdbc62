"""Preprocessing on CPUs: read the digits in shards, normalise each, and write them with their sums."""

from __future__ import annotations

import argparse
import hashlib
import json

import learning
import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--shards", type=int, default=8)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--pause", type=float, default=0.3)
asked = parser.parse_args()

(images, labels), _test = learning.data(asked.seed)
where, metrics, sums = learning.folder("prepared"), learning.Metrics(), {}
parts = zip(np.array_split(images, asked.shards), np.array_split(labels, asked.shards), strict=True)
for step, (some, theirs) in enumerate(parts, start=1):
    spread = some.std(axis=1, keepdims=True)
    normal = (some - some.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    path = where / f"shard-{step:03d}.npz"
    learning.save(path, {"images": normal.astype(np.float32), "labels": theirs})
    sums[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    metrics.write(step=step, images=len(theirs), mean=float(normal.mean()), spread=float(normal.std()))
    learning.pause(asked.pause)
(where / "sums.json").write_text(json.dumps(sums, indent=2))
print(f"done: {len(sums)} shards in {where}")
