"""A job's GPUs in a real browser, through agents, simulated driver and Prometheus: live, idle, lost, told at the end."""

from __future__ import annotations

import re
import subprocess
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.portal import ROOT, address, card, submit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

WORK = """#!/bin/bash
echo "{scene}" > /srv/var/run/scenes/$SLURM_JOB_ID
for n in $(seq 1 {seconds}); do echo "$(date -u +%H:%M:%S) step $n"; sleep 1; done
"""


def in_database(statement: str) -> None:
    """As the database's owner, inside the stack."""
    words = [
        "python3",
        "-m",
        "stack",
        "exec",
        "--var",
        str(card()["var"]),
        "--",
        "runuser",
        "-u",
        "bancada-postgres",
        "--",
    ]
    done = subprocess.run([*words, "psql", "-h", "/srv/var/run/pg", "-U", "postgres", "-d", "bancada", "-c", statement],
                          cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


def until(page: Page, path: str, text: str, seconds: float) -> None:
    """Load it anew until it says this."""
    deadline = time.monotonic() + seconds
    while True:
        page.goto(address(path))
        if re.search(text, page.inner_text("main")):
            return
        assert time.monotonic() < deadline, page.inner_text("main")
        page.wait_for_timeout(3000)


def test_gpus_are_live_idle_and_told_at_the_end_and_nobody_elses(person) -> None:
    davi = person("davi")
    path = submit(davi, name="gpus", script=WORK.format(scene="busy idle throttled", seconds=90), gpus=3)
    until(davi, path, r"(?s)GPU \d.*GPU \d.*GPU \d", 60)
    davi.goto(address(f"{path}?tab=gpus"))
    chart, nodes = davi.locator("gpu-chart").first, davi.locator("gpu-chart[data-of=nodes]")
    legend = chart.locator("[data-part=legend]")
    busy_then_idle = re.compile(r"GPU \d: [5-9]\d.*GPU \d: 0 %", re.DOTALL)  # whichever cards Slurm gave it
    expect(legend).to_contain_text(busy_then_idle, timeout=20_000)
    expect(chart.locator("[data-part=said]")).to_have_text("Live, a reading every second.")
    first = legend.inner_text()
    expect(legend).not_to_have_text(first, timeout=20_000)
    expect(chart.locator(".plot canvas")).to_have_count(4)
    expect(nodes).to_contain_text(
        re.compile(r"CPUs in use \d.*Memory without file cache \d", re.DOTALL), timeout=20_000
    )
    _the_moment(davi)
    nodes.get_by_text("The same as a table").click()
    expect(nodes.get_by_role("row")).not_to_have_count(1)
    _nobody_elses(person("gabi"), path)
    _idle_long_ago(davi, path)
    expect(davi.locator("#job-gpus")).to_contain_text("hot")
    expect(davi.locator(".tabs")).to_contain_text("1 idle")
    until(davi, f"{path}?tab=gpus", "Next time", 150)
    report = davi.locator("#gpu-report")
    expect(report).to_contain_text(re.compile(r"Of its 3 GPUs these did next to nothing: GPU \d\. Ask for 2 next time"))
    expect(davi.get_by_role("table").filter(has_text="Longest idle")).to_be_visible()
    expect(davi.locator("#node-report")).to_contain_text(re.compile(r"CPUs in use\s*\d"))


def _idle_long_ago(page: Page, path: str) -> None:
    """The idle card's clock is put back, as soon as the picture of the cards knows it to be idle."""
    deadline = time.monotonic() + 60
    while "idle for 22 min" not in page.inner_text("main"):
        assert time.monotonic() < deadline, page.inner_text("main")
        in_database(
            "UPDATE cluster_gpu SET idle_since = now() - interval '22 minutes 30 seconds'"
            " WHERE utilization = 0 AND slurm_jobs <> '{}'"
        )
        page.goto(address(path))
        page.wait_for_timeout(1000)


def _the_moment(page: Page) -> None:
    """A click on a moment of the chart leads to the line of the output."""
    box = page.locator(".plot .u-over").first.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    found = page.locator("[data-part=moment] a")
    expect(found).to_have_text(re.compile(r"\d\d:\d\d(:\d\d)?: line \d+ of the output"), timeout=10_000)
    assert re.search(r"#L\d+", found.get_attribute("href") or "")


def _nobody_elses(page: Page, path: str) -> None:
    """A member of another project sees that the GPUs are taken, and no more."""
    for where in (
        path,
        f"{path}/gpus",
        f"{path}?tab=gpus",
        f"/api/v1{path}/gpus",
        f"/api/v1{path}/gpus/summary",
        f"/api/v1{path}/usage",
    ):
        assert page.request.get(address(where)).status == 404, where
    page.goto(address("/cluster/"))
    boxes = page.locator("svg.boxes").evaluate_all("all => all.map((one) => one.getAttribute('aria-label')).join(' ')")
    assert "of others" in boxes and "yours" not in boxes
    assert "davi" not in page.inner_text("main")


def test_a_lost_card_is_shown_as_failing(person) -> None:
    davi = person("davi")
    path = submit(davi, name="lost", script=WORK.format(scene="lost", seconds=60), gpus=1)
    until(davi, path, "failing", 60)
    davi.goto(address("/cluster/"))
    label = davi.locator("svg.boxes[aria-label*='failing']")
    expect(label).to_have_count(1)
