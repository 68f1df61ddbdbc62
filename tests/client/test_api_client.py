"""The bancada command against the real API, in one process: what it prints, how it ends, what it sends twice."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.utils import timezone

from jobs.models import Intent, IntentKind, Job, Phase, Report, Run
from jobs.services import reading, waiting
from jobs.states import State
from logs.chunks import Chunk
from portal.wsgi import application
from tests.api import World, issue, make_world

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "client"))

from bancada import api, cli, follow, keeping, show

URL = "http://127.0.0.1:8000"


class File:
    """What the log reader has; `then` runs before each answer."""

    def __init__(self) -> None:
        self.data, self.generation = b"", "g1"
        self.then: list[Callable[[], object]] = []

    def read(self, _ticket: str, _stream: str, offset: int, limit: int, *, generation: str = "") -> Chunk:
        if self.then:
            self.then.pop(0)()
        begin = max(0, len(self.data) + offset) if offset < 0 else offset
        same = generation in ("", self.generation)
        data = self.data[begin : begin + limit] if same else b""
        return Chunk(data, begin if same else 0, len(self.data), self.generation, "open", 0.0)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(follow.time, "sleep", lambda _seconds: None)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield make_world()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> File:
    fake = File()
    monkeypatch.setattr(reading, "reader", lambda: fake)
    return fake


@pytest.fixture
def run(world: World, capfdbinary: Any) -> Callable[..., tuple[int, str, str]]:
    """Run the command as the owner: (exit status, standard output, standard error)."""
    portal = api.Portal(URL, issue(world.owner), language="en", transport=httpx.WSGITransport(app=application))

    def bancada(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(arguments, portal)
        said = capfdbinary.readouterr()
        return status, said.out.decode(), said.err.decode()

    return bancada


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "treino.sh"
    path.write_text("#!/bin/bash\necho é\n")
    return str(path)


def ends(world: World, state: State = State.COMPLETED) -> None:
    """The world's job, by the steps its table allows."""
    for phase in (Phase.HANDING, Phase.ACCEPTED, Phase.ENDED):
        Job.objects.filter(pk=world.job.pk).update(phase=phase, state=state)


def test_who_and_where(world: World, run: Any) -> None:
    status, out, _ = run("whoami")
    assert (status, out.split()[0]) == (0, world.owner.username)
    status, out, _ = run("cluster")
    assert status == 0
    assert [line.split()[:6] for line in out.splitlines()[2:4]] == [
        ["gpu", "UP", "2", "8", "a100", "8"], ["large", "UP", "1", "8", "h100", "8"],
    ]  # fmt: skip


def test_submit_look_list_cancel(world: World, run: Any, script: str) -> None:
    status, out, _ = run("submit", script, "-p", "aurora", "--partition", "gpu", "--gpus", "2", "--env", "SEED=7=8")
    job = Job.objects.get(pk=out.split()[0])
    assert (status, job.name, job.gpus, job.environment) == (0, "treino", 2, {"SEED": "7=8"})
    assert job.script == "#!/bin/bash\necho é\n"
    Job.objects.filter(pk=job.pk).update(slurm_job_id=4711, state=State.WAITING, reason="Priority")
    status, out, _ = run("job", "4711")
    assert status == 0
    assert "waiting" in out
    status, out, _ = run("jobs", "--state", "waiting", "-p", "aurora")
    assert (status, len(out.splitlines())) == (0, 2)
    assert len(run("jobs", "--text", "TREI", "--since", "2026-01-01", "--owner", job.owner_login)[1].splitlines()) >= 2
    assert len(run("jobs", "--until", "2026-01-01")[1].splitlines()) == 1 and run("jobs", "--since", "x")[0] == 1
    assert run("cancel", "4711")[0] == 0
    job.refresh_from_db()
    assert job.cancel_asked_at
    assert [row["id"] for row in json.loads(run("jobs", "--json", "--limit", "1")[1])] == [str(job.pk)]


