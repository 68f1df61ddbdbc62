"""Options of a request: read back as they were written, and every wrong one named beside its field."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from jobs import specs
from jobs.models import Job
from jobs.options import After, Options
from tests.jobs.conftest import Bench
from tests.jobs.test_specs import check, wrong

JOB = "0193d1c2-0000-7000-8000-000000000001"
TOMORROW = f"{timezone.now() + timezone.timedelta(days=1):%Y-%m-%dT%H:%M:00Z}"
ALL = Options(
    tasks_per_node=2, gpus_per_task=1, exclusive=True, constraint="a100&nvme", reservation="course", begin=TOMORROW,
    signal="B:USR1@120", requeue=False, array="0-1%2", after=(After("ok", JOB),), separate_errors=True,
    preset="sweep@3", software="torch/2.4@1", parameters=({"lr": 0.1, "opt": "sgd"}, {"lr": 0.2, "opt": "adam"}),
    folder="runs/a-1",
)  # fmt: skip


def test_what_is_not_asked_for_is_not_kept() -> None:
    assert check().options == Options() and Options().stored() == {} and Options.of({}) == Options()


def test_all_of_it_is_checked_and_comes_back() -> None:
    spec = check(gpus=2, cpus=4, **ALL.stored())
    assert spec.options == ALL
    assert Options.of(spec.options.stored()) == ALL


def test_a_form_says_the_same_in_words() -> None:
    said = {"exclusive": "on", "requeue": "false", "after": f"ok:{JOB}, any:{JOB}", "array": " 1-10 % 2 ", "begin": ""}
    found = check(**said).options
    assert found == Options(exclusive=True, requeue=False, after=(After("ok", JOB), After("any", JOB)), array="1-10%2")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("folder", "../x"), ("folder", "a/../b"), ("folder", "a b"), ("folder", "%j"), ("folder", "a//b"), ("folder", 5),
        ("tasks_per_node", "x"), ("tasks_per_node", -1), ("tasks_per_node", 3), ("tasks_per_node", True),
        ("gpus_per_task", 2), ("gpus_per_task", 0.5), ("exclusive", "maybe"), ("requeue", 2),
        ("constraint", "a b"), ("constraint", "a;b"), ("constraint", "x" * 201), ("constraint", 5), ("constraint", "a\nb"),
        ("reservation", "a,b"), ("reservation", "--x y"), ("begin", "soon"), ("begin", "2020-01-01T00:00"),
        ("begin", "9999-12-31T23:59:59-14:00"), ("begin", 7), ("begin", "2500-01-01"),
        ("signal", "USR9"), ("signal", "B:USR1@0"), ("signal", "B:USR1@3600"), ("signal", "X:USR1"), ("signal", "99@5"),
        ("array", "1-"), ("array", "a"), ("array", "-1"), ("array", "1-5:0"), ("array", "1-5%0"), ("array", "5-1"),
        ("array", "1001"), ("array", "0-99999999999999"), ("array", "1,," ), ("array", "1-3%"), ("array", "1-٣"),
        ("array", "1-3%1000001"), ("array", "1" * 3000),
        ("after", "ok"), ("after", [{"kind": "ok"}]), ("after", [{"kind": "maybe", "job": JOB}]), ("after", 5),
        ("after", [{"kind": "ok", "job": "1"}]), ("after", [{"kind": "ok", "job": JOB, "x": 1}]),
        ("preset", "sweep"), ("preset", "a b@1"), ("software", "@2"), ("software", ["x"]),
        ("parameters", "x"), ("parameters", [1]), ("parameters", [{}]), ("parameters", [{"a": 1}, {"b": 1}]),
        ("parameters", [{"a b": 1}]), ("parameters", [{"a": float("nan")}]), ("parameters", [{"a": "x\ny"}]),
        ("parameters", [{"a": None}]),
    ],
)  # fmt: skip
def test_each_bad_option_is_named_beside_its_field(field: str, value: object) -> None:
    assert wrong(cpus=4, time_limit_minutes=60, **{field: value}) == {field}


def test_a_table_has_a_row_for_each_task() -> None:
    rows = [{"lr": 1}, {"lr": 2}, {"lr": 3}]
    assert check(parameters=rows).options.array == "0-2"
    assert check(parameters=rows, array="5-9:2").options.tasks == 3
    assert wrong(parameters=rows, array="1-4") == {"array"}


def test_the_tasks_of_an_array() -> None:
    assert Options(array="1-9:4,3,2-3%7").task_numbers == [1, 2, 3, 5, 9]
    assert (Options(array="1-100%8").tasks, Options(array="1-100%8").at_once) == (100, 8)
    assert (Options(array="1-4%8").at_once, Options().tasks, Options().at_once) == (4, 1, 1)


def test_options_belong_to_the_digest_only_where_there_are_some() -> None:
    plain = check().digest(project="visao", allocation="main")
    assert plain == "".join(check(array="", exclusive=False).digest(project="visao", allocation="main"))
    assert plain != check(exclusive=True).digest(project="visao", allocation="main")
    assert plain != check(requeue=False).digest(project="visao", allocation="main")


@given(st.dictionaries(st.sampled_from(Options.__slots__), st.one_of(
    st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.lists(st.text()), st.from_regex(r"\d+-\d+%\d+"),
    st.lists(st.dictionaries(st.text(), st.text() | st.floats())), st.datetimes().map(str),
)))  # fmt: skip
def test_whatever_comes_it_is_options_or_a_bad_spec(raw: dict[str, Any]) -> None:
    try:
        found = check(**raw).options
    except specs.BadSpec as bad:
        assert set(bad.errors) <= set(raw)
    else:
        assert Options.of(found.stored()) == found and found.tasks <= 1001


def test_it_is_kept_with_the_job_and_the_hours_of_all_tasks_are_held(bench: Bench) -> None:
    job = bench.submit(array="1-10%3")
    assert Job.objects.get(pk=job.pk).asked == Options(array="1-10%3") and job.is_array
    hold = bench.allocation.holds.get()
    assert (hold.tasks, hold.gpus, hold.gpu_minutes) == (10, 2 * 3, 2 * 60 * 10)


def test_a_job_to_wait_for_must_be_one_the_asker_may_see(bench: Bench) -> None:
    with pytest.raises(specs.BadSpec) as bad:
        bench.submit(after=[{"kind": "ok", "job": JOB}])
    assert list(bad.value.errors) == ["after"] and not Job.objects.exists()
    first = bench.submit()
    second = bench.submit(after=[{"kind": "ok", "job": str(first.pk)}])
    assert second.asked.after == (After("ok", str(first.pk)),)
    assert list(Job.objects.filter(options__contains={"after": [{"job": str(first.pk)}]})) == [second]


def test_a_signal_for_the_script_needs_a_slurm_that_takes_it(bench: Bench) -> None:
    type(bench.cluster).objects.update(slurm_version="24.11.5")
    assert bench.submit(signal="B:USR1@60").asked.signal == "B:USR1@60"
    type(bench.cluster).objects.update(slurm_version="22.05.8")
    with pytest.raises(specs.BadSpec) as bad:
        bench.submit(signal="B:USR1@60")
    assert list(bad.value.errors) == ["signal"]
    assert bench.submit(signal="USR1@60").asked.signal == "USR1@60"
