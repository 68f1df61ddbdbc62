"""A small seeded training that runs anywhere: classify 8x8 digits with one hidden layer, loss per epoch, a checkpoint.

Uses scikit-learn's digits where it can be imported, otherwise digits drawn here and blurred with noise; numpy only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

GREEN, YELLOW, DIM, PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"
# 5 rows of 3 dots for each digit, the classic seven-segment look
GLYPHS = "111101101101111 010110010010111 111001111100111 111001111001111 101101111001001 "
GLYPHS += "111100111001111 111100111101111 111001001010010 111101111101111 111101111001111"


def drawn(rng, count):
    """`count` images (count, 64) in 0..1 and their labels: glyphs shifted, scaled and covered in noise."""
    glyphs = np.array([[float(dot) for dot in glyph] for glyph in GLYPHS.split()]).reshape(10, 5, 3)
    labels = rng.integers(0, 10, count)
    images = np.zeros((count, 8, 8))
    for image, label in zip(images, labels, strict=True):
        top, left = rng.integers(1, 3), rng.integers(2, 5)
        image[top : top + 5, left : left + 3] = glyphs[label] * rng.uniform(0.6, 1.0)
    return np.clip(images.reshape(count, 64) + rng.normal(0, 0.18, (count, 64)), 0, 1), labels


def load(rng):
    """Images, labels and the name of where they come from."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return *drawn(rng, 4000), "drawn digits"
    digits = load_digits()
    return digits.data / 16.0, digits.target, "scikit-learn digits"


def forward(weights, images):
    """Hidden activations and class probabilities (count, 10)."""
    hidden = np.maximum(images @ weights["w1"] + weights["b1"], 0)
    scores = hidden @ weights["w2"] + weights["b2"]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, scores / scores.sum(axis=1, keepdims=True)


def step(weights, images, labels, rate):
    """One gradient step; the batch's mean cross-entropy before it."""
    hidden, chances = forward(weights, images)
    loss = -np.log(chances[np.arange(len(labels)), labels] + 1e-12).mean()
    chances[np.arange(len(labels)), labels] -= 1
    chances /= len(labels)
    back = (chances @ weights["w2"].T) * (hidden > 0)
    weights["w2"] -= rate * hidden.T @ chances
    weights["b2"] -= rate * chances.sum(axis=0)
    weights["w1"] -= rate * images.T @ back
    weights["b1"] -= rate * back.sum(axis=0)
    return loss


def progress(epoch, done, total, loss):
    """One line that overwrites itself, as progress bars do."""
    bar = "#" * (20 * done // total)
    print(f"\rEpoch {epoch:3d} {100 * done // total:3d}%|{bar:<20}| {done}/{total} loss={loss:.4f}", end="", flush=True)


def epoch_of(weights, images, labels, rng, options, epoch):
    """Go through all batches once, in seeded random order; mean loss."""
    batches = np.array_split(rng.permutation(len(labels)), max(1, len(labels) // options.batch))
    losses = []
    for number, batch in enumerate(batches, start=1):
        losses.append(step(weights, images[batch], labels[batch], options.rate))
        if number % max(1, len(batches) // 10) == 0:
            progress(epoch, number, len(batches), losses[-1])
            time.sleep(options.pause / 10)
    print("\r", end="")
    return float(np.mean(losses))


def accuracy(weights, images, labels):
    return float((forward(weights, images)[1].argmax(axis=1) == labels).mean())


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds to spend on an epoch beyond its work")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoints/digits.npz"))
    return parser.parse_args(arguments)


def save(path, weights, epoch, reached):
    """Write the checkpoint beside itself first, so that a killed job never leaves half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new.npz")
    np.savez(fresh, epoch=epoch, accuracy=reached, **weights)
    fresh.replace(path)


def train(options):
    """Train and test; the accuracy reached on the tenth kept apart."""
    rng = np.random.default_rng(options.seed)
    images, labels, source = load(rng)
    order, held = rng.permutation(len(labels)), len(labels) // 10
    test, rest = order[:held], order[held:]
    shapes = {"w1": (64, 48), "b1": 48, "w2": (48, 10), "b2": 10}
    weights = {name: rng.normal(0, 0.1, shape) if name[0] == "w" else np.zeros(shape) for name, shape in shapes.items()}
    print(f"{DIM}{source}: {len(rest)} to train, {held} to test; seed {options.seed}{PLAIN}")
    print(f"{DIM}GPUs given: {os.environ.get('CUDA_VISIBLE_DEVICES', 'none')}{PLAIN}")
    reached = 0.0
    for epoch in range(1, options.epochs + 1):
        loss = epoch_of(weights, images[rest], labels[rest], rng, options, epoch)
        reached = accuracy(weights, images[test], labels[test])
        colour = GREEN if reached > 0.9 else YELLOW
        print(f"epoch {epoch:3d}/{options.epochs}  loss {loss:.4f}  {colour}accuracy {reached:.3f}{PLAIN}" + " " * 20)
        save(options.checkpoint, weights, epoch, reached)
    return reached


def main():
    options = parse()
    begin = time.monotonic()
    reached = train(options)
    print(
        f"{GREEN}done{PLAIN} in {time.monotonic() - begin:.1f} s, accuracy {reached:.3f}, kept in {options.checkpoint}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
