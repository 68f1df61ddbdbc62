"""The supervisor: alone in the stack's mount namespace it starts, watches, restarts and stops every process."""

from __future__ import annotations

import concurrent.futures
import json
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from stack import keys, namespace, pidfile, shell
from stack.child import Child
from stack.fault import Fault
from stack.layout import Stack
from stack.service import Service, choose
from stack.table import table

CONTROL = "/srv/var/run/control.sock"
STATUS = Path("/srv/var/run/status.json")
Report = Callable[[str], None]


class Supervisor:
    """Children by name, and the loop that looks after them."""

    def __init__(self, services: Iterable[Service]) -> None:
        self.children = {service.name: Child(service) for service in services}
        self.leaving = False

    # --- starting and stopping

    def start(self, names: list[str], report: Report) -> None:
        """Start these and all they need, each as soon as what it needs is ready."""
        wanted = choose([child.service for child in self.children.values()], names)
        cold = [s.name for s in wanted if not self.children[s.name].alive]
        ready = {name: threading.Event() for name in cold}
        with concurrent.futures.ThreadPoolExecutor(max(1, len(cold))) as pool:
            work = [pool.submit(self._bring_up, self.children[name], ready, report) for name in cold]
        self.write_status()
        faults = [str(fault) for job in work if (fault := job.exception())]
        if faults:
            raise Fault(faults[0])

    def _bring_up(self, child: Child, ready: dict[str, threading.Event], report: Report) -> None:
        begin = time.monotonic()
        try:
            for name in child.service.after:
                if name in ready:
                    ready[name].wait()
                    if self.children[name].state != "ready":
                        return
            begin = time.monotonic()
            child.bring_up(lambda: self.leaving)
            report(f"{child.service.name:<16} ready  {time.monotonic() - begin:5.1f} s")
        finally:
            ready[child.service.name].set()

    def stop(self, names: list[str], report: Report) -> None:
        """Stop these and all that need them: always those first that nobody running needs."""
        left = self._with_dependents(names)
        while left:
            free = [c for c in left if not any(c.service.name in other.service.after for other in left)]
            for child in free:
                child.ask_to_stop()
            for child in free:
                child.see_off()
                report(f"{child.service.name:<16} stopped")
            left = [child for child in left if child not in free]
        self.write_status()

    def _with_dependents(self, names: list[str]) -> list[Child]:
        chosen = {n for n, c in self.children.items() if n in names or set(c.service.sets) & set(names) or not names}
        for name, child in self.children.items():  # the table is in starting order
            if chosen & set(child.service.after) and not set(names) & {name}:
                chosen.add(name)
        return [child for name, child in self.children.items() if name in chosen and child.process]

    # --- looking after

    def tend(self) -> None:
        """Notice what ended by itself and start again what is due."""
        for child in self.children.values():
            if child.process and child.state in ("ready", "starting") and not child.alive:
                child.notice_end()
                self.write_status()
            if child.state == "waiting" and time.monotonic() >= child.next_try:
                self._again(child)

    def _again(self, child: Child) -> None:
        try:
            if child.service.prepare:
                child.service.prepare()
            child.spawn()
            child.state = "ready"
        except (Fault, OSError) as why:
            child.note, child.next_try = str(why), time.monotonic() + 30
        self.write_status()

    def write_status(self) -> None:
        rows = {name: _row(child) for name, child in self.children.items() if child.state != "stopped"}
        shell.write(STATUS, json.dumps(rows, indent=1))

    # --- being asked

    def answer(self, link: socket.socket) -> None:
        """One request a connection: a line of JSON; progress lines go back, the last starts with "ok" or "fault"."""
        lock = threading.Lock()

        def report(line: str) -> None:
            with lock:
                link.sendall(line.encode() + b"\n")

        request = json.loads(link.makefile().readline())
        try:
            {"start": self.start, "stop": self.stop}[request["do"]](request["names"], report)
            report("ok")
        except (Fault, KeyError) as why:
            report(f"fault {why}")

    def loop(self, door: socket.socket) -> None:
        """Until told to leave. A child's end wakes it (SIGCHLD), so that what died is back without a pause."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self.leaving:
            self.tend()
            heard = select.select([door, woken], [], [], 0.5)[0]
            if woken in heard:
                woken.recv(4096)
            if door in heard:
                link = door.accept()[0]
                with link:
                    try:
                        self.answer(link)
                    except (OSError, ValueError) as why:
                        print(f"a request broke off: {why}", flush=True)
        self.stop([], print)


def _row(child: Child) -> dict[str, object]:
    pid = child.process.pid if child.alive and child.process else None
    return {"state": child.state, "pid": pid, "crashes": child.crashes, "note": child.note}


def serve(stack: Stack) -> None:
    """The whole life of a supervisor process."""
    os.umask(0o022)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 16384)), hard))
    namespace.build(stack)
    keys.prepare(f"{stack.host('prometheus')}:{stack.tcp('prometheus')}")
    supervisor = Supervisor(table(stack))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(supervisor, "leaving", True))
    with socket.socket(socket.AF_UNIX) as door:
        Path(CONTROL).unlink(missing_ok=True)
        door.bind(CONTROL)
        Path(CONTROL).chmod(0o600)
        door.listen(8)
        pidfile.write(shell.VAR / "run/pid/supervisor", os.getpid())
        supervisor.loop(door)
    Path(CONTROL).unlink(missing_ok=True)
