"""The last act of a session with a real Redis: no write for looking, known to other processes, written down by the task."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import activity
from accounts.models import SessionInfo
from accounts.tasks import note_sessions
from portal.doctor import stores
from portal.doctor.finding import Trouble
from tests.conftest import Roles
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.contract]
HOUR = 3600


@pytest.fixture
def store(tmp_path: Path, settings: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A Redis of this test's own, on a Unix socket with a password."""
    path = tmp_path / "s"
    argv = [shutil.which("redis-server") or "redis-server", "--port", "0", "--unixsocket", str(path), "--save", ""]
    server = subprocess.Popen([*argv, "--requirepass", "unit"], stdout=subprocess.DEVNULL, cwd=tmp_path)
    end = time.monotonic() + 10
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    settings.HINTS_URL = f"unix://:unit@{path}"
    activity._redis.cache_clear()
    yield server
    activity._redis.cache_clear()
    server.terminate()
    server.wait(10)


@pytest.fixture
def session() -> dict[str, Any]:
    """What Django keeps of a session that began two hours ago."""
    info = SessionInfo.objects.create(user=make_user(), session_key="k")
    return {"info": info.pk, "began": time.time() - 2 * HOUR}


def test_noted_without_a_query_and_read_by_another_process(store: Any, session: dict[str, Any]) -> None:
    with CaptureQueriesContext(connection) as queries:
        activity.note(session)
        activity.note(session)
    assert len(queries) == 0
    activity._noted.clear()
    with time_machine.travel(time.time() + 7 * HOUR):
        assert time.time() - activity.last_act(session) == pytest.approx(7 * HOUR, abs=5)


def test_the_task_writes_it_down(store: Any, session: dict[str, Any], roles: Roles) -> None:
    with time_machine.travel(time.time() + 1 * HOUR):
        activity.note(session)
    roles.use("work")
    note_sessions()
    note_sessions()
    roles.use("web")
    seen = SessionInfo.objects.get().seen_at.timestamp()
    assert seen == pytest.approx(time.time() + HOUR, abs=5)
    activity._noted.clear()
    with time_machine.travel(time.time() + 7 * HOUR):
        assert activity.last_act(session) == pytest.approx(seen, abs=1)


def test_a_broken_flush_is_taken_up_again(store: Any, session: dict[str, Any]) -> None:
    activity.note(session)
    activity._redis().rename(activity.KEY, activity.FLUSHING)  # a run that died after taking
    assert activity.flush() == 1 and not activity._redis().exists(activity.FLUSHING)


def test_the_doctor_asks_redis_as_celery_does(store: Any, settings: Any, tmp_path: Path) -> None:
    settings.CELERY_BROKER_URL = f"redis+socket://:unit@{tmp_path / 's'}?virtual_host=0"
    assert stores.broker() == "answers; 0 messages wait" and stores.hints() == "answers"
    for _ in range(51):
        activity._redis().lpush("slurm", "bell")
    with pytest.raises(Trouble, match="slurm 51"):
        stores.broker()
    settings.CELERY_BROKER_URL = f"redis+socket://:wrong@{tmp_path / 's'}?virtual_host=0"
    with pytest.raises(Trouble):
        stores.broker()


def test_without_redis_nothing_breaks(store: Any, session: dict[str, Any]) -> None:
    store.terminate()
    store.wait(10)
    activity.note(session)
    assert time.time() - activity.last_act(session) < 5
