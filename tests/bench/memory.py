"""P16: memory of all the portal's processes together, after whatever was measured before."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.figures import Figure
from tests.bench.place import Place, family, megabytes

PORTAL = ("web", "live", "worker-default", "worker-slurm", "beat", "follower", "signer", "reader", "opener")


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """PSS, where what several processes map is shared out among them; RSS beside it counts it for each."""
    each = {name: family([place.pid(name)]) for name in PORTAL}
    pss = {name: megabytes(pids) for name, pids in each.items()}
    rss = sum(megabytes(pids, "Rss") for pids in each.values())
    total = sum(pss.values())
    yield Figure(
        "P16",
        "memory of the portal's processes together (PSS)",
        f"{total:.0f} MB: " + ", ".join(f"{name} {value:.0f}" for name, value in pss.items()),
        f"RSS {rss:.0f} MB",
        goal="≤ 700 MB",
        good=total <= 700,
    )
