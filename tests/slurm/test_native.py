"""pyslurm's gateway where things go wrong: the token, processes that end, hang or never start, answers of another shape."""

from __future__ import annotations

import dataclasses
import os
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import slurm
from slurm.contract import Refused, Unanswered, Unreachable
from slurm.native import children
from slurm.native.children import Children
from slurm.native.gateway import PyslurmGateway
from slurm.native.submission import described, packed, unpacked
from slurm.tokens import Token
from tests.contract.pyslurm_lab import HalfFake, PyslurmLab, opened
from tests.slurm.pyslurm_desk import Desk
from tests.slurm.recordings import ASKED, whole

GOOD = 'import sys; print(\'{"ready": "x"}\', flush=True)\nfor line in sys.stdin: '


def token(name: str = "davi") -> Token:
    return Token(name, time.time() + 60, "a.b.c")


def saying(code: str, deadline: float = 60.0) -> Children:
    """Children that run this instead."""
    return Children("/none", deadline, argv=[sys.executable, "-c", code])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[HalfFake, Desk]]:
    gateway, desk = opened(tmp_path)
    PyslurmLab(gateway)
    yield gateway, desk
    gateway.children.close()
    desk.shutdown()
    desk.server_close()


def test_the_address() -> None:
    gateway = slurm.connect("pyslurm:", signer="/nowhere", conf="/etc/x.conf", deadline=3)
    assert isinstance(gateway, PyslurmGateway)
    assert (gateway.commands.conf, gateway.children.deadline) == ("/etc/x.conf", 3)


def test_a_token_does_not_come_into_a_job(cluster: tuple[HalfFake, Desk]) -> None:
    """pyslurm gives a job every SLURM_ variable of the process that submits it."""
    gateway, desk = cluster
    gateway.submit(ASKED, as_user="davi")
    assert desk.submitted[-1]["environment"] == ASKED.environment


def test_a_token_is_in_no_argument_and_in_its_own_process_only(cluster: tuple[HalfFake, Desk]) -> None:
    gateway, _ = cluster
    gateway.version()
    (child,) = gateway.children._by_name.values()
    seen = Path(f"/proc/{child.process.pid}/cmdline").read_bytes()
    assert child.token.text.encode() not in seen and "SLURM_JWT" not in os.environ


def test_each_identity_has_a_process_of_its_own(cluster: tuple[HalfFake, Desk]) -> None:
    gateway, _ = cluster
    job_id = gateway.submit(ASKED, as_user="davi")
    assert gateway.job(job_id, as_user="felipe") is None and gateway.job(job_id) is not None
    assert set(gateway.children._by_name) == {"davi", "felipe", "bancada-read"}
    first = gateway.children._by_name["davi"]
    gateway.job(job_id, as_user="davi")
    assert gateway.children._by_name["davi"] is first


def test_a_new_token_is_a_new_process(cluster: tuple[HalfFake, Desk]) -> None:
    gateway, _ = cluster
    gateway.version()
    (old,) = gateway.children._by_name.values()
    gateway.tokens._kept.clear()  # type: ignore[attr-defined]
    gateway.version()
    (new,) = gateway.children._by_name.values()
    assert new is not old and old.process.poll() is not None


def test_what_pyslurm_would_read_as_something_else_is_refused() -> None:
    for changes in ({"script": "/etc/passwd"}, {"environment": {}}, {"signal": "NOPE@1"}):
        with pytest.raises(Refused):
            described(dataclasses.replace(ASKED, **changes), "root")  # type: ignore[arg-type]
    with pytest.raises(Refused, match="does not know"):
        described(ASKED, "nobody-of-this-name")


def test_every_option_in_its_words() -> None:
    asked = dataclasses.replace(whole(12), signal="B:USR1@120")
    assert unpacked(packed(asked)) == asked
    said = described(asked, "root")
    assert (said["gres_per_node"], said["gpus_per_task"]) == ("gpu:a100:2", "gpu:a100:1")
    assert said["signal"] == {"signal": 10, "time": 120, "batch_only": True, "allow_reservation_overlap": False}
    assert (said["priority"], said["user_id"], said["array"]) == (0, 0, "1-4%2")
    assert (said["dependencies"], said["resource_sharing"], said["nodes"]) == ("afterany:12", "exclusive", "2")
    assert said["is_requeueable"] is False and "is_requeueable" not in described(ASKED, "root")


@dataclasses.dataclass
class Refusing:
    """A child that is told that its user is no valid one."""

    def ask(self, *_: object, **__: object) -> None:
        raise Refused("Invalid user id", code=2010)


def test_reads_only_is_said(cluster: tuple[HalfFake, Desk]) -> None:
    gateway = dataclasses.replace(cluster[0], children=Refusing())  # type: ignore[arg-type]
    with pytest.raises(Refused, match="only reads here"):
        gateway.submit(ASKED, as_user="davi")


def test_a_process_that_never_starts() -> None:
    for code in ("raise SystemExit('no slurm.conf')", "import os; os._exit(1)", ""):
        with pytest.raises(Unreachable, match="does not start"):
            saying(code).ask(token(), "backlog")
    with pytest.raises(Unreachable, match="cannot be started"):
        Children("/none", 5, argv=["/no/such/python"]).ask(token(), "backlog")


def test_a_process_that_ends_in_the_middle_leaves_it_unknown() -> None:
    few = saying(GOOD + "sys.exit('segmentation fault')")
    for _ in range(2):  # and the next call has a new one
        with pytest.raises(Unanswered, match="segmentation fault"):
            few.ask(token(), "submit")


def test_a_process_that_hangs_is_ended() -> None:
    few = saying(GOOD + "'submit' in line and __import__('time').sleep(600); print('{\"done\": 1}', flush=True)")
    who = token()
    assert few.ask(who, "backlog") == 1
    one, few.deadline = few._by_name["davi"], 0.3
    with pytest.raises(Unanswered):
        few.ask(who, "submit")
    assert one.process.poll() is not None


@pytest.mark.parametrize(
    "said", ["nonsense", "[]", "{}", '{"trouble": "Other", "words": ""}', '{"trouble": "Refused"}']
)
def test_an_answer_of_another_shape_is_no_answer(said: str) -> None:
    few = saying(GOOD + f"print({said!r}, flush=True)")
    with pytest.raises(Unanswered):
        few.ask(token(), "backlog")
    few.close()


@pytest.mark.parametrize(("kind", "error"), [("Refused", Refused), ("Unreachable", Unreachable)])
def test_what_it_says_is_raised(kind: str, error: type[Exception]) -> None:
    answer = f'{{"trouble": "{kind}", "words": "no", "code": 2045}}'
    few = saying(GOOD + f"print({answer!r}, flush=True)")
    with pytest.raises(error, match="no"):
        few.ask(token(), "backlog")
    few.close()


def test_there_are_never_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "MOST", 2)
    few = saying(GOOD + "print('{\"done\": 1}', flush=True)")
    made = []
    for name in ("a", "b", "c"):
        assert few.ask(token(name), "backlog") == 1
        made.append(few._by_name[name])
    assert list(few._by_name) == ["b", "c"] and made[0].process.poll() is not None
    few.close()


def test_secrets_are_in_no_error() -> None:
    text = secrets.token_hex(16)
    with pytest.raises(Unreachable) as raised:
        saying("raise SystemExit('x')").ask(Token("davi", time.time() + 60, text), "backlog")
    assert text not in str(raised.value)
