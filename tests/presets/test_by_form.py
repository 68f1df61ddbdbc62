"""The submit form begins with a preset's values, and what is sent is held to the preset by the server."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.core.management import call_command

from jobs.models import Job
from presets.models import Preset
from tests.pages import signed_in
from tests.presets.conftest import SCRIPT, Bench

pytestmark = pytest.mark.django_db
SUBMIT = "/jobs/new"


class Form(HTMLParser):
    """What a browser would send of a page's form as it stands."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, str] = {}
        self._area = self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        match tag:
            case "input" if said.get("name") and (said.get("type") not in ("checkbox", "radio") or "checked" in said):
                self.sent[said["name"]] = said.get("value", "on" if "checked" in said else "")
            case "textarea":
                self._area = said.get("name", "")
                self.sent[self._area] = ""
            case "select":
                self._select = said.get("name", "")
            case "option" if self._select and ("selected" in said or self._select not in self.sent):
                self.sent[self._select] = said.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select

    def handle_data(self, data: str) -> None:
        if self._area:
            self.sent[self._area] += data.removeprefix("\n") if not self.sent[self._area] else data


def begun(bench: Bench, preset: str) -> dict[str, str]:
    """The form as a member gets it."""
    answer = signed_in(bench.member).get(SUBMIT, {"preset": preset, "project": "visao"})
    assert answer.status_code == 200
    return Form(answer.text).sent | {"name": "run"}


def send(bench: Bench, sent: dict[str, str], **changes: Any) -> Any:
    return signed_in(bench.member).post(f"{SUBMIT}?project=visao", sent | changes)


def test_it_begins_with_its_values_and_keeps_its_name(bench: Bench) -> None:
    sent = begun(bench, "visao/ours")
    assert (sent["preset"], sent["gpus"], sent["nodes"], sent["partition"]) == ("visao/ours@1", "1", "1", "gpu")
    assert sent["script"].strip() == SCRIPT.strip()
    assert send(bench, sent).status_code == 302
    assert Job.objects.get().options["preset"] == "visao/ours@1"


@pytest.mark.parametrize(("field", "value"), [("gpus", "3"), ("nodes", "2"), ("gpus", "many")])
def test_what_it_does_not_allow_is_named_and_nothing_is_made(bench: Bench, field: str, value: str) -> None:
    answer = send(bench, begun(bench, "visao/ours"), **{field: value})
    assert answer.status_code == 422 and not Job.objects.exists()
    assert f'id="id_{field}_error"' in answer.text


def test_of_another_project_or_none_it_is_not_there(bench: Bench) -> None:
    for name in ("atlas/theirs", "no-such", "visao/ours@9", "\x00"):
        page = signed_in(bench.member).get(SUBMIT, {"preset": name, "project": "visao"})
        assert page.status_code == 200 and 'name="preset"' not in page.text


def test_each_delivered_one_can_be_sent_as_it_stands(bench: Bench) -> None:
    call_command("deliver_presets", verbosity=0)
    rows = list(Preset.objects.filter(is_delivered=True))
    assert len(rows) == 8
    for row in rows:
        answer = send(bench, begun(bench, row.name))
        assert answer.status_code == 302, (row.code, answer.text)
    assert {job.options["preset"].partition("@")[0] for job in Job.objects.all()} == {row.code for row in rows}
