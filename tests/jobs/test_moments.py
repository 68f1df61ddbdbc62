"""How programs write a moment in their output: the site's time and UTC, to the second and to the minute."""

from __future__ import annotations

from datetime import UTC, datetime

from django.test import override_settings

from jobs.services.gpus.moments import stamps

AT = datetime(2026, 12, 2, 11, 1, 37, tzinfo=UTC)


@override_settings(TIME_ZONE="America/Sao_Paulo")
def test_the_nearest_first_in_both_times() -> None:
    assert list(stamps(AT, with_date=False)) == ["08:01:37", "11:01:37", "08:01:", "11:01:"]


@override_settings(TIME_ZONE="America/Sao_Paulo")
def test_with_the_day_where_a_run_has_a_time_of_day_twice() -> None:
    found = list(stamps(AT, with_date=True))
    assert found[:2] == ["2026-12-02 08:01:37", "2026-12-02T08:01:37"]
    assert "2026-12-02T11:01:" in found and len(found) == 8


@override_settings(TIME_ZONE="UTC")
def test_a_site_in_utc_is_asked_once() -> None:
    assert list(stamps(AT, with_date=False)) == ["11:01:37", "11:01:"]
