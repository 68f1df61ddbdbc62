"""The gateway against answers recorded from real daemons of each release (tests/slurm/recorded)."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import IncompleteRead, RemoteDisconnected
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import respx

import slurm
from slurm import adapters, wire
from slurm.contract import JobRecord, Refused, Unanswered, Unreachable
from slurm.rest import RestGateway
from slurm.tokens import Token
from tests.slurm import recordings
from tests.slurm.recordings import ASKED, PROJECT, Recording


class FixedTokens:
    """Tokens nobody checks."""

    def of(self, user: str) -> Token:
        return Token(user, time.time() + 60, f"token-of-{user}")

    def admin(self) -> Token:
        return self.of("bancada")

    def reading(self) -> Token:
        return self.of("bancada-read")


CLIENT = httpx.Client(verify=False)  # nothing leaves: reading the system's certificates is most of a request's time


class MockedLink:
    """A connection whose requests respx answers."""

    def __init__(self, path: str, deadline: float) -> None:
        self.answer: httpx.Response | None = None

    def connect(self) -> None:
        """There is nobody to connect to."""

    close = connect

    def is_quiet(self) -> bool:
        return True

    def request(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> None:
        self.answer = CLIENT.request(method, f"http://slurm{path}", content=content, headers=headers)

    def getresponse(self) -> SimpleNamespace:
        assert self.answer is not None
        return SimpleNamespace(status=self.answer.status_code, read=lambda: self.answer.content, will_close=False)


class Recorded:
    """One release's answers, served by respx."""

    def __init__(self, recording: Recording, router: respx.Router) -> None:
        self.recording, self.version, self.router = recording, recording.version, router
        self.said: dict[str, Any] = json.loads(json.dumps(recording.said))
        self.job_id = recording.job_id
        for known in adapters.KNOWN:
            self.route("GET", f"/slurm/{known}/ping").respond(404, text="Unable find requested URL.")
        self.answer("GET", "ping", "ping")
        gateway = slurm.connect("rest+unix:///nowhere/rest.sock", signer=FixedTokens())
        assert isinstance(gateway, RestGateway)
        self.gateway = gateway

    def route(self, method: str, path: str) -> respx.Route:
        """One pattern for all, so that a second answer takes the place of the first."""
        return self.router.route(method=method, path=path)

    def answer(self, method: str, what: str, name: str, room: str = "slurm") -> respx.Route:
        recorded = self.said[name]
        route = self.route(method, f"/{room}/{self.version}/{what}")
        return route.respond(recorded["status"], json=recorded["body"])


@pytest.fixture(params=recordings.ALL, ids=recordings.NAMES)
def recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    monkeypatch.setattr(wire, "_Link", MockedLink)
    with respx.mock(base_url="http://slurm", assert_all_called=False, using="httpx") as router:
        yield Recorded(request.param, router)


def sent(route: respx.Route) -> dict[str, Any]:
    return json.loads(route.calls.last.request.content)


def test_the_version_is_probed_once(recorded: Recorded) -> None:
    assert recorded.gateway.version() == recorded.recording.release
    probes = [call for call in recorded.router.calls if call.response.status_code == 404]
    recorded.gateway.version()
    assert [call for call in recorded.router.calls if call.response.status_code == 404] == probes


def test_neither_version(recorded: Recorded) -> None:
    for known in adapters.KNOWN:
        recorded.route("GET", f"/slurm/{known}/ping").respond(404)
    with pytest.raises(Unreachable, match=r"22\.05"):
        recorded.gateway.version()


def test_a_ping_that_finds_no_slurmctld(recorded: Recorded) -> None:
    body = recorded.said["ping"]["body"]
    body["pings"][0].update({"ping": "DOWN", "pinged": "DOWN", "responding": False})
    recorded.answer("GET", "ping", "ping")
    with pytest.raises(Unreachable, match="slurmctld"):
        recorded.gateway.version()