def test_what_is_refused_is_said_field_by_field(world: World, run: Any, script: str) -> None:
    status, out, err = run("submit", script, "-p", "aurora", "--partition", "gpu", "--gpus", "9")
    assert (status, out) == (1, "")
    assert "gpus: At most 4 in partition gpu." in err
    assert run("submit", script, "-p", "nowhere", "--partition", "gpu")[0] == 1
    assert run("submit", "/nowhere.sh", "-p", "aurora", "--partition", "gpu")[0] == 1
    assert "4711" in run("job", "4711")[2]
    assert run("submit", script, "-p", "aurora", "--partition", "gpu", "--env", "X")[0] == 1
    with pytest.raises(SystemExit) as wrong:
        run("submit", script)
    assert wrong.value.code == 2


def test_output_once_and_followed_to_the_end(world: World, run: Any, file: File) -> None:
    world.accepted()
    file.data = b"one\n" * 400_000  # more than one answer holds
    assert run("log", str(world.job.pk))[1].encode() == file.data
    assert run("log", "--tail", "4", str(world.job.pk))[1] == "one\n"

    def grow(data: bytes) -> Callable[[], object]:
        return lambda: setattr(file, "data", file.data + data)

    file.data, file.then = b"a\n", [grow(b""), grow(b"b\n"), grow(b""), lambda: (grow(b"c\n")(), ends(world))]
    status, out, _ = run("log", "-f", str(world.job.pk))
    assert (status, out) == (0, "a\nb\nc\n")


def test_an_output_that_begins_anew_is_followed_from_its_beginning(world: World, run: Any, file: File) -> None:
    def again() -> None:
        file.data, file.generation = b"second, longer\n", "g2"
        ends(world)

    world.accepted()
    file.data, file.then = b"first\n", [lambda: None, again]
    status, out, err = run("log", "-f", str(world.job.pk))
    assert (status, out) == (0, "first\nsecond, longer\n")
    assert "begins anew" in err


ENDS = [
    ({"state": State.COMPLETED, "exit_code": 0}, 0), ({"state": State.FAILED, "exit_code": 3}, 3),
    ({"state": State.FAILED, "exit_code": 0, "exit_signal": 9}, 137), ({"state": State.TIMEOUT, "exit_code": 0}, 1),
    ({"state": State.CANCELLED}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("end", "status"), ENDS)
def test_waiting_ends_with_what_the_job_ended_with(
    world: World, run: Any, script: str, monkeypatch: pytest.MonkeyPatch, end: dict[str, Any], status: int
) -> None:
    def later(_seconds: float) -> None:
        Job.objects.filter(name="treino").exclude(pk=world.job.pk).update(phase=Phase.HANDING)
        Job.objects.filter(phase=Phase.HANDING).update(phase=Phase.ACCEPTED, **end)

    monkeypatch.setattr(follow.time, "sleep", later)
    assert run("submit", script, "-p", "aurora", "--partition", "gpu", "--wait")[0] == status


class Broken(httpx.BaseTransport):
    """Loses the answers to the first requests, though the portal has them."""

    def __init__(self, losses: int) -> None:
        self.inner, self.losses, self.keys = httpx.WSGITransport(app=application), losses, []  # type: ignore[var-annotated]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("Idempotency-Key"))
        answer = self.inner.handle_request(request)
        if len(self.keys) <= self.losses:
            raise httpx.ReadError("connection reset")
        return answer


def test_a_submission_whose_answer_was_lost_is_still_one_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api.time, "sleep", lambda _seconds: None)
    transport = Broken(2)
    portal = api.Portal(URL, issue(world.owner), transport=transport)
    request = {"project": "aurora", "name": "once", "partition": "gpu", "script": "#!/bin/sh\n"}
    answer = portal.submit(request)
    assert [str(job.pk) for job in Job.objects.filter(name="once")] == [answer["id"]]
    assert (len(transport.keys), len(set(transport.keys))) == (3, 1)
    with pytest.raises(api.Trouble, match="cannot be reached"):
        api.Portal(URL, "x", transport=Broken(99)).submit(request)


