"""Log files of a hostile owner: links, FIFOs, devices, strangers' files, and files swapped between look and open."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logs.owner import ANSWERS, Refusal, become, check_descriptor, open_no_follow
from tests.logs.house import OWNER, STRANGER, House, as_uid, wait_until

TRIES = 100_000
SECRET = b"another person's secret"


@pytest.fixture(scope="module")
def secret(opener: House) -> Path:
    """A file the owner of the job may not read."""
    path = opener.folder / "secret"
    path.write_bytes(SECRET)
    os.chown(path, STRANGER, STRANGER)
    path.chmod(0o600)
    return path


def test_a_log_that_is_a_link_is_not_followed_wherever_it_points(opener: House, secret: Path) -> None:
    own = opener.write("own", b"my own")
    for name, target in (("to-shadow", "/etc/shadow"), ("to-secret", secret), ("to-own", own), ("to-nothing", "/no")):
        (opener.output / name).symlink_to(target)
        assert opener.ask(opener.ticket(name)) == "not-regular"


def test_a_link_anywhere_on_the_path_is_not_followed(opener: House) -> None:
    opener.write("in-folder", b"x")
    link = opener.folder / "linked"
    link.symlink_to(opener.output)
    assert opener.ask(opener.ticket(link / "in-folder")) == "denied"
    assert opener.ask(opener.ticket(Path(f"/proc/self/root{opener.output}/in-folder"))) == "denied"
    assert opener.ask(opener.ticket(Path("/proc/self/environ"))) == "denied"


def test_a_fifo_a_socket_a_device_and_a_folder_are_not_logs(opener: House) -> None:
    os.mkfifo(opener.output / "fifo")
    os.mknod(opener.output / "zero", 0o20666, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(opener.output / "sock"))
        (opener.output / "folder").mkdir()
        for name in ("fifo", "zero", "sock", "folder"):
            os.chown(opener.output / name, OWNER, OWNER)
            started = time.monotonic()
            assert opener.ask(opener.ticket(name)) == "not-regular"
            assert time.monotonic() - started < 10
    assert opener.ask(opener.ticket(Path("/dev/null"))) == "not-regular"
    assert opener.ask(opener.ticket(Path("/etc/passwd/log"))) == "denied"


def test_a_strangers_file_is_refused_even_where_it_may_be_read(opener: House, secret: Path) -> None:
    assert opener.ask(opener.ticket(secret)) == "denied"
    readable = opener.write("readable", b"x", uid=STRANGER)
    readable.chmod(0o644)
    assert opener.ask(opener.ticket("readable")) == "not-owner"
    assert opener.ask(opener.ticket(Path("/etc/passwd"))) == "not-owner"


def test_a_hard_link_to_a_strangers_file_is_refused(opener: House, secret: Path) -> None:
    os.link(secret, opener.output / "hard")  # as with fs.protected_hardlinks off
    assert opener.ask(opener.ticket("hard")) == "denied"
    secret.chmod(0o644)
    try:
        assert opener.ask(opener.ticket("hard")) == "not-owner"
    finally:
        secret.chmod(0o600)


SWAP = """
import os, sys, time
folder, secret = sys.argv[1:]
os.chdir(folder)
while not os.path.exists("stop"):
    os.symlink(secret, "next"); os.rename("next", "raced")
    os.mkfifo("next"); os.rename("next", "raced")
    os.rename("inner", "aside"); os.symlink(os.path.dirname(secret), "inner")
    with open("next", "w") as file: file.write("good")
    os.rename("next", "raced")
    os.unlink("inner"); os.rename("aside", "inner")
"""


@pytest.fixture
def swapping(opener: House, secret: Path) -> Iterator[House]:
    """The owner's own process swaps file, link and FIFO, and the folder above for a link, as fast as it can."""
    inner = opener.output / "inner"
    inner.mkdir()
    os.chown(inner, OWNER, OWNER)
    (inner / "secret").write_bytes(b"good")
    os.chown(inner / "secret", OWNER, OWNER)
    swapper = subprocess.Popen(as_uid(OWNER, [sys.executable, "-c", SWAP, str(opener.output), str(secret)]), cwd="/")
    wait_until(lambda: os.path.lexists(opener.output / "raced"))
    yield opener
    (opener.output / "stop").touch()
    swapper.wait(10)
    for name in ("stop", "raced", "inner"):
        path = opener.output / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def run_race(attempt: Callable[[int], str], tries: int) -> Counter[str]:
    """At least so many attempts, and on (a minute at most) until the file and the folder were both seen swapped.

    Where the machine is busy the two processes may take turns for whole slices of time and hardly ever meet.
    """
    seen: Counter[str] = Counter()
    give_up = time.monotonic() + 60
    while seen.total() < tries or (not was_run(seen) and time.monotonic() < give_up):
        seen[attempt(seen.total())] += 1
    return seen


def was_run(seen: Counter[str]) -> bool:
    """Good bytes, a file that was none, and a folder that was none (or nothing) all turned up."""
    return seen["ok good"] > 0 and seen["not-regular"] > 0 and len(seen) >= 3


def check_race(seen: Counter[str]) -> None:
    """Nothing but the owner's own bytes came out, and the race was really run."""
    assert set(seen) <= {"ok good", "ok ", "not-regular", "denied", "missing"}, seen
    assert was_run(seen), f"the race was not run: {seen}"


def test_a_file_and_a_folder_swapped_in_a_loop_never_lead_anywhere_else(swapping: House) -> None:
    """TRIES at the very code that runs in the opener's child, as the owner."""
    paths = [str(swapping.output / name) for name in ("raced", "inner/secret")]
    back, front = os.pipe()
    if os.fork() == 0:
        try:
            become(OWNER, "dora")
            os.write(front, json.dumps(run_race(lambda turn: _try(paths[turn % 2]), TRIES)).encode())
        finally:
            os._exit(0)
    os.close(front)
    os.wait()
    check_race(Counter(json.loads(os.read(back, 65536))))
    os.close(back)


def _try(path: str) -> str:
    try:
        descriptor = open_no_follow(path)
        check_descriptor(descriptor, OWNER)
    except Refusal as refusal:
        return refusal.answer
    except OSError as error:
        return ANSWERS[error.errno]
    with os.fdopen(descriptor, "rb") as file:
        return f"ok {file.read().decode()}"


def test_nor_do_they_through_the_running_opener(swapping: House) -> None:
    raced, deep = swapping.ticket("raced"), swapping.ticket("inner/secret")
    check_race(run_race(lambda turn: swapping.ask(raced if turn % 2 else deep), TRIES // 400))


def test_what_went_wrong_is_told_apart(house: House) -> None:
    """F-14: not there yet, unreadable, gone."""
    ticket = house.ticket("later")
    assert house.reader.read(ticket, "stdout", 0, 10).state == "missing"
    house.write("later", b"now")
    time.sleep(1.1)
    assert house.reader.read(ticket, "stdout", 0, 10).data == b"now"
    (house.output / "later").unlink()
    time.sleep(1.1)
    assert house.reader.read(ticket, "stdout", 0, 10).state == "gone"
    house.write("shut", b"x").chmod(0)
    assert house.reader.read(house.ticket("shut"), "stdout", 0, 10).state == "denied"
    assert house.reader.read(house.ticket("later"), "stderr", 0, 10).state == "joined"
