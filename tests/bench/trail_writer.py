"""So many events a second into the trail, four at a time from a loop, until it is ended; argument: how many."""

from __future__ import annotations

import sys
import time

import django


def main() -> None:
    """Forty transactions a second."""
    django.setup()
    from audit import trail
    from audit.actions import Action

    each, due = int(sys.argv[1]) // 40, time.monotonic()
    while True:
        trail.record_all([trail.event(Action.LOG_READ, bench=number) for number in range(each)])
        due += 1 / 40
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
