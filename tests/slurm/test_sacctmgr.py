"""The administrator's door against a small sacctmgr: what is said, what is read back, what is not touched."""

from __future__ import annotations

import dataclasses
import time
from types import SimpleNamespace

import pytest

from slurm.contract import Limits, Refused
from slurm.sacctmgr import Sacctmgr
from slurm.tokens import Token


class Database:
    """Understands the few words Sacctmgr says; prints QOS limits as Slurm does."""

    def __init__(self) -> None:
        self.accounts: set[str] = set()
        self.qos: dict[str, dict[str, str]] = {}
        self.users: dict[tuple[str, str, str], dict[str, str]] = {}
        self.changes: list[str] = []
        self.is_deaf = False

    def read(self, token: Token, program: str, *words: str) -> str:
        assert (token.name, program, words[:3]) == ("bancada", "sacctmgr", ("-n", "-P", "list"))
        where = dict(word.split("=", 1) for word in words[4:] if "=" in word)
        fields = where.pop("format").split(",")
        rows = {"account": self._accounts, "qos": self._qos, "associations": self._associations}[words[3]](where)
        return "".join("|".join(row.get(field, "") for field in fields) + "\n" for row in rows)

    def _accounts(self, where: dict[str, str]) -> list[dict[str, str]]:
        return [{"Account": name} for name in self.accounts if name == where["name"]]

    def _qos(self, where: dict[str, str]) -> list[dict[str, str]]:
        return [{"Name": name, **row} for name, row in self.qos.items() if name == where["name"]]

    def _associations(self, where: dict[str, str]) -> list[dict[str, str]]:
        return [
            {"Account": account, "User": user, "Partition": partition, **row}
            for (account, user, partition), row in self.users.items()
            if account == where["account"] and user == where.get("user", user)
        ]

    def change(self, token: Token, program: str, *words: str) -> None:
        assert (token.name, program, words[0]) == ("bancada", "sacctmgr", "-i")
        self.changes.append(" ".join(words[1:]))
        if not self.is_deaf:
            getattr(self, f"_{words[1]}_{words[2]}")(*words[3:])

    def _add_account(self, name: str, *about: str) -> None:
        self.accounts.add(name)

    def _add_qos(self, name: str) -> None:
        self.qos[name] = {"Flags": ""}

    def _modify_qos(self, where: str, name: str, set_: str, *values: str) -> None:
        row = self.qos[name.removeprefix("name=")]
        for key, value in (one.split("=", 1) for one in values):
            if key in ("GrpTRES", "GrpTRESMins"):
                kept = dict(part.split("=") for part in row.get(key, "").split(",") if part)
                kept.update(part.split("=") for part in value.split(","))
                row[key] = ",".join(f"{name}={n}" for name, n in kept.items() if n != "-1")
            else:
                row[key] = (
                    ""
                    if value == "-1"
                    else f"0{int(value) // 60}:{int(value) % 60:02d}:00"
                    if key == "MaxWall"
                    else value
                )
        row["GrpSubmit"] = row.get("GrpSubmit", "")

    def _add_user(self, *words: str) -> None:
        self._set(dict(word.split("=", 1) for word in words))

    def _modify_user(self, where: str, *words: str) -> None:
        self._set(dict(word.split("=", 1) for word in words if word != "set"))

    def _set(self, said: dict[str, str]) -> None:
        row = self.users.setdefault((said["account"], said["name"], said.get("partition", "")), {"MaxSubmit": ""})
        for word, field in (("qos", "QOS"), ("defaultqos", "DefaultQOS"), ("MaxSubmitJobs", "MaxSubmit")):
            if word in said:
                row[field] = said[word].replace("-1", "")


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def accounts(database: Database) -> Sacctmgr:
    tokens = SimpleNamespace(admin=lambda: Token("bancada", time.time() + 60, "t"))
    return Sacctmgr(SimpleNamespace(commands=database, tokens=tokens))  # type: ignore[arg-type]


def test_an_account_is_added_once_with_plain_words(accounts: Sacctmgr, database: Database) -> None:
    for _ in range(2):
        accounts.ensure_account("visao", description='A, "b"; parent=root\n--x', organization="UFX")
    assert database.changes == ["add account visao description=A   b   parent root --x organization=UFX"]


@pytest.mark.parametrize("name", ["", "A", "a b", "a,b", "a=b", "-i", "x\n", "é", "a" * 65, "a'b", "set "])
def test_names_that_could_be_words(accounts: Sacctmgr, database: Database, name: str) -> None:
    for act in (
        lambda: accounts.ensure_account(name),
        lambda: accounts.ensure_qos(name, Limits()),
        lambda: accounts.ensure_user(name, account="visao", partitions=["gpu"], qos=["q"], default_qos="q"),
        lambda: accounts.ensure_user("ana", account=name, partitions=["gpu"], qos=["q"], default_qos="q"),
        lambda: accounts.ensure_user("ana", account="visao", partitions=[name], qos=["q"], default_qos="q"),
        lambda: accounts.ensure_user("ana", account="visao", partitions=["gpu"], qos=[name], default_qos=name),
        lambda: accounts.stop_user(name, account="visao"),
        lambda: accounts.associations(name),
    ):
        with pytest.raises(Refused):
            act()
    assert database.changes == []


