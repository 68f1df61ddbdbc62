"""The main job end to end, over HTTP alone: python docker/story.py [ADDRESS] [--sign-ins var/stack.json].

A researcher signs in, submits the example training on one GPU, watches it to its end and reads its output by byte
offset; somebody of another project gets 404 everywhere; the auditor sees who did what. Exit 0 when all of it is true.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import Person
from websockets.exceptions import ConnectionClosed

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from stack import demo  # noqa: E402

RESEARCHER, STRANGER, AUDITOR, PROJECT = "davi", "felipe", "kenia", "visao"
PATIENCE = 180.0  # seconds from submit to end
BEGAN = time.monotonic()
WANTED = ("session.opened", "job.submitted", "job.accepted", "job.started", "job.ended")


def say(words: str) -> None:
    print(f"{time.monotonic() - BEGAN:6.1f} s  {words}", flush=True)


def must(true: object, words: str) -> None:
    if not true:
        raise SystemExit(f"NOT SO: {words}")
    say(words)


def script() -> str:
    """The example training as it is, ten short epochs of it."""
    text = (ROOT / "examples" / "train.sh").read_text()
    return text.replace("${EPOCHS:-30}", "${EPOCHS:-10}").replace("${PAUSE:-1}", "${PAUSE:-0.5}")


def submit(who: Person) -> str:
    """Fill in the submit page; the job's id."""
    page = who.link.get("/jobs/new", params={"project": PROJECT})
    read = who.send(page, who.form(page, "script"), script=script(), act="read")
    form = who.form(read, "script")
    asked = {"name": "digits", "partition": "gpu", "gpu_type": "a100", "gpus": "1", "memory_gb": "1"}
    must({name: form.fields.get(name) for name in asked} == asked, "the lines for sbatch are read into the fields")
    answer = who.send(read, form, name="story", cpus="2")
    must(answer.status_code == 200 and answer.history, f"the submit page leads to the job's page, {answer.url.path}")
    job = answer.url.path.strip("/").split("/")[-1]
    again = who.send(read, form, name="story", cpus="2")
    must(again.url == answer.url, "sending the form twice makes one job")
    return job


class Log:
    """The job's output as read so far, by byte offset."""

    def __init__(self, who: Person, job: str) -> None:
        self.who, self.path, self.data, self.reads = who, f"/api/v1/jobs/{job}/log", b"", 0

    def read(self) -> None:
        answer = self.who.link.get(self.path, params={"stream": "stdout", "offset": len(self.data), "limit": 4096})
        if answer.status_code != 200:
            raise SystemExit(f"NOT SO: the output can be read ({answer.status_code}: {answer.text[:200]})")
        if answer.content and int(answer.headers["X-Log-Offset"]) != len(self.data):
            raise SystemExit("NOT SO: the output comes without a gap")
        self.data += answer.content
        self.reads += bool(answer.content)


class Live(threading.Thread):
    """The same output through the socket, as an open job page gets it, until the socket closes."""

    def __init__(self, who: Person, job: str) -> None:
        super().__init__(daemon=True)
        self.opening, self.data, self.frames = who.socket(f"/ws/jobs/{job}/log"), b"", 0
        self.start()

    def run(self) -> None:
        with self.opening as self.socket, contextlib.suppress(ConnectionClosed):
            self.socket.send(json.dumps({"type": "watch", "stream": "stdout", "offset": 0}))
            for piece in self.socket:
                if isinstance(piece, bytes):
                    self.data += piece
                    self.frames += 1


def watch(who: Person, job: str, log: Log) -> Iterator[dict[str, Any]]:
    """The job each time its state changed, until it is over; the output is read along the way."""
    deadline, last = time.monotonic() + PATIENCE, ""
    while time.monotonic() < deadline:
        row = who.api(f"/jobs/{job}")
        if row["state"] != last:
            last = row["state"]
            say(f"state {last} ({row['state_label']}) {row['reason_label']} {row['node_list']}".rstrip())
            yield row
        if row["started_at"]:
            log.read()
        if row["ended_at"] or last in ("refused", "lost"):
            return
        time.sleep(0.5)
    raise SystemExit(f"NOT SO: the job ends within {PATIENCE:.0f} s (it is {last})")


