"""Runs once: tells Slurm's accounting of the demo's projects, QOS and people."""

from __future__ import annotations

import house  # noqa: F401 - finds the checkout

from stack import seed_slurm

if __name__ == "__main__":
    seed_slurm.projects()
