"""P16: memory of all the portal's processes together, after whatever was measured before."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.figures import Figure
from tests.bench.place import Place, family, megabytes

PORTAL = ("web", "live", "worker-default", "worker-slurm", "beat", "follower", "signer", "reader", "opener")


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """RSS, which counts for each process what several map, and PSS, which shares that out among them."""
    families = {name: family([place.pid(name)]) for name in PORTAL}
    pss = {name: megabytes(pids) for name, pids in families.items()}
    rss = {name: megabytes(pids, "Rss") for name, pids in families.items()}
    for what, each in (("RSS", rss), ("PSS", pss)):
        total = sum(each.values())
        yield Figure(
            "P16", f"memory of the portal's processes together, {what}",
            f"{total:.0f} MB: " + ", ".join(f"{name} {value:.0f}" for name, value in each.items()),
            goal="≤ 700 MB", good=total <= 700,
        )  # fmt: skip
