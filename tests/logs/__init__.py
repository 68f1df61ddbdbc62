"""Tests of logs/: real opener as root, real reader under a uid of its own, files of a hostile owner."""