def test_submit_is_held_and_whole(recorded: Recorded) -> None:
    route = recorded.answer("POST", "job/submit", "submit")
    assert recorded.gateway.submit(ASKED, as_user="davi") == recorded.job_id
    request = route.calls.last.request
    assert request.headers["X-SLURM-USER-NAME"] == "davi"
    assert request.headers["X-SLURM-USER-TOKEN"] == "token-of-davi"
    body = sent(route)
    job = body["job"]
    assert body.get("script", job.get("script")) == ASKED.script
    plain = ("name", "account", "partition", "qos", "comment", "standard_output", "tasks", "cpus_per_task")
    assert all(job[field] == getattr(ASKED, field) for field in plain)
    assert job["current_working_directory"] == PROJECT and job["nodes"] == "2" and "standard_error" not in job
    if recorded.recording.is_old:
        assert job["hold"] == "true" and job["gres"] == "gpu:a100:2" and job["environment"] == ASKED.environment
        assert (job["time_limit"], job["memory_per_node"]) == (5, 1536)
    else:
        assert job["hold"] is True and job["tres_per_node"] == "gres/gpu:a100:2"
        assert job["environment"] == ["PATH=/usr/bin:/bin", "NOTE=a=b\nc"]
        assert job["time_limit"] == {"set": True, "infinite": False, "number": 5}


def test_what_is_not_asked_for_is_not_sent(recorded: Recorded) -> None:
    route = recorded.answer("POST", "job/submit", "submit")
    small = dataclasses.replace(ASKED, gpus=0, gpu_type="", memory_mb=0, standard_error=f"{PROJECT}/%j.err")
    recorded.gateway.submit(small, as_user="davi")
    job = sent(route)["job"]
    assert not {"gres", "tres_per_node", "memory_per_node"} & set(job)
    assert job["standard_error"] == f"{PROJECT}/%j.err"


def test_refused(recorded: Recorded) -> None:
    recorded.answer("POST", "job/submit", "refused")
    with pytest.raises(Refused) as refused:
        recorded.gateway.submit(ASKED, as_user="davi")
    assert refused.value.code == 2045


def test_a_warning_with_an_id_is_an_acceptance(recorded: Recorded) -> None:
    recorded.said["submit"]["body"]["errors"] = [{"error_code": 2068, "error": "Required node not available"}]
    recorded.answer("POST", "job/submit", "submit")
    assert recorded.gateway.submit(ASKED, as_user="davi") == recorded.job_id


@pytest.mark.parametrize("body", [{}, {"job_id": 0}, {"job_id": None}, {"job_id": "x"}, {"errors": []}, {"job_id": []}])
def test_an_answer_without_an_id_is_no_answer(recorded: Recorded, body: dict[str, object]) -> None:
    recorded.route("POST", f"/slurm/{recorded.version}/job/submit").respond(200, json=body)
    with pytest.raises(Unanswered):
        recorded.gateway.submit(ASKED, as_user="davi")


def record_of(recorded: Recorded, name: str) -> JobRecord:
    recorded.answer("GET", f"job/{recorded.job_id}", name)
    found = recorded.gateway.job(recorded.job_id)
    assert found is not None
    return found


def test_a_held_job(recorded: Recorded) -> None:
    held = record_of(recorded, "held")
    assert (held.job_id, held.uid, held.user, held.array_task) == (recorded.job_id, 20004, "davi", None)
    assert (held.states, held.reason) == ({"PENDING"}, "JobHeldUser")
    assert (held.node_count, held.cpus, held.memory_mb, held.gpus) == (2, 4, 3072, 4)
    assert (dict(held.gpu_types), held.requested_gpus_per_node, held.time_limit_minutes) == ({"a100": 4}, 2, 5)
    assert (held.name, held.comment, held.admin_comment) == (ASKED.name, ASKED.comment, ASKED.comment)
    assert held.standard_output in (ASKED.standard_output, f"{PROJECT}/{recorded.job_id}.out")
    assert (held.standard_error, held.working_directory) == ("", PROJECT)
    assert (held.start_time, held.end_time, held.eligible_time, held.exit_code) == (None, None, None, None)


