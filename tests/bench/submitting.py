"""P1: jobs a second through the portal until each has its number in Slurm, beside a bare `sbatch` loop; none lost, none doubled."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator

from tests.bench.figures import Figure
from tests.bench.place import JSON, NODE, PARTITION, PROJECT, RESEARCHERS, Place, request, submit, until

SCRIPT = "#!/bin/bash\ntrue\n"
CLIENTS = 4
BATCH = 100  # jobs of one call
TOGETHER = f"one client of the API, {BATCH} jobs a call"
MINE = "SELECT {} FROM jobs_job j LEFT JOIN jobs_handover h ON h.job_id = j.id AND h.outcome = 'accepted' WHERE j.name = %s"
_run = itertools.count()


def measure(place: Place, *, small: bool, large: bool) -> Iterator[Figure]:
    """The rate, then the same while the worker is killed."""
    count = 40 if small else 300
    with drained(place):
        loops = {parallel: sbatch(place, count, parallel) for parallel in (1, CLIENTS)}
    # the loop's own jobs are gone before the portal's turn: it would take them all in
    for door, asking in ((f"{CLIENTS} clients of the API, one job a call", ask), (TOGETHER, ask_together)):
        with drained(place):
            rate = through_the_portal(place, count, asking).rate
        yield Figure(
            "P1",
            f"{count} jobs, {door}, until each has its number in Slurm",
            f"{rate:.1f} jobs/s",
            f"`sbatch` loop: {loops[1]:.1f} jobs/s, four at once {loops[CLIENTS]:.1f}",
            f"{rate / loops[1]:.2f} of the loop, {rate / loops[CLIENTS]:.2f} of four at once",
            "≥ 0.5 of the loop",
            rate / loops[1] >= 0.5,
        )
    yield while_killed(place, 20 if small else 120, 1 if small else 3)


class drained:
    """The node takes no job meanwhile: what is measured is handing over, for both sides. Afterwards they run out."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def __enter__(self) -> None:
        quiet(self.place)
        self.place.inside_as("root", "scontrol", "update", f"nodename={NODE}", "state=drain", "reason=bench")

    def __exit__(self, *_: object) -> None:
        self.place.inside_as("root", "scancel", "--quiet", f"--partition={PARTITION}")
        self.place.inside_as("root", "scontrol", "update", f"nodename={NODE}", "state=resume")
        quiet(self.place)


def quiet(place: Place) -> None:
    """Nothing queued or running in Slurm, nothing under way in the portal."""
    until(lambda: not place.inside_as("root", "squeue", "-ho", "%i"), seconds=300, what="the queue is empty", every=2)
    open_ones = "SELECT count(*) FROM jobs_job WHERE phase IN ('requested', 'handing', 'confirming', 'accepted')"
    until(lambda: place.one(open_ones) == 0, seconds=300, what="the portal has no job under way", every=2)


def sbatch(place: Place, count: int, parallel: int) -> float:
    """Jobs a second of a shell's own loop: the bare floor, as a person would do it without the portal."""
    folder = f"/srv/var/projects/{PROJECT}"
    script = f"{folder}/bench.sh"
    begin = f"printf '%s' '{SCRIPT}' >{script}; cd {folder}"
    one = f"sbatch -A {PROJECT} -p {PARTITION} -n1 -c1 --mem=1G -t10 -o {folder}/logs/bench-%j.out {script} >/dev/null"
    loop = f"for i in $(seq {count // parallel}); do {one} || exit 1; done"
    lines = f"{begin}; s=$(date +%s.%N); {' & '.join([f'({loop})'] * parallel)} & wait; e=$(date +%s.%N); echo $s $e"
    began, ended = place.inside_as(RESEARCHERS[0], "bash", "-c", lines).split()
    return count // parallel * parallel / (float(ended) - float(began))


@dataclasses.dataclass
class Round:
    """One burst of submissions: its jobs' common name, and jobs a second until the last was recorded."""

    name: str
    count: int
    began: float

    rate: float = 0.0


def through_the_portal(place: Place, count: int, asking: Callable[[Place, int], Round]) -> Round:
    """From the first request to the moment the worker knew the last one's number."""
    burst = asking(place, count)
    until(lambda: accepted(place, burst) == count, seconds=180, what="all accepted", every=1)
    last = place.one(MINE.format("max(extract(epoch FROM h.accepted_at))"), burst.name)
    burst.rate = count / (float(last) - burst.began)
    return burst


