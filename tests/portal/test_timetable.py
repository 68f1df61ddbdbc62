"""Every bell of the timetable has somebody who hears it."""

from portal.celery import app


def test_each_entry_names_a_task_that_exists() -> None:
    app.loader.import_default_modules()
    app.finalize()
    wanted = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert wanted <= set(app.tasks), wanted - set(app.tasks)
