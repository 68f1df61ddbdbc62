"""The plain parts of the stack: names, pid files, order, secrets by process, the directory's text."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from stack import __main__ as command
from stack import demo, identities, layout, ldif, pidfile
from stack.environment import environment
from stack.fault import Fault
from stack.layout import Stack
from stack.service import choose
from stack.table import table
from tests.stack.running import CHECKOUT


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(checkout=CHECKOUT, var=tmp_path, port=18600)


def test_what_a_service_needs_comes_first(stack: Stack) -> None:
    services = table(stack)
    names = [service.name for service in choose(services, ["slurmrestd"])]
    assert names == ["munge", "mariadb", "slurmdbd", "slurmctld", "slurmrestd"]
    with pytest.raises(Fault, match="no service nothing"):
        choose(services, ["slurm", "nothing"])


def test_a_database_server_that_starts_leaves_the_temporary_tables_of_another_stack_alone(stack: Stack) -> None:
    (server,) = [service for service in table(stack) if service.name == "mariadb"]
    (own,) = [flag.removeprefix("--tmpdir=") for flag in server.argv if flag.startswith("--tmpdir=")]
    assert (own.removeprefix("/srv/var/"), server.user, server.user, 0o700) in layout.FOLDERS


def test_a_stack_knows_the_settings_it_was_started_with(stack: Stack) -> None:
    layout.remember(replace(stack, settings=("BANCADA_A=1",)))
    assert layout.same_settings(stack)  # none asked for
    assert layout.same_settings(replace(stack, settings=("BANCADA_A=1",)))
    assert not layout.same_settings(replace(stack, settings=("BANCADA_A=2",)))


def test_every_service_stands_after_what_it_needs(stack: Stack) -> None:
    seen: set[str] = set()
    for service in table(stack):
        assert set(service.after) <= seen, service.name
        seen.add(service.name)


def test_only_slurmd_the_openers_and_who_leaves_root_at_once_start_as_root(stack: Stack) -> None:
    as_root = {service.name for service in table(stack) if service.user == "root"}
    assert {name for name in as_root if not name.startswith(("slurmd-", "agent-"))} <= {"opener", "files"}
    for service in table(stack):
        if service.name.startswith("agent-"):
            after = list(service.argv)[list(service.argv).index("--") + 1 :]
            assert after[:2] == ["setpriv", "--reuid=bancada-agent"]


def test_no_two_portal_processes_share_a_user(stack: Stack) -> None:
    users = [service.user for service in table(stack) if "portal" in service.sets and service.user != "root"]
    assert len(users) == len(set(users))


def test_service_names_and_people_replace_the_systems(stack: Stack) -> None:
    identities.write(stack)
    rows = [line.split(":") for line in (stack.var / "etc/passwd").read_text().splitlines()]
    assert len({row[0] for row in rows}) == len(rows)
    uids = {row[0]: int(row[2]) for row in rows}
    assert uids["root"] == 0
    assert all(uids[name] >= 58000 for name in identities.SERVICES)
    assert all(uids[person.user] >= 20000 for person in demo.PEOPLE)
    assert identities.numbers(stack, "bancada-web")[0] == identities.uid(stack, "bancada-web")


def test_the_block_of_uids_is_kept(stack: Stack) -> None:
    identities.write(stack)
    (stack.var / "identities.json").write_text('{"first": 58300}')
    assert identities.uid(stack, "bancada") == 58300


def test_a_pid_file_is_believed_only_with_its_start_time(tmp_path: Path) -> None:
    path = tmp_path / "x"
    pidfile.write(path, os.getpid())
    assert pidfile.read(path) == os.getpid()
    path.write_text(f"{os.getpid()} 1\n")
    assert pidfile.read(path) is None
    path.write_text("nonsense")
    assert pidfile.read(path) is None


def test_a_zombie_counts_as_ended(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert pidfile.started(child.pid) == ""
    child.wait()


@pytest.mark.parametrize("user", ["web", "live", "work", "beat", "follower", "reader", "root"])
def test_only_the_slurm_worker_is_told_of_the_ticket_key(stack: Stack, user: str) -> None:
    assert "BANCADA_TICKET_KEY" not in environment(stack, user)
    assert "BANCADA_TICKET_KEY" in environment(stack, "slurm")


@pytest.mark.parametrize("user", ["web", "live", "work", "beat"])
def test_web_processes_are_not_told_where_the_signer_is(stack: Stack, user: str) -> None:
    assert not {"BANCADA_SIGNER_SOCKET", "BANCADA_JWT_KEY_FILE"} & set(environment(stack, user))


def test_who_needs_no_settings_gets_none(stack: Stack) -> None:
    for user in ("reader", "root", "signer", "beat"):
        assert not {"DATABASE_URL", "BANCADA_SECRET_KEY_FILE"} & set(environment(stack, user))


def test_the_directory_holds_everybody_and_nests_the_operators() -> None:
    text = ldif.everything("secret-of-the-portal")
    assert all(f"dn: uid={person.user},{ldif.PEOPLE}" in text for person in demo.PEOPLE)
    assert f"member: cn=hpc-team,{ldif.GROUPS}" in text
    assert "secret-of-the-portal" not in text
    assert not any(person.password in text for person in demo.PEOPLE)
    assert (text.count("pwdReset: TRUE"), text.count("pwdAccountLockedTime:")) == (1, 1)


def test_demo_has_the_people_that_were_asked_for() -> None:
    pis = [p for p in demo.PEOPLE if "pi" in p.roles.values()]
    assert len(pis) == 2
    assert [p for p in demo.PEOPLE if not p.roles and not p.site_role]
    assert [p for p in demo.PEOPLE if list(p.roles.values()).count("researcher") == 2]
    assert {p.site_role for p in demo.PEOPLE} == {"", "operator", "auditor"}


def test_without_root_and_sudo_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    with pytest.raises(Fault, match="needs root"):
        command.become_root()