def ask(place: Place, count: int) -> Round:
    """The requests, by several clients at once; all of them accepted by the portal."""
    name = f"bench-{os.getpid()}-{next(_run)}"
    callers = [place.api(user) for user in itertools.islice(itertools.cycle(RESEARCHERS), CLIENTS)]
    body = request(name, SCRIPT)
    wrong: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(number, count, CLIENTS):
                submit(callers[number], body)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    burst = Round(name, count, time.time())
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise SystemExit(f"a submission failed: {wrong[0]}")
    return burst


def ask_together(place: Place, count: int) -> Round:
    """The same jobs by one client, in calls of `POST /jobs/batch`."""
    name, caller = f"bench-{os.getpid()}-{next(_run)}", place.api(RESEARCHERS[0])
    one = json.loads(request(name, SCRIPT))
    burst = Round(name, count, time.time())
    for first in range(0, count, BATCH):
        answer = caller.post(
            "/api/v1/jobs/batch", json.dumps({"jobs": [one] * min(BATCH, count - first)}).encode(), **JSON
        )
        if answer.status != 201:
            raise SystemExit(f"a batch was not accepted ({answer.status}): {answer.body[:300]!r}")
    return burst


def accepted(place: Place, burst: Round) -> int:
    """How many of them have a number in Slurm."""
    return int(place.one(MINE.format("count(h.slurm_job_id)"), burst.name))


def while_killed(place: Place, count: int, kills: int) -> Figure:
    """The worker is killed while it hands over; what it left in the middle is settled, and each job runs once."""
    quiet(place)
    killer = threading.Thread(target=kill_worker, args=(place, kills))
    killer.start()
    began = time.monotonic()
    burst = ask(place, count)
    killer.join()
    until(lambda: accepted(place, burst) == count, seconds=300, what="all accepted after the kills", every=2)
    taken = time.monotonic() - began
    quiet(place)
    lost, doubled = account(place, burst)
    return Figure(
        "P1",
        f"{count} jobs while the worker is killed {kills} times",
        f"{lost} lost, {doubled} doubled",
        f"all accepted after {taken:.0f} s",
        goal="0 and 0",
        good=lost == doubled == 0,
        must=True,
    )


def kill_worker(place: Place, kills: int) -> None:
    """SIGKILL, as the kernel does it when memory ends, somewhere between claim and record; it is started again."""
    trying = "SELECT count(*) FROM jobs_handover WHERE outcome = 'trying' AND began_at > now() - interval '2 seconds'"
    for _ in range(kills):
        until(lambda: place.one(trying), seconds=60, what="the worker hands over", every=0.02)
        time.sleep(random.uniform(0, 0.25))
        old = place.kill("worker-slurm")
        until(lambda old=old: place.pids().get("worker-slurm", old) != old, seconds=60, what="the worker is back")


def account(place: Place, burst: Round) -> tuple[int, int]:
    """(jobs that never ran to their end, jobs that ran more than once): both sides' records against each other."""
    ran = runs(place, burst.name)
    return burst.count - sum(number > 0 for number in ran.values()), sum(number > 1 for number in ran.values())


def runs(place: Place, name: str) -> dict[str, int]:
    """The portal's jobs of this name: how many jobs of Slurm ran to their end under one of its tokens."""
    tokens = {
        str(token): str(job)
        for token, job in place.rows(
            "SELECT h.token, j.id FROM jobs_job j LEFT JOIN jobs_handover h ON h.job_id = j.id WHERE j.name = %s", name
        )
    }
    ended: dict[str, set[str]] = {job: set() for job in tokens.values()}
    for number, state, token in [*_shown(place), *_accounted(place, name)]:
        if token in tokens and state == "COMPLETED":
            ended[tokens[token]].add(number)
    return {job: len(numbers) for job, numbers in ended.items()}


def _shown(place: Place) -> list[tuple[str, str, str]]:
    """(number, state, token) of what slurmctld still shows."""
    said = place.inside_as("root", "scontrol", "-o", "show", "job")
    row = re.compile(r"^JobId=(\d+) .*? JobState=(\w+) .*?bancada:([0-9a-f]{32})", re.MULTILINE)
    return row.findall(said)


def _accounted(place: Place, name: str) -> list[tuple[str, str, str]]:
    """The same of slurmdbd: what slurmctld shows no more."""
    words = ["sacct", "-anPX", f"--name={name}", "-S", "now-1hour", "-o", "JobIDRaw,State,Comment"]
    return re.findall(r"^(\d+)\|(\w+)[^|]*\|bancada:([0-9a-f]{32})", place.inside_as("root", *words), re.MULTILINE)
