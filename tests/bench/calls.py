"""P6: calls to slurmctld a minute, by its own count, with nobody and with 500 viewers of a running job."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator

from tests.bench.figures import Figure
from tests.bench.outputs import stamped
from tests.bench.place import RESEARCHERS, Place
from tests.bench.viewers import Viewer, opened

POLLS = 2.0  # pages a second while there are viewers
SETTLE = 36.0  # seconds after a start: by then the follower has nothing to expect
ARRIVAL = 6.0  # seconds in which whatever arrivals cause is over
NOT_OURS = ("root", "bancada-slurmctld", "slurm")  # nodes and the controller itself


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """One job runs all the time; first nobody looks, then many do."""
    count, seconds = (20, 15.0) if small else (500, 60.0)
    with stamped(place, 0.5) as output:
        place.session(RESEARCHERS[0])
        time.sleep(SETTLE)
        nobody = during(place, lambda: time.sleep(seconds))
        many = asyncio.run(watched(place, output.job, count, seconds))
    rate = [sum(calls.values()) * 60 / seconds for calls in (nobody, many)]
    told = ", ".join(f"{number} × {name.removeprefix('bancada-')}" for name, number in sorted(many.items()))
    yield Figure(
        "P6",
        f"the portal's calls to slurmctld a minute, {count} viewers and {POLLS:.0f} pages a second",
        f"{rate[1]:.0f} ({told})",
        f"nobody looking: {rate[0]:.0f}",
        f"{rate[1] - rate[0]:+.0f}",
        "the same (± 2), ≤ 20",
        abs(rate[1] - rate[0]) <= 2 * max(1.0, 60 / seconds) and rate[1] <= 20,
    )


async def watched(place: Place, job: str, count: int, seconds: float) -> Counter[str]:
    """Half of the viewers follow the output, half have the page open; some pages are asked for meanwhile."""
    people = itertools.cycle(place.session(user) for user in RESEARCHERS)
    paths = itertools.cycle([f"/ws/jobs/{job}/log", f"/ws/jobs/{job}"])
    viewers = [Viewer(place.host, next(paths), next(people), lambda _kind, _data: None) for _ in range(count)]
    await opened(viewers)
    for viewer in viewers[::2]:
        viewer.say(type="watch", stream="stdout", offset=0)
    await asyncio.sleep(ARRIVAL)
    calls = await asyncio.to_thread(during, place, lambda: look(place, job, seconds))
    gone = sum(viewer.lost.done() for viewer in viewers)
    for viewer in viewers:
        viewer.close()
    if gone:
        raise SystemExit(f"{gone} of {count} viewers were thrown out")
    return calls


def look(place: Place, job: str, seconds: float) -> None:
    """Pages, as people who come and go ask for them."""
    caller, end = place.browser(RESEARCHERS[0]), time.monotonic() + seconds
    for path in itertools.cycle(["/", "/jobs/", f"/jobs/{job}", f"/jobs/{job}/live", "/cluster/"]):
        if time.monotonic() > end:
            return
        answer = caller.get(path)
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        time.sleep(1 / POLLS)


def during(place: Place, act: object) -> Counter[str]:
    """What the portal's users asked slurmctld for while this went on."""
    before = by_user(place)
    act()  # type: ignore[operator]
    after = by_user(place)
    return Counter({name: number - before[name] for name, number in after.items() if number > before[name]})


def by_user(place: Place) -> Counter[str]:
    """sdiag's count of calls by user, without the nodes' and its own."""
    said = place.inside_as("root", "sdiag")
    part = said.partition("statistics by user")[2].partition("Pending RPC")[0]
    rows = re.findall(r"^\s+(\S+)\s+\(\s*\d+\) count:(\d+)", part, re.MULTILINE)
    return Counter({name: int(number) for name, number in rows if name not in NOT_OURS})
