"""The administrator's door against recorded answers: what is asked, what is read, and which lines are said."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from slurm import lines
from slurm.books import Account, Association, Books, Limits, Qos
from slurm.contract import Refused, Unanswered
from slurm.plan import plan
from slurm.sacctmgr import Sacctmgr
from slurm.steps import Kind, Step
from slurm.tokens import Token
from tests.slurm.test_plan import there_, wanted_

ROWS = """\
bancada|root|||normal|||||||
bancada|root|bancada|||||||||
bancada|visao|||visao-2026|visao-2026||||||root
bancada|visao|ana|gpu|v26,v27|v26|billing=4,cpu=64,gres/gpu:a100=2,gres/gpu=9|billing=600|1-01:30:00|4|2|
bancada|visao|bia|||||||0||
"""
QOS = """\
normal|||||||5||2|
v26|gres/gpu:a100=2,gres/gpu=4,node=3|gres/gpu:h100=60|01:30:00|0|3|DenyOnLimit,NoDecay,OverPartQOS||||
"""


class Recorded:
    """Commands that answer by what is listed, and remember what they were told."""

    deadline = 30.0

    def __init__(self) -> None:
        self.answers = {"associations": ROWS, "qos": QOS}
        self.asked: list[tuple[str, ...]] = []
        self.told: list[list[str]] = []
        self.complaints: list[list[str]] = []

    def read(self, token: Token, program: str, *words: str) -> str:
        assert (token.name, program, words[:3]) == ("bancada", "sacctmgr", ("-n", "-P", "list"))
        self.asked.append(words[3:])
        return self.answers[words[3]]

    def tell(self, token: Token, program: str, *words: str, lines: Sequence[str], deadline: float) -> list[str]:
        assert (token.name, program, words) == ("bancada", "sacctmgr", ("-i",)) and deadline > 30
        self.told.append(list(lines))
        return self.complaints.pop(0) if self.complaints else []


@pytest.fixture
def commands() -> Recorded:
    return Recorded()


def door(commands: Recorded, cluster: str = "") -> Sacctmgr:
    tokens = SimpleNamespace(admin=lambda: Token("bancada", time.time() + 60, "t"))
    return Sacctmgr(SimpleNamespace(commands=commands, tokens=tokens), cluster)  # type: ignore[arg-type]


def test_books_are_read_in_two_commands(commands: Recorded) -> None:
    books = door(commands).books()
    assert sorted(words[0] for words in commands.asked) == ["associations", "qos"]
    ana, bia = books.associations["visao", "ana", "gpu"], books.associations["visao", "bia", ""]
    assert (ana.qos, ana.default_qos) == ({"v26", "v27"}, "v26")
    assert ana.limits == Limits(4, {"a100": 2}, 600, {}, 1530, 4, 2)
    assert bia.is_stopped and not bia.qos
    assert books.qos["v26"] == Qos("v26", Limits(4, {"a100": 2}, None, {"h100": 60}, 90, 0, 3), deny_on_limit=True)
    assert books.qos["normal"].overrules == {"MaxSubmitJobsPerUser", "MaxJobsPerUser"}
    assert books.qos["v26"].is_closed and not books.qos["normal"].no_decay
    assert books.accounts.keys() == {"root", "visao"} and books.accounts["visao"].parent == "root"
    assert books.governed == frozenset()


def test_only_what_is_asked_for(commands: Recorded) -> None:
    books = door(commands).books(["visao", "other"], ["v26"])
    assert sorted(words[:3] for words in commands.asked)[0] == ("associations", "where", "WOPLimits")
    assert any(words[:2] == ("qos", "name=v26") for words in commands.asked)
    assert "account=other,root,visao" in next(words for words in commands.asked if words[0] == "associations")
    assert books.accounts.keys() == {"visao"} and books.qos.keys() == {"v26"}
    commands.asked.clear()
    assert door(commands).books(["visao"]).qos == {} and len(commands.asked) == 1
    many = [f"p{number}" for number in range(1000)]
    assert door(commands).books(many, many) == Books()
    assert all(len(" ".join(words)) < 1000 for words in commands.asked[1:])


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("associations", ""),
        ("associations", ROWS[:-1]),
        ("associations", ROWS[:-9]),
        ("associations", ROWS.replace("bancada|root|||normal", "bancada|rest|||normal")),
        ("associations", ROWS + "bancada|visao|caio|g|pu|||||||||\n"),
        ("associations", ROWS.replace("|0||\n", "|some||\n")),
        ("qos", QOS[:-1]),
        ("qos", QOS + "half|gres"),
        ("qos", QOS + "error: timed out\n"),
    ],
)
def test_a_part_of_the_books_is_no_answer(commands: Recorded, what: str, answer: str) -> None:
    commands.answers[what] = answer
    with pytest.raises(Unanswered):
        door(commands).books()


def test_one_of_several_clusters(commands: Recorded) -> None:
    commands.answers["associations"] += "other|root|||normal|||||||\nother|visao|caio|gpu||||||||\n"
    with pytest.raises(Refused, match="several clusters"):
        door(commands).books()
    assert ("visao", "caio", "gpu") not in door(commands, "bancada").books().associations
    assert any("cluster=bancada" in words for words in commands.asked)


def test_names_that_could_be_words(commands: Recorded) -> None:
    for name in ("", "A", "a b", "a,b", "a=b", "-i", "x\n", "é", "a" * 65, "a'b", "set ", "a\tb"):
        for act in (
            lambda name=name: door(commands).books([name]),
            lambda name=name: door(commands).books([], [name]),
            lambda name=name: door(commands).carry_out([Step(Kind.ADD_ACCOUNT, Account(name))]),
            lambda name=name: door(commands).carry_out([Step(Kind.ADD_QOS, Qos(name))]),
            lambda name=name: door(commands).carry_out(
                [Step(Kind.ADD_USER, Association("visao", name or "-", "gpu", frozenset({"v"}), "v"))]
            ),
        ):
            with pytest.raises(Refused):
                act()
    assert commands.asked == [] and commands.told == []


def said(wanted: Books, there: Books) -> list[str]:
    return [lines.line(step) for step in plan(wanted, there).steps]


FULL = Limits(4, {"a100": 2}, 1000, {"a100": 600}, 90, 5, 3)


def test_limits_are_set_changed_and_taken_away() -> None:
    full = Books.of([], [Qos("q", FULL, True, "A, \"b\"; c='x'\n\u2028d")])
    assert said(full, Books()) == [
        "add qos q Flags=NoDecay,DenyOnLimit GrpTRES=gres/gpu=4,gres/gpu:a100=2 "
        "GrpTRESMins=gres/gpu=1000,gres/gpu:a100=600 MaxWall=90 GrpSubmitJobs=5 GrpJobs=3 "
        'description="A   b   c  x   d"'
    ]
    assert said(full, full) == []
    less = Books.of([], [Qos("q", Limits(6, {"h100": 1}))])
    assert said(less, full) == [
        "modify qos where name=q set Flags-=DenyOnLimit GrpTRES=gres/gpu=6,gres/gpu:a100=-1,gres/gpu:h100=1 "
        "GrpTRESMins=gres/gpu=-1,gres/gpu:a100=-1 MaxWall=-1 GrpSubmitJobs=-1 GrpJobs=-1"
    ]
    overruling = Books.of(
        [], [Qos("q", FULL, True, overrules=frozenset({"MaxSubmitJobsPerUser", "MaxJobsPerAccount"}))]
    )
    assert said(full, overruling) == ["modify qos where name=q set MaxJobsPerAccount=-1 MaxSubmitJobsPerUser=-1"]
    decaying = Books.of([], [Qos("q", Limits(6), no_decay=False)])
    assert said(Books.of([], [Qos("q", Limits(6))]), decaying) == ["modify qos where name=q set Flags+=NoDecay"]


def test_people_are_added_changed_and_stopped() -> None:
    ana = Association("visao", "ana", "gpu", frozenset({"w", "v"}), "v", FULL)
    account = Account("visao", "Visão; \"x\" 'y'", "UFX")
    there = Books.of([account], [], [Association("visao")])
    assert said(Books.of([account], [], [ana]), Books()) == [
        'add account visao description="Visão   x   y" organization="UFX"',
        "add user name=ana account=visao partition=gpu qos=v,w defaultqos=v GrpTRES=billing=4,gres/gpu:a100=2 "
        "GrpTRESMins=billing=1000,gres/gpu:a100=600 MaxWall=90 MaxSubmitJobs=5 MaxJobs=3",
    ]
    other = dataclasses.replace(
        ana, qos=frozenset({"x"}), default_qos="x", limits=dataclasses.replace(FULL, jobs_running=None)
    )
    here = Books.of([account], [], [Association("visao"), ana])
    assert said(Books.of([account], [], [other]), here) == [
        "modify user where name=ana account=visao partition=gpu set qos=x defaultqos=x MaxJobs=-1"
    ]
    assert said(Books.of([account]), here) == [
        "modify user where name=ana account=visao partition=gpu set MaxSubmitJobs=0"
    ]
    everywhere = dataclasses.replace(ana, partition="", limits=Limits())
    assert said(Books.of([account]), Books.of([account], [], [everywhere])) == [
        "modify user where name=ana account=visao partition='' set MaxSubmitJobs=0"
    ]
    assert said(Books.of([account], [], [Association("visao", limits=Limits(gpus_at_once=1))]), there) == [
        "modify account where name=visao set GrpTRES=billing=1"
    ]


def test_a_cluster_is_named_where_there_are_several() -> None:
    ana = Association("visao", "ana", "gpu", frozenset({"v"}), "v")
    steps = [Step(Kind.ADD_ACCOUNT, Account("visao")), Step(Kind.ADD_USER, ana), Step(Kind.STOP_USER, ana, ana)]
    assert all(" cluster=two" in words for words in lines.merged(steps, "two"))


def test_many_alike_are_one_line() -> None:
    rows = [
        Association("visao", user, partition, frozenset({"v"}), "v")
        for user in ("ana", "bia", "caio")
        for partition in ("gpu", "prep", "")
        if (user, partition) != ("caio", "prep")
    ]
    assert lines.merged([Step(Kind.ADD_USER, row) for row in rows]) == [
        "add user name=ana,bia,caio account=visao qos=v defaultqos=v",
        "add user name=ana,bia account=visao partition=gpu,prep qos=v defaultqos=v",
        "add user name=caio account=visao partition=gpu qos=v defaultqos=v",
    ]


def touched(line: str) -> list[tuple[str, ...]]:
    """What one line is about, as the subjects of steps."""
    words = dict(word.split("=", 1) for word in line.split() if "=" in word)
    if line.startswith(("add qos", "modify qos")):
        return [("", "", "", name) for name in (words.get("name") or line.split()[2]).split(",")]
    if line.startswith(("add account", "modify account")):
        return [(name, "", "", "") for name in (words.get("name") or line.split()[2]).split(",")]
    partitions = words.get("partition", "").replace("'", "").split(",")
    return [(words["account"], user, partition, "") for user in words["name"].split(",") for partition in partitions]


@given(wanted_, there_)
def test_put_together_they_touch_what_they_touch_alone(wanted: Books, there: Books) -> None:
    steps = plan(wanted, there).steps
    together = [one for line in lines.merged(steps) for one in touched(line)]
    assert sorted(together) == sorted(step.subject for step in steps)
    alone = {(subject, words) for step in steps for subject, words in [(step.subject, settings(lines.line(step)))]}
    assert {(one, settings(line)) for line in lines.merged(steps) for one in touched(line)} == alone


def settings(line: str) -> str:
    """What a line sets, without the names."""
    skip = 3 if line.startswith(("add qos", "add account")) else 0
    words = line.split(" set ")[-1].split()[skip:]
    return " ".join(word for word in words if not word.startswith(("name=", "account=", "partition=", "add", "user")))


@given(some.text(max_size=300))
def test_free_text_stays_between_its_quotes(text: str) -> None:
    words = lines.line(Step(Kind.ADD_ACCOUNT, Account("visao", text)))
    assert words == "add account visao" or (words.count('"') == 2 and words.endswith('"'))
    assert words.isprintable() and not set("\\'\n\t=,;|") & set(words.partition('"')[2])


def test_steps_go_over_one_connection(commands: Recorded) -> None:
    ana = Association("visao", "ana", "gpu", frozenset({"v"}), "v")
    steps = [Step(Kind.ADD_QOS, Qos("v")), Step(Kind.ADD_QOS, Qos("w")), Step(Kind.ADD_USER, ana)]
    assert door(commands).carry_out(steps) == []
    assert commands.told == [
        ["add qos v,w Flags=NoDecay", "add user name=ana account=visao partition=gpu qos=v defaultqos=v", "quit"]
    ]
    assert door(commands).carry_out([]) == [] and len(commands.told) == 1


def test_a_line_of_many_that_is_refused_is_said_one_by_one(commands: Recorded) -> None:
    commands.complaints = [["one of them is bad"], ["w is bad"]]
    steps = [Step(Kind.ADD_QOS, Qos("v")), Step(Kind.ADD_QOS, Qos("w"))]
    assert door(commands).carry_out(steps) == ["w is bad"]
    assert commands.told[1] == ["add qos v Flags=NoDecay", "add qos w Flags=NoDecay", "quit"]


def test_pieces(commands: Recorded) -> None:
    steps = [Step(Kind.ADD_QOS, Qos(f"q{number}")) for number in range(1200)]
    door(commands).carry_out(steps)
    assert len(commands.told) == 3 and all(len(told) <= 501 for told in commands.told)


def test_limits_have_a_word_each() -> None:
    """A limit added to the books must be thought of in lines and rows."""
    assert {field.name for field in dataclasses.fields(Limits)} == {
        "gpus_at_once", "gpus_by_type", "gpu_minutes", "gpu_minutes_by_type", "longest_minutes", "jobs_submitted", "jobs_running",
    }  # fmt: skip