def follow(who: Person, job: str) -> None:
    log, live = Log(who, job), Live(who, job)
    rows = list(watch(who, job, log))
    end = rows[-1]
    must("running" in [row["state"] for row in rows], "it was seen running")
    must(end["state"] == "completed" and end["exit_code"] == 0, f"it completed with exit code {end['exit_code']}")
    must(end["allocated_gpus"] == 1, f"Slurm job {end['slurm_job_id']} had 1 GPU on {end['node_list']}")
    while before := len(log.data):
        log.read()
        if len(log.data) == before:
            break
    must(b"accuracy" in log.data and b"done" in log.data, f"{len(log.data)} bytes of output in {log.reads} reads")
    whole = who.link.get(f"/jobs/{job}/log/download")
    must(whole.content == log.data, "the download is the same, byte for byte")
    deadline = time.monotonic() + 10
    while len(live.data) < len(log.data) and time.monotonic() < deadline:
        time.sleep(0.1)
    live.socket.close()
    must(live.data == log.data, f"so is what the socket brought, in {live.frames} frames")


def strange(who: Person, job: str) -> None:
    """Somebody of another project: the same answer as for a job that does not exist."""
    pages = ("", "/live", "/log", "/log/find?q=a", "/log/download")
    paths = [f"/jobs/{job}{page}" for page in pages]
    paths += [f"/api/v1/jobs/{job}", f"/api/v1/jobs/{job}/log", f"/projects/{PROJECT}", f"/api/v1/projects/{PROJECT}"]
    answers = {path: who.link.get(path).status_code for path in paths}
    must(set(answers.values()) == {404}, f"{who.user} gets 404 at {len(answers)} addresses of it" + others(answers))
    codes = [closing(who, f"/ws/jobs/{job}{path}") for path in ("", "/log")]
    must(codes == [4404, 4404], f"and its sockets close at once: {codes}")
    nobody = who.link.get("/jobs/00000000-0000-7000-8000-000000000000").status_code
    must(nobody == 404, "as for a job that does not exist")


def others(answers: dict[str, int]) -> str:
    return "".join(f"; not at {path}: {status}" for path, status in answers.items() if status != 404)


def closing(who: Person, path: str) -> int | None:
    """The code a socket is closed with at once; None while it stays open."""
    with contextlib.suppress(TimeoutError):
        try:
            with who.socket(path) as socket:
                socket.recv(timeout=5)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None
    return None


def audited(who: Person, job: str) -> None:
    """The trail names who did what, and that somebody was refused."""
    rows = who.api("/audit/events", limit=200)["items"]
    about = {row["action"]: row for row in rows if row["subject_id"] == job or row["action"] == "session.opened"}
    missing = [action for action in WANTED if action not in about]
    must(not missing, f"the auditor sees {', '.join(sorted(about))}" + (f"; missing: {missing}" if missing else ""))
    must(about["job.submitted"]["actor"] == RESEARCHER, f"and that {RESEARCHER} submitted it")
    refused = [row for row in rows if row["actor"] == STRANGER and row["outcome"] == "refused"]
    must(refused, f"and that {STRANGER} was refused {len(refused)} times")


def passwords(file: Path | None) -> dict[str, str]:
    """User to password, from var/stack.json or the demo's own table."""
    if file:
        return {row["user"]: row["password"] for row in json.loads(file.read_text())["sign_ins"]}
    return {person.user: person.password for person in demo.PEOPLE}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", default="http://127.0.0.1:8600")
    parser.add_argument("--sign-ins", type=Path, help="var/stack.json of a stack; default: the demo's people")
    args = parser.parse_args()
    known = passwords(args.sign_ins)
    researcher, stranger, auditor = (
        Person(args.address, user, known[user]) for user in (RESEARCHER, STRANGER, AUDITOR)
    )
    say(f"signed in as {RESEARCHER}, {STRANGER} and {AUDITOR} at {args.address}")
    job = submit(researcher)
    follow(researcher, job)
    strange(stranger, job)
    audited(auditor, job)
    say("the story is true")
    return 0


if __name__ == "__main__":
    sys.exit(main())
