"""Code in, results out, in a real browser on a real cluster: dropped, run, looked at, taken home; and by the command."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.portal import ROOT, address

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

# Reads its data, writes a picture and a checkpoint: with what every node has.
TRAIN = """\
import csv, hashlib, struct, sys, zlib

rows = [float(row["loss"]) for row in csv.DictReader(open(sys.argv[1]))]
for epoch, loss in enumerate(rows, 1):
    print(f"epoch {epoch}/{len(rows)}  loss {loss:.3f}", flush=True)

def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

width, height = 120, 60
lines = [b"\\0" + bytes(40 if height * rows[x * len(rows) // width] > height - y else 220 for x in range(width))
         for y in range(height)]
header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
with open("curve.png", "wb") as file:
    file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(lines)))
               + chunk(b"IEND", b""))
weights = struct.pack(f"{len(rows)}d", *rows) * 1000
open("model.ckpt", "wb").write(weights)
print("checkpoint", hashlib.sha256(weights).hexdigest(), flush=True)
print("done")
"""
DATA = "epoch,loss\n" + "".join(f"{n},{1 / n:.6f}\n" for n in range(1, 31))
SCRIPT = "#!/bin/bash\npython3 train.py data.csv\n"

# What a person does with the mouse: the files of a drop, in one event.
DROP = """([selector, files]) => {
  const held = new DataTransfer();
  for (const [name, text] of files) held.items.add(new File([text], name));
  const drop = (type) => new DragEvent(type, { dataTransfer: held, bubbles: true, cancelable: true });
  const target = document.querySelector(selector);
  for (const type of ["dragenter", "dragover", "drop"]) target.dispatchEvent(drop(type));
}"""


def fill(page: Page, name: str) -> None:
    """All of the form but script and files."""
    page.goto(address("/jobs/new?project=visao"))
    page.fill("input[name=name]", name)
    page.select_option("select[name=partition]", "prep")
    for field, value in {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 5}.items():
        page.fill(f"input[name={field}]", str(value))


def write(page: Page, script: str) -> None:
    """Into the editor."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(script)


def ended(page: Page) -> str:
    """Watch the job to its good end; the digest it printed."""
    viewer = page.locator("log-viewer")
    expect(viewer).to_contain_text("done", timeout=90_000)
    state = page.locator(".head .state, h1 ~ .state").first
    expect(state).to_have_text(re.compile("completed", re.IGNORECASE), timeout=60_000)
    found = re.search(r"checkpoint ([0-9a-f]{64})", viewer.inner_text())
    assert found
    return found[1]


def written(page: Page, name: str) -> Any:
    """The line of a file on the tab of what the job wrote."""
    page.get_by_role("link", name="Files", exact=True).last.click()
    line = page.locator(".filelist tr", has_text=name)
    expect(line).to_be_visible(timeout=30_000)
    return line


def taken(page: Page, line: Any) -> bytes:
    """What the download of a line brings."""
    with page.expect_download() as download:
        line.get_by_role("link", name=re.compile("Download")).click()
    return Path(download.value.path()).read_bytes()


def test_dropped_run_looked_at_and_taken_home(person: Any) -> None:
    page = person("davi")
    fill(page, f"dropped {int(time.time()) % 100_000}")
    write(page, SCRIPT)
    page.evaluate(DROP, ["attach-files", [["train.py", TRAIN], ["data.csv", DATA]]])
    expect(page.locator(".drop__item")).to_have_count(2)
    expect(page.locator("#request-head")).to_contain_text("/runs/")
    expect(page.locator(".advice__verdict.ok")).to_be_visible()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/jobs/0*")
    digest = ended(page)
    job = page.url.split("?")[0]
    line = written(page, "model.ckpt")
    expect(line).to_contain_text("training checkpoint")
    assert hashlib.sha256(taken(page, line)).hexdigest() == digest
    page.locator(".filelist a.name", has_text="curve.png").click()
    picture = page.locator(".preview__image img")
    expect(picture).to_be_visible()
    page.wait_for_function("document.querySelector('.preview__image img').naturalWidth === 120")
    page.goto(job + "?tab=files")
    page.get_by_role("link", name="Submit a job here").click()
    expect(page.locator("#id_folder")).to_have_value(re.compile("runs/.+-dropped"))


def test_what_is_wrong_with_a_file_keeps_the_others_and_the_form(person: Any) -> None:
    page = person("davi")
    fill(page, "wrong zip")
    write(page, SCRIPT)
    page.evaluate(DROP, ["attach-files", [["train.py", TRAIN], ["code.zip", "no zip"]]])
    page.keyboard.press("Control+Enter")
    expect(page.locator("#id_attach_error")).to_contain_text("code.zip", timeout=30_000)
    expect(page.locator("[data-takes-focus]")).to_be_focused()
    expect(page.locator(".drop__item")).to_have_count(2)
    expect(page.locator("input[name=name]")).to_have_value("wrong zip")
    page.get_by_role("button", name="Leave out: code.zip").click()
    page.evaluate(DROP, ["attach-files", [["data.csv", DATA]]])
    page.get_by_role("button", name="Submit job").last.click()
    page.wait_for_url("**/jobs/0*")
    ended(page)