def test_a_running_job_has_no_end(recorded: Recorded) -> None:
    running = record_of(recorded, "running")
    assert (running.states, running.nodes, running.reason) == ({"RUNNING"}, "gpu[01-02]", "")
    assert running.start_time is not None and running.start_time.tzinfo is UTC
    assert (running.end_time, running.exit_code, running.expected_start_time) == (None, None, None)
    assert (running.node_count, running.cpus, running.gpus) == (2, 4, 4)


def test_a_job_that_is_over(recorded: Recorded) -> None:
    over = record_of(recorded, "over")
    assert (over.states, over.exit_code, over.exit_signal, over.reason) == ({"FAILED"}, 3, None, "NonZeroExitCode")
    assert over.end_time is not None and over.end_time > over.start_time >= over.submit_time  # type: ignore[operator]


def test_no_such_job(recorded: Recorded) -> None:
    recorded.answer("GET", "job/60000000", "no_such_job")
    assert recorded.gateway.job(60_000_000) is None


def test_hold_and_release(recorded: Recorded) -> None:
    route = recorded.answer("POST", f"job/{recorded.job_id}", "release")
    recorded.gateway.release(recorded.job_id, as_user="davi")
    assert sent(route) == {"hold": "false" if recorded.recording.is_old else False}
    recorded.gateway.hold(recorded.job_id, as_user="davi")
    assert sent(route) == {"hold": "true" if recorded.recording.is_old else True}


def test_a_release_that_is_refused_and_done(recorded: Recorded) -> None:
    """22.05 says "not available now" and takes the hold away: the record decides."""
    error = {"errors": [{"error_number": 2015, "error": "not available now"}]}
    recorded.route("POST", f"/slurm/{recorded.version}/job/{recorded.job_id}").respond(500, json=error)
    recorded.answer("GET", f"job/{recorded.job_id}", "held")
    with pytest.raises(Refused):
        recorded.gateway.release(recorded.job_id, as_user="davi")
    recorded.said["held"]["body"]["jobs"][0]["state_reason"] = "PartitionConfig"
    recorded.answer("GET", f"job/{recorded.job_id}", "held")
    recorded.gateway.release(recorded.job_id, as_user="davi")


def test_cancel_looks_first(recorded: Recorded) -> None:
    gone = recorded.answer("DELETE", f"job/{recorded.job_id}", "cancel")
    recorded.answer("GET", f"job/{recorded.job_id}", "over")
    with pytest.raises(Refused, match="over already"):
        recorded.gateway.cancel(recorded.job_id, as_user="davi")
    assert not gone.called
    recorded.answer("GET", f"job/{recorded.job_id}", "running")
    recorded.gateway.cancel(recorded.job_id, as_user="davi")
    assert gone.called


def test_a_cancel_slurm_refuses(recorded: Recorded) -> None:
    recorded.answer("GET", f"job/{recorded.job_id}", "held")
    recorded.answer("DELETE", f"job/{recorded.job_id}", "cancel_of_another")
    with pytest.raises(Refused) as refused:
        recorded.gateway.cancel(recorded.job_id, as_user="felipe")
    assert refused.value.code == 2002


def test_nodes(recorded: Recorded) -> None:
    recorded.answer("GET", "nodes", "nodes")
    nodes = {node.name: node for node in recorded.gateway.nodes()}
    assert set(nodes) == {"gpu01", "gpu02", "big01", "prep01"}
    busy, idle = nodes["gpu01"], nodes["big01"]
    assert (busy.states, busy.gpus_allocated, busy.cpus_allocated) == ({"MIXED"}, 2, 2)
    assert (busy.memory_mb, busy.memory_allocated_mb, busy.partitions) == (64000, 1536, ("gpu",))
    assert (idle.states, dict(idle.gpu_types), idle.gpus_allocated) == ({"IDLE"}, {"h100": 8}, 0)
    assert (idle.reason, idle.reason_since, dict(nodes["prep01"].gpu_types)) == ("", None, {})