def test_it_waits_as_long_as_the_portal_asks(world: World, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SUBMISSIONS_PER_MINUTE = 1
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        settings.SUBMISSIONS_PER_MINUTE = 60

    monkeypatch.setattr(api.time, "sleep", sleep)
    portal = api.Portal(URL, issue(world.owner), transport=httpx.WSGITransport(app=application))
    portal.submit({"project": "aurora", "name": "two", "partition": "gpu", "script": "#!/bin/sh\n"})
    assert len(slept) == 1
    assert 50 < slept[0] <= 60


@pytest.mark.parametrize("url", ["http://bancada.example.org", "ftp://127.0.0.1", "bancada.example.org", ""])
def test_a_token_never_travels_in_clear(url: str) -> None:
    with pytest.raises(api.Trouble, match="https"):
        api.Portal(url, "bnc_x")


def test_it_needs_to_be_told_where_and_who(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.delenv("BANCADA_URL", raising=False)
    assert cli.main(["whoami"]) == 1
    assert "BANCADA_URL" in capsys.readouterr().err


def test_a_redirect_is_not_followed_with_the_token() -> None:
    def elsewhere(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "portal.example.org"
        return httpx.Response(302, headers={"Location": "https://elsewhere.example.org/"})

    portal = api.Portal("https://portal.example.org", "bnc_x", transport=httpx.MockTransport(elsewhere))
    with pytest.raises(api.Trouble, match="302"):
        portal.get("/me")


def test_nothing_printed_in_a_table_steers_the_terminal() -> None:
    assert show.plain("a\x1b[2Jb\n\u202ec") == "a�[2Jb��c"


@pytest.mark.parametrize(
    ("told", "spoken"), [("pt_BR.UTF-8", "pt-BR"), ("en_US@x", "en-US"), ("C.UTF-8", ""), ("", ""), ("x\r\ny", "")]
)
def test_it_speaks_the_terminals_language(monkeypatch: pytest.MonkeyPatch, told: str, spoken: str) -> None:
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", told)
    assert cli._language() == spoken


def test_an_sbatch_file_is_taken_as_it_is(world: World, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "old.sh"
    path.write_text("#!/bin/bash\n#SBATCH -J digits -p gpu -t 1:30:00 -G 2 -A other\n#SBATCH -a 1-4%2\ntrue\n")
    status, out, err = run("submit", str(path), "-p", "aurora", "--gpus", "1")
    job = Job.objects.get(pk=out.split()[0])
    assert (status, job.name, job.gpus, job.time_limit_minutes, job.asked.array) == (0, "digits", 1, 90, "1-4%2")
    assert job.script == "#!/bin/bash\ntrue\n" and "line 2: --account=other: The job is charged to the project." in err
    report = run("report", str(job.pk))[1]
    assert "time limit, minutes  90" in report


def test_a_report_tells_what_is_told_after_the_end(world: World, run: Any) -> None:
    handed = world.accepted()
    now = timezone.now()
    times = {"started_at": now - timedelta(minutes=50), "ended_at": now}
    Job.objects.filter(pk=world.job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=world.job.pk).update(phase=Phase.ACCEPTED)
    Job.objects.filter(pk=world.job.pk).update(phase=Phase.ENDED, state=State.FAILED, exit_code=1, **times)
    Run.objects.create(handover=handed, cpus=4, cpu_seconds=3000, peak_memory_mb=512, measured_at=now, **times)
    shown = {"key": "module_missing", "stream": "stdout", "line": 7, "offset": 99, "text": "No module named 'x'\x1b[2J"}
    Report.objects.create(
        job=world.job, due_at=now, read_at=now, findings=[shown], traceback={"stream": "stdout", "line": 3}
    )
    status, out, _err = run("report", str(world.job.pk))
    assert status == 0 and "minutes used  50.0" in out and "CPUs busy  1.0 of 4" in out
    assert (
        "stdout, line 7  No module named 'x'" in out and "\x1b" not in out and "first traceback  stdout, line 3" in out
    )
    told = json.loads(run("report", str(world.job.pk), "--json")[1])
    assert told["after"]["findings"][0]["line"] == 7 and told["after"]["looked_into"]


def test_a_report_stands_beside_earlier_jobs_of_the_name() -> None:
    kept = {"compared": [{"measure": "cpus", "own": 0.25, "usual": 0.7, "jobs": 10}]}
    assert list(show._beside(kept)) == ["            CPUs busy  25 %, usual 70 % (10 earlier jobs)"]
    assert list(show._beside(None)) == list(show._beside({"advice": []})) == []


def test_a_file_with_a_line_that_is_refused_submits_nothing(
    world: World, run: Any, tmp_path: Path, capfdbinary: Any
) -> None:
    before = Job.objects.count()
    path = tmp_path / "old.sh"
    path.write_text("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH --uid=0\ntrue\n")
    status, out, err = run("submit", str(path), "-p", "aurora")
    assert (status, out) == (1, "") and "line 3: --uid=0: A job runs as who asks for it." in err
    portuguese = api.Portal(URL, issue(world.owner), language="pt-BR", transport=httpx.WSGITransport(app=application))
    assert cli.main(("submit", str(path), "-p", "aurora"), portuguese) == 1
    assert "linha 3: --uid=0: Um job roda em nome de quem o pede." in capfdbinary.readouterr().err.decode()
    path.write_text("#!/bin/bash\n#SBATCH -p elsewhere\ntrue\n")
    assert run("submit", str(path), "-p", "aurora")[0] == 1
    assert Job.objects.count() == before
    assert run("submit", str(path), "-p", "aurora", "--partition", "gpu")[0] == 0


def test_why_and_what_is_left(world: World, run: Any) -> None:
    Job.objects.filter(pk=world.job.pk).update(state=State.WAITING, reason="Priority")
    status, out, _ = run("why", str(world.job.pk))
    assert status == 0 and "waiting" in out and "Slurm says: Priority" in out
    status, out, _ = run("allocations", "-p", "aurora")
    assert status == 0 and out.splitlines()[0].split()[0] == "CODE" and len(out.splitlines()) == 2
    assert json.loads(run("allocations", "-p", "aurora", "--json")[1])[0]["is_default"]
    assert run("allocations", "-p", "../me")[0] == 1


def test_why_says_the_numbers_who_and_what_to_try(world: World, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Job.objects.filter(pk=world.job.pk).update(state=State.WAITING, reason="BeginTime")
    monkeypatch.setattr(waiting, "numbers", lambda *_: ["Two jobs end within 40 min.\x1b[2J"])
    status, out, _ = run("why", str(world.job.pk))
    assert status == 0 and "earliest start time" in out and "  Two jobs end within 40 min." in out and "\x1b" not in out
    assert "who can change it: nobody" in out and "what to try: Nothing to do" in out
    told = json.loads(run("why", str(world.job.pk), "--json")[1])
    assert told["job"]["state"] == "waiting" and told["why"]["reason"] == "BeginTime"


@pytest.fixture
def sweep(world: World, run: Any, script: str) -> Job:
    """Number 4711: the first task failed, the second runs, the third waits."""
    _, out, _ = run("submit", script, "-p", "aurora", "--partition", "gpu", "--array", "1-3%2")
    job = Job.objects.get(pk=out.split()[0])
    Job.objects.filter(pk=job.pk).update(phase=Phase.HANDING)
    Job.objects.filter(pk=job.pk).update(
        phase=Phase.ACCEPTED, slurm_job_id=4711, state=State.RUNNING, task_counts={"total": 3, "running": 1}
    )
    first = World(world.project, job, world.owner).accepted(ticket="", slurm_job_id=4711)
    now = timezone.now()
    ended = {"ended_at": now, "slurm_states": ["FAILED"], "exit_code": 3, "metrics": {"loss": {"last": 2, "best": 1}}}
    Run.objects.create(handover=first, array_task=1, started_at=now, ticket="t1", **ended)
    Run.objects.create(handover=first, array_task=2, started_at=now, ticket="t2", slurm_states=["RUNNING"])
    return job


def test_the_tasks_of_an_array(world: World, run: Any, sweep: Job) -> None:
    status, out, _ = run("tasks", "4711", "--reverse")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == ["TASK", "3", "2", "1"]
    assert out.splitlines()[0].split()[:3] == ["TASK", "STATE", "EXIT"] and "loss best" in out
    assert out.splitlines()[3].split() == ["1", "failed", "3", "2.0", "1.0"]
    assert json.loads(run("tasks", "4711", "--json")[1])["items"][0]["exit_code"] == 3


def test_some_tasks_of_an_array_are_ended_slowed_and_run_again(world: World, run: Any, sweep: Job) -> None:
    assert run("tasks", "4711", "--end", "1-3")[:2] == (0, "End asked for of 2.\n")
    assert run("tasks", "4711", "--at-once", "1")[0] == 0 and run("tasks", "4711", "--at-once", "9")[0] == 1
    made = Job.objects.get(pk=run("tasks", "4711", "--rerun-failed")[1].strip())
    assert made.options["array"] == "1%2"
    kinds = list(Intent.objects.filter(job=sweep).order_by("pk").values_list("kind", "detail"))
    assert kinds == [(IntentKind.END_TASKS, {"tasks": "2-3"}), (IntentKind.AT_ONCE, {"number": 1})]


def test_one_task_alone_is_cancelled(world: World, run: Any, sweep: Job) -> None:
    assert run("cancel", "4711_2")[0] == 0
    assert Intent.objects.get(job=sweep).detail == {"tasks": "2"}
    assert not Job.objects.get(pk=sweep.pk).cancel_asked_at


def test_the_output_of_one_task_is_followed_to_its_end(world: World, run: Any, sweep: Job, file: File) -> None:
    file.data = b"epoch 1\n"
    assert run("log", "4711_1")[1] == "epoch 1\n"
    status, out, err = run("log", "4711")
    assert (status, out) == (1, "") and "Each task has an output of its own" in err
    assert "no task 9" in run("log", "-f", "4711_9")[2]

    def over() -> None:
        file.data += b"epoch 2\n"
        Run.objects.filter(array_task=2).update(slurm_states=["COMPLETED"], exit_code=0, ended_at=timezone.now())

    file.then = [lambda: None, over]
    status, out, _ = run("log", "-f", f"{sweep.pk}_2")
    assert (status, out) == (0, "epoch 1\nepoch 2\n")


def test_login_keeps_the_token_for_its_owner_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("BANCADA_URL", "BANCADA_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(api.Trouble):
        keeping.known()
    path = keeping.keep(URL, "bnc_x")
    assert keeping.known() == (URL, "bnc_x") and path.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("BANCADA_URL", "https://other.example")
    with pytest.raises(api.Trouble):  # never sent to another address
        keeping.known()
    monkeypatch.delenv("BANCADA_URL")
    path.chmod(0o644)
    with pytest.raises(api.Trouble):
        keeping.known()
    secret = issue(world.owner)
    monkeypatch.setattr(cli.getpass, "getpass", lambda _prompt: secret)
    real = api.Portal
    monkeypatch.setattr(
        cli, "Portal", lambda url, token, **more: real(url, token, transport=httpx.WSGITransport(app=application))
    )
    assert cli.main(["login", URL]) == 0 and keeping.known() == (URL, secret)