def test_without_scripts_the_form_brings_them_as_well(person: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "data.csv").write_text(DATA)
    page = person("davi", java_script_enabled=False)
    fill(page, "plain form")
    page.fill("input[name=gpus]", "0")
    page.fill("textarea[name=script]", SCRIPT)
    page.set_input_files("input[name=attach]", [tmp_path / "train.py", tmp_path / "data.csv"])
    page.locator("aside button[type=submit]").first.click()
    page.wait_for_url("**/jobs/0*")
    watching = person("davi")
    watching.goto(page.url)
    ended(watching)


def test_a_job_that_waits_for_one_picked_by_keyboard(person: Any) -> None:
    page = person("davi")
    name = f"first {int(time.time()) % 100_000}"
    for each, script in ((name, "#!/bin/bash\nsleep 5\n"), ("second", "#!/bin/bash\ntrue\n")):
        fill(page, each)
        write(page, script)
        if each == "second":
            page.locator("summary", has_text="When it starts").press("Enter")
            search = page.locator("#pick-after-q")
            search.press_sequentially(name)
            expect(page.locator("#pick-after-rows .picks__row")).to_have_count(1, timeout=30_000)
            search.press("Enter")  # looks, and sends nothing
            search.press("Tab")
            page.keyboard.press("ArrowDown")
            expect(page.locator("#request-head")).to_contain_text("after=", timeout=30_000)
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/jobs/0*")
    expect(page.locator("main")).to_contain_text(name, timeout=30_000)  # drawn in its chain


def test_a_large_file_goes_up_in_growing_pieces_and_survives_a_break(person: Any, tmp_path: Path) -> None:
    page, offsets, names, mega = person("davi"), [], [], 1024 * 1024
    name = f"large-{os.urandom(4).hex()}.bin"
    (tmp_path / name).write_bytes(os.urandom(mega) * 40)

    def seen(route: Any) -> None:
        offsets.append(int(re.search(r"offset=(\d+)", route.request.url)[1]) // mega)
        route.abort() if len(offsets) == 2 else route.continue_()

    def named(route: Any) -> None:
        """It is being checked; then it is done and the answer is lost; then it is asked for again."""
        names.append(route.request.url)
        if len(names) == 1:
            route.fulfill(status=202, json={"status": 202, "checked": mega, "size": 40 * mega})
        elif len(names) == 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/files/piece?*", seen)
    page.route("**/files/finish?*", named)
    page.add_init_script("performance.now = () => 0")  # a line is swift, however busy the machine is
    page.goto(address("/projects/visao/files"))
    page.set_input_files("file-drop input[name=files]", tmp_path / name)
    page.locator(".drop__form button[type=submit]").click()
    expect(page.locator(".drop__said")).to_contain_text(re.compile("conferido|checked"), timeout=60_000)
    expect(page.locator(".filelist tr", has_text=name)).to_be_visible(timeout=60_000)
    assert (offsets, len(names)) == ([0, 8, 8, 16, 32], 3)
    line = page.locator(".filelist tr", has_text=name)
    assert taken(page, line) == (tmp_path / name).read_bytes()


def token(page: Page) -> str:
    """One that may read and submit, made on its page."""
    page.goto(address("/tokens"))
    page.fill("input[name=name]", "files story")
    for scope in ("read", "submit"):
        page.check(f"input[name=scopes][value={scope}]")
    page.get_by_role("button", name="Make a token").click()
    return page.locator("#secret").inner_text()


def test_the_same_by_the_command(person: Any, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text(TRAIN)
    (tmp_path / "src/data.csv").write_text(DATA)
    (tmp_path / "train.sh").write_text("#!/bin/bash\n#SBATCH --time=5\ncd src && python3 train.py data.csv\n")
    known = {"BANCADA_URL": address(""), "BANCADA_TOKEN": token(person("davi")), "PYTHONPATH": str(ROOT / "client")}
    done = subprocess.run(
        [sys.executable, "-m", "bancada.cli", "submit", "train.sh", "-p", "visao", "--partition", "prep",
         "--memory-gb", "1", "--attach", "src", "--follow", "--fetch", "out"],
        cwd=tmp_path, env={**os.environ, **known, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "epoch 30/30" in done.stdout
    digest = re.search(r"checkpoint ([0-9a-f]{64})", done.stdout)
    assert digest
    assert hashlib.sha256((tmp_path / "out/src/model.ckpt").read_bytes()).hexdigest() == digest[1]
    assert (tmp_path / "out/src/curve.png").read_bytes()[:4] == b"\x89PNG"