def test_partitions(recorded: Recorded) -> None:
    recorded.answer("GET", "partitions", "partitions")
    gpu = {partition.name: partition for partition in recorded.gateway.partitions()}["gpu"]
    assert (gpu.state, gpu.nodes, gpu.total_cpus) == ("UP", ("gpu01", "gpu02"), 32)
    assert (gpu.max_time_minutes, gpu.default_time_minutes, gpu.max_nodes) == (1440, 60, 2)
    assert (gpu.allowed_accounts, gpu.allowed_qos) == ((), ())


def test_accounting_with_its_comments(recorded: Recorded) -> None:
    since = datetime(2026, 12, 2, tzinfo=UTC)
    route = recorded.answer("GET", "jobs/", "accounting", room="slurmdb")
    (row,) = recorded.gateway.accounting_details("visao", since, 20004)
    assert route.calls.last.request.url.params["account"] == "visao"
    assert route.calls.last.request.url.params["start_time"] == f"uts{int(since.timestamp())}"
    over = record_of(recorded, "over")
    same = ("job_id", "submit_time", "uid", "states", "start_time", "end_time", "gpus", "gpu_types", "nodes", "name")
    assert all(getattr(row, field) == getattr(over, field) for field in same)
    assert (row.admin_comment, row.from_accounting) == (ASKED.comment, True)


def test_accounting_that_answers_nothing(recorded: Recorded) -> None:
    recorded.answer("GET", "jobs/", "accounting_empty", room="slurmdb")
    assert recorded.gateway.accounting_details("nothing", datetime.now(UTC), 20004) == []


def test_accounting_that_does_not_answer(recorded: Recorded) -> None:
    """22.05 says 200 and an empty list beside the error."""
    body = {"errors": [{"error_number": 7000, "error": "Unable to connect to database"}], "jobs": []}
    recorded.route("GET", f"/slurmdb/{recorded.version}/jobs/").respond(200, json=body)
    with pytest.raises(Unreachable):
        recorded.gateway.accounting_details("visao", datetime.now(UTC), 20004)


def test_backlog(recorded: Recorded) -> None:
    recorded.answer("GET", "diag", "diag")
    assert recorded.gateway.accounting_backlog() == 0


@pytest.mark.parametrize("odd", [{}, {"jobs": None}, {"jobs": [{}]}, {"jobs": [None]}, {"jobs": [{"job_state": 7}]}])
def test_a_record_of_another_shape_is_no_answer(recorded: Recorded, odd: dict[str, object]) -> None:
    recorded.route("GET", f"/slurm/{recorded.version}/job/7").respond(200, json=odd)
    with pytest.raises(Unanswered):
        recorded.gateway.job(7)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (TimeoutError("slow"), Unanswered),
        (ConnectionResetError("reset"), Unanswered),
        (BrokenPipeError("gone"), Unanswered),
        (RemoteDisconnected("cut"), Unanswered),
        (IncompleteRead(b"{"), Unanswered),
    ],
)
def test_a_submit_is_sent_once_whatever_breaks(recorded: Recorded, broken: Exception, kind: type[Exception]) -> None:
    route = recorded.route("POST", f"/slurm/{recorded.version}/job/submit").mock(side_effect=broken)
    with pytest.raises(kind):
        recorded.gateway.submit(ASKED, as_user="davi")
    assert route.call_count == 1


def test_a_read_is_tried_again_once(recorded: Recorded) -> None:
    route = recorded.answer("GET", "diag", "diag")
    good = httpx.Response(200, json=recorded.said["diag"]["body"])
    route.mock(side_effect=[RemoteDisconnected("cut"), good])
    assert recorded.gateway.accounting_backlog() == 0
    route.mock(side_effect=RemoteDisconnected("cut"))
    with pytest.raises(Unanswered):
        recorded.gateway.accounting_backlog()
