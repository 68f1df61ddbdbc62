"""A lost broker, database, worker or controller: what was accepted is submitted once, what was not is a clear error."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time

import pytest

from tests.bench.place import Place, until
from tests.bench.submitting import accepted, ask, kill_worker, runs
from tests.faults.burst import Burst
from tests.faults.conftest import settled

pytestmark = [pytest.mark.faults, pytest.mark.timeout(240)]
SLEEP = "#!/bin/bash\nsleep 3\n"


def test_without_a_broker_jobs_are_accepted_and_reach_slurm_once_it_is_back(place: Place) -> None:
    burst = Burst(place)
    place.kill("redis-broker")
    began = time.monotonic()
    answers = burst.ask(10)
    assert burst.statuses() == {201: 10}
    assert time.monotonic() - began < 20  # a dead broker holds nobody up
    assert {answer.json()["state"] for answer in answers} == {"handing"}
    place.stack("start", "redis-broker")
    burst.over(60)
    assert burst.ran() == [1] * 10


def test_a_database_restarted_in_the_middle_accepts_or_refuses_and_never_both(place: Place) -> None:
    burst, stop = Burst(place), threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            burst.ask()
            time.sleep(0.05)

    place.api(burst.user)  # signed in while the records are there
    asking = threading.Thread(target=go_on)
    asking.start()
    try:
        time.sleep(1)
        place.kill("postgres", signal.SIGINT)  # as `pg_ctl restart -m fast` does
        until(lambda: "postgres" not in place.pids(), seconds=30, what="PostgreSQL is down", every=0.1)
        time.sleep(0.5)
        place.stack("start", "postgres")
        time.sleep(2)
    finally:
        stop.set()
        asking.join()
    failed = {key for key, answer in burst.answers.items() if answer.status != 201}
    assert set(burst.statuses()) == {201, 503}
    assert burst.answers[next(iter(failed))].headers["Retry-After"]
    assert burst.keys() == burst.answers.keys() - failed
    for key in failed:
        assert burst.ask_with(key).status == 201  # the same key again: the job, whatever became of the first request
    burst.over(120)
    assert burst.ran() == [1] * len(burst.answers)


def test_a_worker_killed_again_and_again_loses_nothing_and_doubles_nothing(place: Place) -> None:
    killer = threading.Thread(target=kill_worker, args=(place, 3))
    killer.start()
    burst = ask(place, 60)
    killer.join()
    until(lambda: accepted(place, burst) == 60, seconds=150, what="all 60 have a number", every=1)
    settled(place, 60)
    assert sorted(runs(place, burst.name).values()) == [1] * 60


def test_a_controller_that_forgets_what_it_accepted(place: Place) -> None:
    """Its state is written every few seconds: what it accepted last may be gone. Then it is told, and runs never twice."""
    burst = Burst(place, SLEEP)
    burst.ask(6)
    numbered = "SELECT count(*) FROM jobs_job WHERE name = %s AND slurm_job_id IS NOT NULL"
    until(lambda: place.one(numbered, burst.name) >= 3, seconds=30, what="some are accepted", every=0.02)
    place.kill("slurmctld")
    time.sleep(1)
    place.stack("start", "slurmctld")
    burst.over(150)
    states, ran = burst.states(), burst.ran()
    assert set(states) <= {"completed", "lost"}
    assert states["completed"] == ran.count(1)
    assert set(ran) <= {0, 1}


def test_a_controller_that_hangs(place: Place) -> None:
    burst = Burst(place)
    pid = place.kill("slurmctld", signal.SIGSTOP)
    try:
        began = time.monotonic()
        burst.ask(4)
        assert burst.statuses() == {201: 4}
        assert time.monotonic() - began < 8  # nobody at a page waits for Slurm
        time.sleep(15 - (time.monotonic() - began))
    finally:
        os.kill(pid, signal.SIGCONT)
    burst.over(90)
    assert burst.ran() == [1] * 4


def test_slurmrestd_gone(place: Place) -> None:
    burst = Burst(place)
    place.kill("slurmrestd")
    burst.ask(4)
    assert burst.statuses() == {201: 4}
    time.sleep(random.uniform(1, 4))
    place.stack("start", "slurmrestd")
    burst.over(60)
    assert burst.ran() == [1] * 4
    assert json.loads(burst.answers[f"{burst.name}-0"].body)["slurm_job_id"] is None
