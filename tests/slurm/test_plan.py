"""The plan between two books: it arrives, stays, keeps its order and its cap, and leaves alone what is not ours."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from slurm.books import Account, Association, Books, Limits, Qos
from slurm.plan import differences, plan
from slurm.steps import Kind, carried_out

ACCOUNTS, USERS, PARTITIONS = ("atlas", "clima", "visao"), ("ana", "bia", "caio"), ("", "gpu", "prep")
NAMES = ("atlas-26", "clima-26", "visao-26", "visao-27")

amount = some.none() | some.integers(0, 3)
by_type = some.dictionaries(some.sampled_from(["a100", "h100"]), some.integers(0, 3))
limits = some.builds(
    Limits, gpus_at_once=amount, gpus_by_type=by_type, gpu_minutes=amount, gpu_minutes_by_type=by_type,
    longest_minutes=amount, jobs_submitted=amount, jobs_running=amount,
)  # fmt: skip
people = some.builds(
    lambda account, user, partition, qos, limits: Association(account, user, partition, qos, min(qos), limits),
    some.sampled_from(ACCOUNTS), some.sampled_from(USERS), some.sampled_from(PARTITIONS),
    some.frozensets(some.sampled_from(NAMES), min_size=1, max_size=2), limits,
)  # fmt: skip
own = some.builds(lambda account, limits: Association(account, limits=limits), some.sampled_from(ACCOUNTS), limits)
overrules = some.frozensets(some.sampled_from(["MaxSubmitJobsPerUser", "MaxJobsPerAccount"]))
kinds = some.builds(Qos, some.sampled_from(NAMES), limits, some.booleans())
accounts = some.lists(some.builds(Account, some.sampled_from(ACCOUNTS)), max_size=3)
there_ = some.builds(
    lambda accounts, qos, rows: Books.of(accounts, qos, [*map(Association, {one.name for one in accounts}), *rows]),
    accounts, some.lists(some.builds(dataclasses.replace, kinds, no_decay=some.booleans(), overrules=overrules), max_size=4),
    some.lists(people | own, max_size=8),
)  # fmt: skip
wanted_ = some.builds(
    Books.of, accounts, some.lists(kinds, max_size=4), some.lists(people | own, max_size=8),
    governed=some.frozensets(some.sampled_from(ACCOUNTS)),
)  # fmt: skip


def is_ours(wanted: Books, row: Association) -> bool:
    return row.account in wanted.governed


@given(wanted_, there_)
def test_it_arrives_and_has_nothing_more_to_do(wanted: Books, there: Books) -> None:
    after = carried_out(there, plan(wanted, there).steps)
    assert plan(wanted, after) == plan(Books(), Books())
    assert differences(wanted, after) == []
    for name, qos in wanted.qos.items():
        assert after.qos[name] == qos
    for row in wanted.associations.values():
        if is_ours(wanted, row) and row.user:
            assert after.associations[row.key] == row
        elif is_ours(wanted, row):
            absent = Association(row.account)  # limits nobody
            assert after.associations.get(row.key, absent).limits == row.limits
    assert wanted.governed & wanted.accounts.keys() <= after.accounts.keys()


@given(wanted_, there_)
def test_nothing_is_deleted_and_what_is_not_ours_stays(wanted: Books, there: Books) -> None:
    done = plan(wanted, there)
    after = carried_out(there, done.steps)
    assert there.associations.keys() <= after.associations.keys() and there.qos.keys() <= after.qos.keys()
    for key, row in there.associations.items():
        if not is_ours(wanted, row):
            assert after.associations[key] == row
        elif row.user and key not in wanted.associations:
            assert after.associations[key].is_stopped and after.associations[key].qos == row.qos
    for name in there.qos.keys() - wanted.qos.keys():
        assert after.qos[name] == there.qos[name]
    assert all(step.account in wanted.governed for step in done.steps if step.account)


@given(wanted_, there_, some.integers(0, 4))
def test_never_more_removals_than_its_cap(wanted: Books, there: Books, most: int) -> None:
    done, all_of_it = plan(wanted, there, removals=most), plan(wanted, there)
    assert sum(step.removes for step in done.steps) <= most
    assert all(step.removes for step in done.withheld) and not all_of_it.withheld
    assert {step.subject for step in (*done.steps, *done.withheld)} == {step.subject for step in all_of_it.steps}
    if done.withheld:
        assert sum(step.removes for step in done.steps) == most
        again = plan(wanted, carried_out(there, done.steps))
        assert [step.subject for step in again.steps] == [step.subject for step in done.withheld]


@given(wanted_, there_)
def test_in_an_order_in_which_slurmdbd_takes_it(wanted: Books, there: Books) -> None:
    """What a step names is there by then; nothing occurs twice; nothing that gives comes after what takes."""
    steps = plan(wanted, there).steps
    assert len({(step.kind, step.subject) for step in steps}) == len(steps)
    removing = [step.removes for step in steps]
    assert removing == sorted(removing)
    seen = there
    for step in steps:
        if isinstance(step.after, Association) and step.kind is not Kind.STOP_USER:
            assert step.account in seen.accounts or step.account not in wanted.accounts
            assert step.after.qos & wanted.qos.keys() <= seen.qos.keys()
        seen = carried_out(seen, [step])


@given(wanted_, there_, some.data())
def test_from_wherever_it_was_broken_off_it_arrives_at_the_same(
    wanted: Books, there: Books, data: some.DataObject
) -> None:
    steps = plan(wanted, there).steps
    part = carried_out(there, steps[: data.draw(some.integers(0, len(steps)))])
    assert carried_out(part, plan(wanted, part).steps) == carried_out(there, steps)


@given(wanted_, there_)
def test_differences_are_what_the_plan_changes(wanted: Books, there: Books) -> None:
    found = {(one.account, one.user, one.partition, one.qos) for one in differences(wanted, there)}
    assert found == {step.subject for step in plan(wanted, there).steps}


def one_of_each() -> tuple[Books, Books]:
    ana = Association("visao", "ana", "gpu", frozenset({"v"}), "v", Limits(gpus_at_once=2))
    bia = Association("visao", "bia", "gpu", frozenset({"v"}), "v")
    wanted = Books.of([Account("visao")], [Qos("v", Limits(gpus_at_once=4, jobs_submitted=0))], [ana])
    lower = dataclasses.replace(ana, limits=Limits(gpus_at_once=4))
    there = Books.of([Account("visao")], [Qos("v", Limits(gpus_at_once=8))], [Association("visao"), lower, bia])
    return wanted, there


def test_in_words_a_screen_can_show() -> None:
    wanted, there = one_of_each()
    steps = plan(wanted, there).steps
    assert [(step.kind, step.removes) for step in steps] == [
        (Kind.CHANGE_USER, False), (Kind.STOP_USER, True), (Kind.CHANGE_QOS, True),
    ]  # fmt: skip
    assert [[(one.field, one.before, one.after) for one in step.changes()] for step in steps] == [
        [("gpus_at_once", 4, 2)], [("jobs_submitted", None, 0)], [("gpus_at_once", 8, 4), ("jobs_submitted", None, 0)],
    ]  # fmt: skip
    assert [(one.user, one.qos, one.field, one.wanted, one.there) for one in differences(wanted, there)] == [
        ("ana", "", "gpus_at_once", 2, 4),
        ("bia", "", "jobs_submitted", 0, None),
        ("", "v", "gpus_at_once", 4, 8),
        ("", "v", "jobs_submitted", 0, None),
    ]


def test_free_text_is_no_difference() -> None:
    there = Books.of([Account("visao", "old", "x")], [Qos("v", description="old")], [Association("visao")])
    assert plan(Books.of([Account("visao", "new")], [Qos("v", description="new")]), there).steps == ()


def test_a_parent_comes_before_its_children() -> None:
    wanted = Books.of([Account("a", parent="z"), Account("b"), Account("z", parent="b")])
    assert [step.account for step in plan(wanted, Books()).steps] == ["b", "z", "a"]


@pytest.mark.parametrize(
    "row",
    [
        Association("visao", "Ana", "gpu", frozenset({"v"}), "v"),
        Association("visao", "a b", "gpu", frozenset({"v"}), "v"),
        Association("visao", "ana", "GPU", frozenset({"v"}), "v"),
        Association("visao", "ana", "gpu", frozenset({"v=w"}), "v=w"),
        Association("visao", "ana", "gpu", frozenset({"v"}), "other"),
        Association("visao", "ana", "gpu"),
        Association("visao", "ana", "gpu", frozenset({"v"}), "v", Limits(gpus_at_once=-1)),
        Association("visao", "ana", "gpu", frozenset({"v"}), "v", Limits(gpus_by_type={"a100=1,cpu": 1})),
    ],
)
def test_what_cannot_be_said_keeps_nothing_else_from_being_done(row: Association) -> None:
    good = Association("visao", "bia", "gpu", frozenset({"v"}), "v")
    there = Books.of([Account("visao")], [Qos("v")], [Association("visao")])
    done = plan(Books.of([Account("visao")], [Qos("v")], [row, good]), there)
    assert [step.after for step in done.steps] == [good] and [step.after for step in done.refused] == [row]


def test_root_is_not_governed() -> None:
    with pytest.raises(ValueError, match="root"):
        Books.of([Account("root")])


@settings(max_examples=20)
@given(wanted_, there_)
def test_books_are_values(wanted: Books, there: Books) -> None:
    assert dataclasses.replace(wanted) == wanted
    assert plan(wanted, there) == plan(dataclasses.replace(wanted), dataclasses.replace(there))
