"""The pages of presets and environments: who sees which, and what a form makes."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from accounts.models import User
from presets import services
from presets.models import Preset, PresetVersion, Software
from tests import pages
from tests.presets.conftest import Bench


def signed_in(user: User) -> Client:
    """Reading English."""
    browser = pages.signed_in(user)
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = "en"
    return browser


def test_the_list_offers_making_one_to_who_may(bench: Bench) -> None:
    page = signed_in(bench.operator).get(reverse("presets:list"))
    assert reverse("presets:add") in page.text and "ours" in page.text
    page = signed_in(bench.pi).get(reverse("presets:list"))
    assert reverse("presets_of:add", args=["visao"]) in page.text and reverse("presets:add") not in page.text
    page = signed_in(bench.member).get(reverse("presets:list"))
    assert "new-preset" not in page.text and "single" in page.text
    assert "ours" not in signed_in(bench.other).get(reverse("presets:list")).text


def test_one_in_an_earlier_version(bench: Bench) -> None:
    services.change(preset=bench.own.preset, title="Better", rules={}, by=bench.pi)
    where = reverse("presets:detail", args=[bench.own.preset_id])
    page = signed_in(bench.member).get(where).text
    assert (
        "Better" in page and "visao/ours@2" in page and reverse("presets:edit", args=[bench.own.preset_id]) not in page
    )
    old = signed_in(bench.member).get(where, {"version": "1"}).text
    assert "visao/ours@1" in old and "1 to 2" in old
    assert signed_in(bench.other).get(where).status_code == 404
    assert signed_in(bench.member).get(where, {"version": "nine"}).status_code == 200


FIELDS: dict[str, Any] = {
    "code": "sweep", "title": "Sweep", "gpus-mode": "default", "gpus-value": "1", "gpus-min": "1", "gpus-max": "2",
    "nodes-mode": "fixed", "nodes-value": "1", "requeue-mode": "hidden", "requeue-value": "yes",
    "cpus-mode": "default", "cpus-value": "4", "cpus-choices": "2, 4", "script-mode": "default",
    "script-value": "#!/bin/bash\r\ntrue\r\n",
}  # fmt: skip


def test_a_pi_makes_one_and_its_next_version(bench: Bench) -> None:
    browser, new = signed_in(bench.pi), reverse("presets_of:add", args=["visao"])
    assert browser.get(new).status_code == 200
    made = browser.post(new, FIELDS)
    row = Preset.objects.get(code="sweep")
    assert made.headers["Location"] == reverse("presets:detail", args=[row.pk]) and row.project == bench.project
    version = PresetVersion.objects.get(preset=row)
    assert version.rules == {
        "gpus": {"mode": "default", "value": 1, "min": 1, "max": 2}, "nodes": {"mode": "fixed", "value": 1},
        "cpus": {"mode": "default", "value": 4, "choices": [2, 4]}, "requeue": {"mode": "hidden", "value": True},
        "script": {"mode": "default", "value": "#!/bin/bash\ntrue\n"},
    }  # fmt: skip
    edit = reverse("presets:edit", args=[row.pk])
    assert 'value="1"' in browser.get(edit).text
    browser.post(edit, FIELDS | {"gpus-max": "4"})
    assert row.versions.first().rules["gpus"]["max"] == 4  # type: ignore[union-attr]


def test_what_cannot_be_stands_beside_its_field(bench: Bench) -> None:
    browser, new = signed_in(bench.operator), reverse("presets:add")
    page = browser.post(new, FIELDS | {"gpus-value": "many", "nodes-value": ""})
    assert page.status_code == 422 and not Preset.objects.filter(code="sweep").exists()
    assert "Enter a whole number." in page.text and "What is fixed needs a value." in page.text
    page = browser.post(new, FIELDS | {"code": "single"})
    assert page.status_code == 422


def test_who_may_not_is_refused(bench: Bench) -> None:
    edit = reverse("presets:edit", args=[bench.site.preset_id])
    assert signed_in(bench.pi).post(edit, FIELDS).status_code == 403
    assert signed_in(bench.pi).get(reverse("presets:add")).status_code == 404
    assert signed_in(bench.member).get(reverse("presets_of:add", args=["visao"])).status_code == 403
    assert signed_in(bench.other).post(reverse("presets:retire", args=[bench.own.preset_id])).status_code == 404


def test_retired_and_offered_again(bench: Bench) -> None:
    browser, pk = signed_in(bench.manager), bench.own.preset_id
    browser.post(reverse("presets:retire", args=[pk]))
    assert Preset.objects.get(pk=pk).retired_at is not None
    assert "retired" in browser.get(reverse("presets:detail", args=[pk])).text
    browser.post(reverse("presets:offer", args=[pk]))
    assert Preset.objects.get(pk=pk).retired_at is None


def test_an_administrator_keeps_the_environments(bench: Bench) -> None:
    browser, facts = signed_in(bench.operator), {
        "name": "pytorch", "version": "2.5", "modules": "pytorch/2.5", "validated_on": "2026-11-01",
        "frameworks": "PyTorch 2.5.1\r\nNumPy 2.1",
    }  # fmt: skip
    assert browser.post(reverse("software:add"), facts).status_code == 302
    row = Software.objects.get()
    both = browser.post(reverse("software:edit", args=[row.pk]), facts | {"image": "x@sha256:" + "a" * 64})
    assert both.status_code == 422 and "either modules or" in both.text
    browser.post(reverse("software:retire", args=[row.pk]), {"why": "CUDA too old"})
    assert "CUDA too old" in signed_in(bench.member).get(reverse("software:list")).text
    browser.post(reverse("software:offer", args=[row.pk]))
    assert Software.objects.get().retired_at is None
    assert signed_in(bench.pi).get(reverse("software:add")).status_code == 404
    assert signed_in(bench.pi).post(reverse("software:edit", args=[row.pk]), facts).status_code == 404