def test_limits_are_set_changed_and_taken_away(accounts: Sacctmgr, database: Database) -> None:
    full = Limits(
        gpus_at_once=4, gpus_by_type={"a100": 2}, gpu_minutes=1000, gpu_minutes_by_type={"a100": 600},
        longest_minutes=90, jobs_running=3,
    )  # fmt: skip
    accounts.ensure_qos("q", full, deny_on_limit=True)
    assert database.changes[0] == "add qos q"
    assert (
        "GrpTRES=gres/gpu=4,gres/gpu:a100=2" in database.changes[1]
        and "Flags=DenyOnLimit,NoDecay" in database.changes[1]
    )
    accounts.ensure_qos("q", full, deny_on_limit=True)
    assert len(database.changes) == 2
    accounts.ensure_qos("q", Limits(gpus_at_once=6))
    assert "GrpTRES=gres/gpu=6,gres/gpu:a100=-1 GrpTRESMins=gres/gpu=-1,gres/gpu:a100=-1" in database.changes[2]
    assert database.qos["q"]["GrpTRES"] == "gres/gpu=6" and database.qos["q"]["MaxWall"] == ""


def test_a_sites_own_limits_stay(accounts: Sacctmgr, database: Database) -> None:
    accounts.ensure_qos("q", Limits(gpus_at_once=1))
    database.qos["q"]["GrpTRES"] += ",cpu=100"
    accounts.ensure_qos("q", Limits(gpus_at_once=2))
    assert "cpu=100" in database.qos["q"]["GrpTRES"]


def test_one_association_a_partition_and_stopped_where_there_is_none(accounts: Sacctmgr, database: Database) -> None:
    def ensure(*partitions: str) -> None:
        accounts.ensure_user("ana", account="visao", partitions=partitions, qos=["q", "p"], default_qos="q")

    for _ in range(2):
        ensure("gpu", "prep")
    assert [words.split(" qos=")[0] for words in database.changes] == [
        "add user name=ana account=visao partition=gpu",
        "add user name=ana account=visao partition=prep",
    ]
    ensure("gpu")
    assert database.changes[2:] == ["modify user where name=ana account=visao partition=prep set MaxSubmitJobs=0"]
    ensure("gpu", "prep")
    assert {row.partition: row.max_submit_jobs for row in accounts.associations("visao")} == {"gpu": None, "prep": None}


def test_stop(accounts: Sacctmgr, database: Database) -> None:
    accounts.stop_user("ana", account="visao")
    assert database.changes == []
    accounts.ensure_user("ana", account="visao", partitions=["gpu"], qos=["q"], default_qos="q")
    accounts.ensure_user("bia", account="visao", partitions=["gpu"], qos=["q"], default_qos="q")
    for _ in range(2):
        accounts.stop_user("ana", account="visao")
    assert {row.user: row.max_submit_jobs for row in accounts.associations("visao")} == {"ana": 0, "bia": None}
    assert len(database.changes) == 3


def test_what_does_not_take_is_refused(accounts: Sacctmgr, database: Database) -> None:
    """sacctmgr that says yes and does nothing: only what it lists afterwards counts."""
    accounts.ensure_qos("q", Limits(gpus_at_once=1))
    accounts.ensure_user("ana", account="visao", partitions=["gpu"], qos=["q"], default_qos="q")
    database.is_deaf = True
    for act in (
        lambda: accounts.ensure_account("other"),
        lambda: accounts.ensure_qos("r", Limits()),
        lambda: accounts.ensure_qos("q", Limits(gpus_at_once=2)),
        lambda: accounts.ensure_user("ana", account="visao", partitions=["large"], qos=["q"], default_qos="q"),
        lambda: accounts.stop_user("ana", account="visao"),
    ):
        with pytest.raises(Refused):
            act()


def test_a_default_that_is_not_among_them(accounts: Sacctmgr) -> None:
    with pytest.raises(Refused):
        accounts.ensure_user("ana", account="visao", partitions=["gpu"], qos=["q"], default_qos="other")


def test_limits_have_a_word_each() -> None:
    """A limit added to the contract must be thought of here."""
    assert {field.name for field in dataclasses.fields(Limits)} == {
        "gpus_at_once", "gpus_by_type", "gpu_minutes", "gpu_minutes_by_type", "longest_minutes", "jobs_submitted", "jobs_running",
    }  # fmt: skip
