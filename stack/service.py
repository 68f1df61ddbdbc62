"""What the supervisor knows of one process: how it is prepared, started, seen to be ready and stopped."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable, Mapping, Sequence

from stack.fault import Fault


def always() -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class Service:
    """One process. Its functions run as root inside the namespace, where all paths start with /srv."""

    name: str
    argv: Sequence[str]
    user: str = "root"
    after: Sequence[str] = ()  # services that must be ready before
    sets: Sequence[str] = ()  # names that stand for several services: "slurm", "portal"
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    prepare: Callable[[], None] | None = None  # before each start
    ready: Callable[[], bool] = always
    finish: Callable[[], None] | None = None  # once ready
    restart: bool = False  # start again, with growing pauses, when it ends by itself
    port: str = ""  # name of its TCP port
    umask: int = 0o022
    cwd: str = "/srv"
    stop: signal.Signals = signal.SIGTERM
    patience: float = 30.0  # seconds until ready
    grace: float = 10.0  # seconds from stop signal to SIGKILL


def closure(services: Sequence[Service], names: Sequence[str]) -> list[Service]:
    """The services of these names (or sets of names) and all they need, in starting order. Empty: all of them."""
    known = {service.name: service for service in services}
    chosen: dict[str, Service] = {}

    def take(service: Service) -> None:
        for name in service.after:
            take(known[name])
        chosen.setdefault(service.name, service)

    for service in services:
        if not names or service.name in names or set(service.sets) & set(names):
            take(service)
    return list(chosen.values())


def choose(services: Sequence[Service], names: Sequence[str]) -> list[Service]:
    """`closure`, but a name that stands for nothing raises Fault."""
    known = {service.name for service in services} | {name for service in services for name in service.sets}
    for name in names:
        if name not in known:
            raise Fault(f"There is no service {name}.")
    return closure(services, names)
