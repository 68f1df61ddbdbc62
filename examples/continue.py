"""Checkpoint and continue: stop at the signal before the time limit, ask to be requeued, and go on from the checkpoint.

Slurm sends USR1 some time before the end (`--signal`). The step in hand is finished, the checkpoint written, and the
exit code says whether there is more to do: 0 all done, 75 not yet. The script then asks Slurm to requeue the job.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys

import learning
import numpy as np

NOT_YET = 75  # EX_TEMPFAIL
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--rate", type=float, default=0.2)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--pause", type=float, default=1.0)
parser.add_argument("--stop-after", type=int, default=0, help="as if the signal came then, in the first run; to try it")
asked = parser.parse_args()

told = []
signal.signal(signal.SIGUSR1, lambda _number, _frame: told.append(True))
restarts, path = int(os.environ.get("SLURM_RESTART_COUNT", 0)), learning.folder("checkpoints") / "last.npz"
kept = learning.restore(path)
weights, done = learning.fresh(asked.seed), 0
if kept is not None:
    done = int(kept.pop("step"))
    weights = kept
print(f"run {restarts + 1}: {f'goes on behind epoch {done}' if done else 'begins'}", flush=True)
train, test = learning.data(asked.seed)
metrics = learning.Metrics()
for step in range(done + 1, asked.epochs + 1):
    loss = learning.epoch(weights, *train, rng=np.random.default_rng([asked.seed, step]), rate=asked.rate)
    metrics.write(step=step, loss=loss, accuracy=learning.tested(weights, test), run=restarts + 1)
    learning.save(path, weights, step=step)
    learning.pause(asked.pause)
    if told or (restarts == 0 and step == asked.stop_after):
        print(f"told to stop: kept epoch {step} of {asked.epochs}", flush=True)
        sys.exit(NOT_YET if step < asked.epochs else 0)
print("done")
