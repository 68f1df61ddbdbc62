"""The log reader or the opener behind it ends while an output is read: said so, and readable again by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.outputs import Output, stamped
from tests.bench.place import RESEARCHERS, Answer, Place, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


@pytest.fixture
def output(place: Place) -> Iterator[Output]:
    with stamped(place, 0.2) as running:
        yield running


def read(output: Output, offset: int = 0) -> Answer:
    caller = output.place.api(RESEARCHERS[0])
    return caller.get(f"/api/v1/jobs/{output.job}/log?offset={offset}&limit=1000")


@pytest.mark.parametrize("service", ["reader", "opener"])
def test_one_that_is_killed_comes_back_and_nothing_is_missing(output: Output, service: str) -> None:
    before = read(output)
    assert before.status == 200
    output.place.kill(service)
    answers = []
    until(
        lambda: answers.append(read(output)) or answers[-1].status == 200, seconds=30, what="it reads again", every=0.1
    )
    assert {answer.status for answer in answers} <= {200, 503}
    assert answers[-1].body.startswith(before.body)
    assert output.path.read_bytes().startswith(answers[-1].body)


def test_while_the_reader_is_stopped_the_answer_says_so(output: Output) -> None:
    output.place.stack("stop", "reader")
    answer = read(output)
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    page = output.place.browser(RESEARCHERS[0]).get(f"/jobs/{output.job}")
    assert page.status == 200  # the job's page itself needs no reader
    output.place.stack("start", "reader")
    assert read(output).status == 200
