"""What the signer signs, for whom, and the thousands of things it does not."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from slurm import signer
from slurm.contract import Refused, Unreachable
from slurm.signer import No, Policy, Signer
from slurm.tokens import SignerTokens
from tests.clock import within

KEY = bytes(range(32))
WORKER, FOLLOWER, STRANGER = 4001, 4002, 4003
PEOPLE = {
    "ana": 20001, "_odd-name_1": 20002, "x" * 32: 20003, "root": 0, "daemon": 1, "games": 999, "nobody": 65534,
    "slurm": 64030, "twin-of-slurm": 64030, "bancada": 58000, "bancada-read": 58001,
}  # fmt: skip
POLICY = Policy({WORKER: frozenset({"user", "admin"}), FOLLOWER: frozenset({"read"})})
SIGNER = Signer(POLICY, KEY)


@pytest.fixture(autouse=True)
def system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The people this system knows; like SSSD it also finds them by another case."""

    def getpwnam(name: str) -> SimpleNamespace:
        if name.lower() not in PEOPLE:
            raise KeyError(name)
        return SimpleNamespace(pw_name=name.lower(), pw_uid=PEOPLE[name.lower()])

    monkeypatch.setattr(pwd, "getpwnam", getpwnam)


def ask(uid: int, question: object) -> dict[str, object]:
    line = question if isinstance(question, bytes) else json.dumps(question).encode()
    answer = SIGNER.answer(uid, line)
    assert answer.endswith(b"\n") and answer.count(b"\n") == 1
    return json.loads(answer)


@pytest.mark.parametrize("name", ["ana", "_odd-name_1", "x" * 32])
def test_a_persons_token(name: str) -> None:
    answer = ask(WORKER, {"kind": "user", "name": name})
    claims = jwt.decode(str(answer["token"]), KEY, algorithms=["HS256"])
    assert claims.keys() == {"iat", "exp", "sun"} and claims["sun"] == answer["name"] == name
    assert claims["exp"] == answer["expires"] and claims["exp"] - claims["iat"] <= 60
    assert abs(claims["iat"] - time.time()) < 5


@pytest.mark.parametrize(("uid", "kind", "name"), [(WORKER, "admin", "bancada"), (FOLLOWER, "read", "bancada-read")])
def test_the_portals_own_two(uid: int, kind: str, name: str) -> None:
    claims = jwt.decode(str(ask(uid, {"kind": kind})["token"]), KEY, algorithms=["HS256"])
    assert claims["sun"] == name


@pytest.mark.parametrize(
    "name",
    [
        "0", "1000", "20001", "root", "daemon", "games", "nobody", "slurm", "twin-of-slurm", "bancada", "bancada-read",
        "Ana", "ANA", "ana ", " ana", "ana\n", "ana\0", "\uff41na", "an\u0430", "x" * 33, "", "-ana", "a/b", "a b", "a.b",
        "nobody-here", "ana,root", "ana@x", "+1", "0x0", "--uid=0",
    ],
)  # fmt: skip
def test_no_name_but_a_persons(name: str) -> None:
    assert set(ask(WORKER, {"kind": "user", "name": name})) == {"error"}


@pytest.mark.parametrize(
    ("uid", "question"),
    [
        (WORKER, {"kind": "read"}),
        (FOLLOWER, {"kind": "admin"}),
        (FOLLOWER, {"kind": "user", "name": "ana"}),
        (STRANGER, {"kind": "read"}),
        (0, {"kind": "admin"}),
        (WORKER, {"kind": "admin", "name": "ana"}),
        (FOLLOWER, {"kind": "read", "name": "bancada"}),
        (WORKER, {"kind": "user"}),
        (WORKER, {"kind": "root", "name": "ana"}),
        (WORKER, {"kind": "user", "name": 0}),
        (WORKER, {"kind": "user", "name": 20001}),
        (WORKER, {"kind": "user", "name": True}),
        (WORKER, {"kind": "user", "name": None}),
        (WORKER, {"kind": "user", "name": ["ana"]}),
        (WORKER, {"kind": ["user"], "name": "ana"}),
        (WORKER, {"kind": "user", "name": "ana", "sun": "root"}),
        (WORKER, {"kind": "user", "name": "ana", "exp": 9}),
        (WORKER, {}),
        (WORKER, []),
        (WORKER, "ana"),
        (WORKER, b""),
        (WORKER, b"{"),
        (WORKER, b"\xff\xfe"),
        (WORKER, b"[" * 900),
        (WORKER, b"9" * 900),
    ],
)
def test_refused(uid: int, question: object) -> None:
    assert set(ask(uid, question)) == {"error"}


odd = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8)
values = odd | some.lists(odd, max_size=2) | some.dictionaries(some.text(max_size=3), odd, max_size=2)
questions = some.fixed_dictionaries(
    {"kind": some.sampled_from(["user", "admin", "read", "root", "", "USER"]) | values},
    optional={"name": some.sampled_from([*PEOPLE, "0", "1000"]) | some.text(max_size=40) | values},
)


def is_signed_for_nobody_else(line: bytes, uid: int) -> bool:
    """Of these three peers; each question counts once for each."""
    for peer in (uid, WORKER, FOLLOWER):
        answer = json.loads(SIGNER.answer(peer, line))
        if "token" not in answer:
            assert set(answer) == {"error"}
            continue
        name = jwt.decode(answer["token"], KEY, algorithms=["HS256"])["sun"]
        assert name in {FOLLOWER: ("bancada-read",), WORKER: ("bancada", "ana", "_odd-name_1", "x" * 32)}[peer]
    return True


