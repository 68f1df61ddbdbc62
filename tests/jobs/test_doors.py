"""The submit form's two doors: both show one request, and a press of any button loses nothing that was typed."""

from __future__ import annotations

import html
import re
from datetime import date
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.models import Job
from jobs.services.importing import Entry, dictionary
from presets import services as presets
from presets.models import Software
from tests.jobs.conftest import Bench
from tests.jobs.test_import_pages import in_english

OLD = """#!/bin/bash
#SBATCH -J digits -p gpu -G v100:1 --mem=3G
#SBATCH -t 10 -A old --nice=5
module load cuda/10
echo done
"""
REFUSED = "#!/bin/bash\n#SBATCH -p gpu --uid=0\ntrue\n"
BODY = "#!/bin/bash\ntrue\n"
RULES: dict[str, Any] = {
    "gpus": {"mode": "default", "value": 1, "min": 1, "max": 2},
    "nodes": {"mode": "fixed", "value": 1},
    "partition": {"mode": "default", "value": "gpu"},
    "gpu_type": {"mode": "default", "value": "a100"},
    "script": {"mode": "fixed", "value": "#!/bin/bash\necho preset\n"},
}


class Sent(HTMLParser):
    """What a browser would send of the submit form as it stands."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.values: dict[str, Any] = {}
        self._area = self._select = ""
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self._inside = self._inside or (tag == "form" and said.get("id") == "submit-form")
        if not self._inside:
            return
        if tag == "input" and said.get("name") and said.get("type") != "file":
            if said.get("type") not in ("checkbox", "radio") or "checked" in said:
                self.values[said["name"]] = said.get("value", "on" if said.get("type") == "checkbox" else "")
        elif tag == "textarea":
            self._area, self.values[said["name"]] = said["name"], ""
        elif tag == "select":
            self._select = said.get("name", "")
        elif tag == "option" and self._select and ("selected" in said or self._select not in self.values):
            self.values[self._select] = said.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "form"
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select

    def handle_data(self, data: str) -> None:
        if self._area:
            self.values[self._area] += data if self.values[self._area] else data.removeprefix("\n")


class Page:
    """One person at the form: what it shows, and presses of its buttons."""

    def __init__(self, client: Client, **query: str) -> None:
        self.client = client
        self.text = client.get("/jobs/new", query).content.decode()

    @property
    def sent(self) -> dict[str, Any]:
        return Sent(self.text).values

    @property
    def head(self) -> str:
        return unescape(self.text.partition('id="request-head"')[2].partition(">")[2].partition("</pre>")[0])

    def press(self, act: str, to: str = "/jobs/new", **changes: Any) -> Page:
        answer = self.client.post(to, self.sent | changes | {"act": act})
        assert answer.status_code == 200, answer.content.decode()
        self.text = answer.content.decode()
        return self


@pytest.fixture
def client(bench: Bench) -> Client:
    entries = [Entry("gres", "v100", "a100"), Entry("module", "cuda/10", "cuda/12")]
    dictionary.change(entries=entries, base=0, note="first", by=bench.user)
    presets.add(project=bench.project, code="ours", title="Ours", about="", rules=RULES, by=bench.user)
    return in_english(bench.user)


def test_a_script_that_is_read_fills_the_fields_and_says_so_beside_each(client: Client) -> None:
    page = Page(client).press("read", script=OLD.replace("\n", "\r\n"))
    sent = page.sent
    assert (sent["name"], sent["partition"], sent["gpus"], sent["gpu_type"]) == ("digits", "gpu", "1", "a100")
    assert (sent["memory_gb"], sent["time_limit_minutes"]) == ("3", "10")
    assert "module load cuda/12" in sent["script"] and "##SBATCH --nice=5" in sent["script"]
    below = page.text.partition('name="memory_gb"')[2]
    assert "--mem=3G" in below[: below.index('name="time_limit_minutes"')]
    assert "#SBATCH --gpus-per-node=a100:1" in page.head and "#SBATCH --mem=3G" in page.head


def test_a_replacement_is_undone_and_done_again_without_what_was_typed_since(client: Client) -> None:
    page = Page(client).press("read", script=OLD).press("undo:module:cuda/10", memory_gb="7")
    assert "module load cuda/10" in page.sent["script"] and page.sent["memory_gb"] == "7"
    page.press("redo:module:cuda/10")
    assert "module load cuda/12" in page.sent["script"] and page.sent["memory_gb"] == "7"
    page.press("undo:module:cuda/10", script=page.sent["script"] + "echo mine\n")
    assert "module load cuda/12" in page.sent["script"] and "echo mine" in page.sent["script"]


def test_what_stood_there_comes_back_after_a_script_was_read(client: Client) -> None:
    page = Page(client).press("read", name="mine", memory_gb="9", script=OLD)
    page.press("back")
    assert (page.sent["name"], page.sent["memory_gb"], page.sent["script"]) == ("mine", "9", OLD)


def test_lines_nobody_read_are_not_passed_over_in_silence(client: Client, bench: Bench) -> None:
    page = Page(client)
    asked = page.sent | {"name": "x", "script": OLD}
    answer = client.post("/jobs/new", asked)
    assert answer.status_code == 422 and 'id="id_script_error"' in answer.content.decode() and not Job.objects.exists()
    page.press("leave", name="x", script=OLD)
    assert client.post("/jobs/new", page.sent).status_code == 302 and Job.objects.get().script == OLD


def test_refused_lines_are_named_and_nothing_is_made_until_they_are_left_out(client: Client) -> None:
    page = Page(client).press("read", name="x", script=REFUSED)
    answer = client.post("/jobs/new", page.sent)
    assert answer.status_code == 422 and "Line 2: --uid=0" in answer.content.decode() and not Job.objects.exists()
    assert client.post("/jobs/new", page.sent | {"without": "on"}).status_code == 302
    assert "#SBATCH -p" not in Job.objects.get().script


def test_a_script_as_a_file_needs_no_javascript(client: Client) -> None:
    page = Page(client)
    page.press("read", script_file=SimpleUploadedFile("old-run.sh", b"#!/bin/bash\n#SBATCH -p gpu -t 5\ntrue\n"))
    assert (page.sent["name"], page.sent["time_limit_minutes"], page.sent["gpus"]) == ("old-run", "5", "0")


def test_both_doors_show_one_request_and_switching_loses_nothing(client: Client, bench: Bench) -> None:
    page = Page(client, preset=f"{bench.project.code}/ours").press("check", name="run", gpus="2", memory_gb="5")
    at_preset = page.head
    typed = {name: page.sent[name] for name in ("name", "gpus", "memory_gb", "time_limit_minutes")}
    page.press("script")
    assert typed.items() <= page.sent.items() and page.head == re.sub("\n#BANCADA preset=.*", "", at_preset)
    assert page.sent["nodes"] == "1" and page.sent["script"] == "#!/bin/bash\necho preset\n"
    page.press("preset")
    assert typed.items() <= page.sent.items() and page.head == at_preset
    assert client.post("/jobs/new", page.sent).status_code == 302
    assert Job.objects.get().options["preset"] == f"{bench.project.code}/ours@1"


def test_what_the_preset_fixes_otherwise_is_said_and_taken_by_a_button(client: Client, bench: Bench) -> None:
    page = Page(client, preset=f"{bench.project.code}/ours").press("script")
    page.press("preset", name="run", nodes="2")
    assert "The preset sets these otherwise than the form has them: Nodes." in page.text
    assert client.post("/jobs/new", page.sent).status_code == 422 and not Job.objects.exists()
    page.press(f"use:{bench.project.code}/ours@1")
    assert page.sent["nodes"] == "1" and page.sent["name"] == "run"
    page.press("back").press("script")
    assert page.sent["nodes"] == "2"


def test_a_look_makes_nothing_and_says_what_is_wrong_beside_the_field(client: Client, bench: Bench) -> None:
    sent = Page(client).sent
    answer = client.post("/jobs/new/check", sent | {"name": "x", "gpus": "99"}).content.decode()
    assert 'id="said-gpus"' in answer and "At most 4 in partition gpu." in answer and "cannot be sent" in answer
    answer = client.post("/jobs/new/check", sent).content.decode()
    assert "Still to be filled in" in answer and 'id="id_name_error"' not in answer
    answer = client.post("/jobs/new/check", sent | {"name": "x", "begin": "never"}).content.decode()
    assert "cannot be sent" in answer and not Job.objects.exists()
    answer = client.post("/jobs/new/check", sent | {"name": "x", "script": BODY}).content.decode()
    assert "Valid request" in answer and "#SBATCH --job-name=x" in answer and "GPU·h" in answer


def test_cost_counts_every_task_of_an_array(client: Client) -> None:
    sent = Page(client).sent | {"name": "x", "gpus": "2", "time_limit_minutes": "60"}
    assert '<span data-part="cost">20</span>' in client.post("/jobs/new/check", sent | {"array": "1-10%2"}).text


def test_the_bar_of_what_is_left_ends_where_the_allocation_does(client: Client, bench: Bench) -> None:
    bench.submit(gpus=4, time_limit_minutes=1440)
    sent = Page(client).sent | {"name": "x", "gpus": "4", "time_limit_minutes": "1440", "array": "1-99"}
    text = client.post("/jobs/new/check", sent).text
    [(kind, begins, wide)] = re.findall(r'class="(this[^"]*)" x="([\d.]+)%" width="([\d.]+)%"', text)
    assert kind == "this bad" and float(begins) > 0 and float(begins) + float(wide) == 100


def test_the_first_tasks_of_a_table_show_their_variables(client: Client) -> None:
    table = "learning-rate,name\n0.1,it's\n0.2,b\n0.3,c\n0.4,d\n"
    sent = Page(client).sent | {"name": "x", "parameters": table}
    text = client.post("/jobs/new/check", sent).text
    assert "The first of 4 tasks begin with" in text and "PARAM_LEARNING_RATE=0.3 PARAM_NAME=c" in text
    assert html.escape("PARAM_NAME='it'\"'\"'s'") in text and "PARAM_NAME=d" not in text
    numbered = client.post("/jobs/new/check", sent | {"array": "7-13:2%1"}).text
    assert [f">{number}</span>" in numbered for number in (7, 9, 11, 13)] == [True, True, True, False]
    assert "tasks begin with" not in client.post("/jobs/new/check", sent | {"parameters": "a,a\n1"}).text


def test_the_first_commands_of_an_array_are_shown(client: Client) -> None:
    script = '#!/bin/bash\n# $PARAM_RATE\necho $PARAM_RATE\npython3 -u train.py --rate "$PARAM_RATE" \\\n  -n $SLURM_ARRAY_TASK_ID\n'
    sent = Page(client).sent | {"name": "x", "parameters": "rate\n0.1\n0.2", "script": script}
    text = client.post("/jobs/new/check", sent).text
    assert "python3 -u train.py --rate 0.1 -n 0</code>" in text and "--rate 0.2 -n 1</code>" in text
    plain = client.post("/jobs/new/check", sent | {"parameters": "", "array": "5-100%8"}).text
    assert "The first of 96 tasks begin with" in plain and "SLURM_ARRAY_TASK_ID=7" in plain
    assert html.escape('--rate "$PARAM_RATE" -n 5') in plain and "TASK_ID=8" not in plain
    for array in ("5-", "3-1", "x", "1-999999999"):
        assert client.post("/jobs/new/check", sent | {"parameters": "", "array": array}).status_code == 200


def test_environments_the_site_stands_for_are_offered_and_a_retired_one_warns(client: Client, bench: Bench) -> None:
    for version in ("2.5", "1.0"):
        presets.add_software(
            name="pytorch", version=version, modules="pytorch", validated_on=date(2026, 1, 1), by=bench.user
        )
    presets.retire_software(software=Software.objects.get(version="1.0"), why="It is old.", by=bench.user)
    page = Page(client)
    offered = client.get("/jobs/new/software", {"project": bench.project.code, "software": "pyt"}).content.decode()
    assert '<option value="pytorch@2.5">' in offered and '<option value="pytorch@1.0">' not in offered
    assert 'name="software" value="pyt"' in offered
    said = client.post("/jobs/new/check", page.sent | {"name": "x", "software": "pytorch@1.0"}).content.decode()
    assert "Valid request" in said and "is retired" in said and "It is old." in said


def test_a_stranger_learns_nothing(client: Client) -> None:
    assert client.post("/jobs/new/check", {"project": "no-such"}).status_code == 404
