"""What a reader sees: everybody's jobs in one call, accounting, nodes, partitions, and a job by its token."""

from __future__ import annotations

from datetime import timedelta

from tests.contract.lab import Lab, is_over, is_running, new_key, submission

LOOK_BACK = timedelta(minutes=10)


def test_one_call_shows_everybody_without_free_text(lab: Lab) -> None:
    mine = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    theirs = lab.gateway.submit(submission(lab, lab.felipe), as_user="felipe")
    jobs = {job.job_id: job for job in lab.gateway.jobs()}
    assert (jobs[mine].uid, jobs[theirs].uid) == (20004, 20006)
    assert (jobs[mine].account, jobs[theirs].account) == ("visao", "atlas")
    for job in (jobs[mine], jobs[theirs]):
        assert (job.states, job.reason, job.gpus, job.time_limit_minutes) == ({"PENDING"}, "JobHeldUser", 1, 5)
        assert {job.name, job.comment, job.admin_comment, job.standard_output, job.working_directory} == {""}


def test_bulk_and_single_agree(lab: Lab) -> None:
    key = new_key()
    job_id = lab.gateway.submit(submission(lab, lab.davi, key), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    lab.end(job_id, key, exit_code=7)
    over = lab.until(is_over(lab, job_id))
    assert over is not None
    bulk = next(job for job in lab.gateway.jobs() if job.job_id == job_id)
    for field in (
        "submit_time", "uid", "states", "account", "partition", "qos", "start_time", "end_time", "eligible_time",
        "time_limit_minutes", "restart_count", "nodes", "node_count", "cpus", "memory_mb", "gpus", "gpu_types",
        "exit_code", "exit_signal",
    ):  # fmt: skip
        assert getattr(bulk, field) == getattr(over, field), field


def test_accounting_tells_how_it_ended(lab: Lab) -> None:
    key, began = new_key(), lab.now() - LOOK_BACK
    job_id = lab.gateway.submit(submission(lab, lab.davi, key), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    lab.end(job_id, key, exit_code=4)
    over = lab.until(is_over(lab, job_id))
    assert over is not None

    def ended() -> bool:
        rows = [row for row in lab.gateway.accounting(since=began) if row.job_id == job_id]
        return bool(rows) and rows[0].end_time is not None

    lab.until(ended)
    (row,) = lab.gateway.accounting(since=began, job_ids=[job_id])
    assert (row.uid, row.user, row.account, row.states) == (20004, "davi", "visao", {"FAILED"})
    assert (row.exit_code, row.exit_signal, row.gpus, dict(row.gpu_types)) == (4, None, 1, {"a100": 1})
    assert (row.submit_time, row.start_time, row.end_time) == (over.submit_time, over.start_time, over.end_time)
    assert row.nodes == over.nodes and row.from_accounting and row.name == ""


def test_a_requeue_is_a_second_run_with_a_submit_time_of_its_own(lab: Lab) -> None:
    began = lab.now() - LOOK_BACK
    job_id = lab.gateway.submit(submission(lab, lab.davi), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    first = lab.gateway.job(job_id)
    lab.until(lambda: first is not None and lab.now() - first.submit_time > timedelta(seconds=2))
    lab.requeue(job_id)
    lab.until(lambda: lab.gateway.job(job_id).states == {"PENDING"})  # type: ignore[union-attr]
    second = lab.gateway.job(job_id)
    assert first is not None and second is not None
    assert (second.restart_count, second.reason, second.uid) == (1, "BeginTime", first.uid)
    assert second.submit_time > first.submit_time and second.admin_comment == first.admin_comment
    assert second.start_time is None and second.nodes == ""
    lab.until(lambda: any("REQUEUED" in run.states for run in lab.gateway.accounting(since=began)))
    runs = [run for run in lab.gateway.accounting(since=began) if run.job_id == job_id]
    assert runs[0].states == {"REQUEUED"} and runs[0].submit_time == first.submit_time
    assert all(run.restart_count == number for number, run in enumerate(runs))


def test_find_by_token_at_every_stage(lab: Lab) -> None:
    key = new_key()
    asked = submission(lab, lab.davi, key)
    began = lab.now()

    def found() -> list[int]:
        records = lab.gateway.find(comment=asked.comment, uid=20004, account="visao", since=began)
        assert all(record.comment == asked.comment or record.admin_comment == asked.comment for record in records)
        return [record.job_id for record in records]

    assert found() == []
    job_id = lab.gateway.submit(asked, as_user="davi")
    assert found() == [job_id]
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    assert found() == [job_id]
    lab.end(job_id, key)
    lab.until(is_over(lab, job_id))
    assert found() == [job_id]


def test_find_wants_uid_account_and_time_as_well(lab: Lab) -> None:
    asked = submission(lab, lab.davi)
    began = lab.now()
    lab.gateway.submit(asked, as_user="davi")
    good = {"comment": asked.comment, "uid": 20004, "account": "visao", "since": began}
    assert len(lab.gateway.find(**good)) == 1  # type: ignore[arg-type]
    later = {"since": began + timedelta(seconds=30)}
    for wrong in ({"uid": 20006}, {"account": "atlas"}, {"comment": "bancada:" + "0" * 32}, later):
        assert list(lab.gateway.find(**{**good, **wrong})) == []  # type: ignore[arg-type]


def test_nodes_and_partitions(lab: Lab) -> None:
    job_id = lab.gateway.submit(submission(lab, lab.davi, gpus=3), as_user="davi")
    lab.gateway.release(job_id, as_user="davi")
    lab.until(is_running(lab, job_id))
    nodes = {node.name: node for node in lab.gateway.nodes()}
    assert set(nodes) == {"gpu01", "gpu02", "big01", "prep01"}
    busy = nodes[lab.gateway.job(job_id).nodes]  # type: ignore[union-attr]
    assert (dict(busy.gpu_types), busy.gpus_allocated, busy.cpus) == ({"a100": 4}, 3, 16)
    assert busy.cpus_allocated >= 2 and busy.memory_allocated_mb == 500 and busy.partitions == ("gpu",)
    assert busy.states == {"MIXED"} and nodes["prep01"].gpu_types == {}
    partitions = {partition.name: partition for partition in lab.gateway.partitions()}
    assert set(partitions) == {"gpu", "large", "prep"}
    gpu = partitions["gpu"]
    assert all(dict(one.billing) == {"gres/gpu": 1.0} for one in partitions.values())
    assert (gpu.state, gpu.nodes, gpu.total_cpus) == ("UP", ("gpu01", "gpu02"), 32)
    assert (gpu.max_time_minutes, gpu.default_time_minutes, gpu.max_nodes) == (1440, 60, 2)


def test_version(lab: Lab) -> None:
    year, month, patch = lab.gateway.version().split(".")
    assert int(year) >= 22 and int(month) and patch