@settings(max_examples=1500)
@given(some.binary(max_size=1024), some.integers(0, 4000))
def test_fuzz_of_bytes(line: bytes, uid: int) -> None:
    assert is_signed_for_nobody_else(line, uid)


@settings(max_examples=1000)
@given(questions, some.integers(0, 4000))
def test_fuzz_of_questions(question: object, uid: int) -> None:
    assert is_signed_for_nobody_else(json.dumps(question).encode(), uid)


def test_what_is_logged_holds_no_token_and_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    token = str(ask(WORKER, {"kind": "user", "name": "ana"})["token"])
    ask(WORKER, {"kind": "user", "name": "0\nsigner: signed uid=0 for=root"})
    said = capsys.readouterr().err
    assert said == "signer: signed uid=4001 for=ana\nsigner: refused uid=4001: not a login name\n"
    assert token not in repr(SIGNER.token("ana")) and repr(KEY)[2:-1] not in repr(SIGNER)


def test_the_table_of_peers() -> None:
    assert signer.allowed(["4001=user,admin", "4002=read"]) == POLICY.allow
    assert signer.allowed(["ana=read"]) == {20001: {"read"}}
    for wrong in (["0=user"], ["root=user"], ["4001=root"], ["4001"], ["4001="], ["4001=read", "4001=user"]):
        with pytest.raises(SystemExit):
            signer.allowed(wrong)
    with pytest.raises(KeyError):
        signer.allowed(["nobody-here=read"])


def test_the_key_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    path.chmod(0o440)
    assert signer.read_key(path) == KEY
    path.chmod(0o444)
    with pytest.raises(SystemExit, match="open to everybody"):
        signer.read_key(path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(SystemExit, match="5 bytes"):
        signer.read_key(path)


def test_slurm_user_comes_from_slurm_conf(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\n#SlurmUser=wrong\n  slurmuser = batch(64030)\n")
    assert signer.slurm_user(str(conf)) == "batch"
    assert signer.slurm_user(str(tmp_path / "none")) == "slurm"
    with pytest.raises(No):
        Policy({WORKER: frozenset({"user"})}, "ana").subject(WORKER, "user", "ana")


# -- the process itself, over its socket, from other uids

Serve = Callable[..., Path]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start `python -m slurm.signer`; root only, since a peer must have another uid."""
    if os.geteuid() != 0:
        pytest.skip("needs root to be other users")
    key, path, running = tmp_path / "key", tmp_path / "s.sock", []
    key.write_bytes(KEY)
    key.chmod(0o600)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)

    def start(*allow: str) -> Path:
        words = [sys.executable, "-m", "slurm.signer", "--socket", str(path), "--key", str(key)]
        process = subprocess.Popen([*words, *(f"--allow={one}" for one in allow)], stderr=subprocess.PIPE, text=True)
        running.append(process)
        until = time.monotonic() + 10
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.02)
        return path

    yield start
    for process in running:
        process.terminate()
        _, said = process.communicate(timeout=10)
        assert process.returncode == 0 and "Traceback" not in said and "eyJ" not in said
    assert not path.exists()


def as_uid(uid: int, path: Path, *lines: str) -> str:
    """What a process of this uid is answered."""
    code = (
        "import socket,sys\nfor line in sys.argv[2:]:\n s=socket.socket(socket.AF_UNIX); s.settimeout(30); s.connect(sys.argv[1])\n"
        " try:\n  s.sendall(line.encode()+b'\\n'); print(s.recv(9999).decode())\n except OSError: print('closed')"
    )
    words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "/usr/bin/python3", "-c", code, str(path)]
    return subprocess.run([*words, *lines], capture_output=True, text=True, check=True).stdout


def test_the_peers_uid_decides(serve: Serve) -> None:
    path = serve(f"{WORKER}=admin", f"{FOLLOWER}=read")
    admin, read = '{"kind": "admin"}', '{"kind": "read"}'
    assert '"name": "bancada"' in as_uid(WORKER, path, admin)
    assert '"name": "bancada-read"' in as_uid(FOLLOWER, path, read)
    assert "error" in as_uid(FOLLOWER, path, admin) and "error" in as_uid(WORKER, path, read)
    for nobody in (STRANGER, 0):
        assert "token" not in as_uid(nobody, path, admin, read)


def test_slow_silent_and_flooding_clients_stop_nobody(serve: Serve) -> None:
    path = serve(f"{WORKER}=admin", "65534=read")
    code = (
        "import os,socket,sys,time\nkept=[]\nfor i in range(200):\n s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); kept.append(s)\n"
        " try:\n  s.sendall([b'', b'{', os.urandom(5000), b'\\n'*50, b'x'*1023][i%5])\n except OSError: pass\n"
        "time.sleep(1)"
    )
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", code, str(path)]
    flood = subprocess.Popen(words)
    flood.wait(timeout=60)
    assert '"name": "bancada"' in within(2, lambda: as_uid(WORKER, path, '{"kind": "admin"}'))


def test_the_client_against_the_process(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root nobody is served: the client says so as Unreachable, never as a token."""
    path = serve(f"{WORKER}=admin")
    with pytest.raises(Unreachable):
        SignerTokens(path).admin()
    with pytest.raises(Unreachable, match="does not answer"):
        SignerTokens(path.with_name("nothing.sock")).reading()


def test_refused_by_the_process_is_refused_to_the_caller() -> None:
    class Answering(SignerTokens):
        def _exchange(self, line: bytes) -> dict[str, object]:
            return dict(json.loads(SIGNER.answer(FOLLOWER, line)))

    tokens = Answering("/nowhere")
    assert tokens.reading().name == "bancada-read"
    with pytest.raises(Refused, match="not yours"):
        tokens.of("ana")
