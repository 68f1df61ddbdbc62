"""One pace for a person, whichever door they submit through."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as configured
from django.test import Client

from jobs import services
from jobs.models import Job
from tests.browser.bench import session
from tests.factories import make_member
from tests.jobs.conftest import RAW, Bench


def test_the_form_keeps_the_pace_of_the_api(bench: Bench, client: Client, settings: Any) -> None:
    settings.SUBMISSIONS_PER_MINUTE = 1
    client.cookies[configured.SESSION_COOKIE_NAME] = session(bench.user)
    form = {"gpu_type": "a100", "nodes": 1, "cpus": 1, "memory_gb": 1, "allocation": bench.allocation.code, **RAW}
    address = f"/jobs/new?project={bench.project.code}"
    assert client.post(address, form | {"key": "first"}).status_code == 302
    answer = client.post(address, form | {"key": "second"}, headers={"Accept-Language": "en"})
    assert answer.status_code == 422 and "At most 1 jobs a minute" in answer.content.decode()
    assert client.post(address, form | {"key": "first"}).status_code == 302  # the same request is no second job
    assert Job.objects.count() == 1


def test_one_who_is_too_fast_slows_down_nobody_else(bench: Bench, settings: Any) -> None:
    settings.SUBMISSIONS_PER_MINUTE = 1
    bench.submit()
    with pytest.raises(services.TooFast) as refused:
        bench.submit()
    assert 1 <= refused.value.seconds <= 60
    bench.user = make_member(bench.project)
    bench.submit()
