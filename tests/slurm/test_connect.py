"""Addresses, and what the ground may import."""

import subprocess
import sys
from pathlib import Path

import pytest

import slurm
from slurm import fake
from slurm.fake.gateway import FakeGateway
from slurm.rest import RestGateway
from slurm.sacctmgr import Sacctmgr


def test_rest_opens_nothing_before_the_first_call() -> None:
    gateway = slurm.connect("rest+unix:///nowhere/rest.sock", signer="/nowhere", conf="/etc/x.conf", deadline=3)
    assert isinstance(gateway, RestGateway)
    assert (gateway.commands.conf, gateway.commands.deadline) == ("/etc/x.conf", 3)
    assert isinstance(slurm.accounts("rest+unix:///nowhere/rest.sock", signer=Path("/nowhere")), Sacctmgr)


def test_fakes_of_one_name_are_one_cluster() -> None:
    first, second = slurm.connect("fake:one"), slurm.connect("fake:one")
    assert isinstance(first, FakeGateway) and isinstance(second, FakeGateway)
    assert first.cluster is second.cluster is fake.named("one")
    assert slurm.connect("fake:two").cluster is not first.cluster  # type: ignore[attr-defined]
    first.cluster.add_user("ana")
    assert fake.reset("one") is first.cluster and first.cluster.users == {}


@pytest.mark.parametrize("url", ["", "http://x", "rest:///x", "unix:///x", "fake", "/run/rest.sock"])
def test_no_address(url: str) -> None:
    for open_ in (slurm.connect, slurm.accounts):
        with pytest.raises(ValueError, match="not an address"):
            open_(url)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("slurm", ("httpx", "jwt", "django", "slurm.fake", "slurm.rest")),
        ("slurm.signer", ("httpx", "django", "slurm.rest", "slurm.fake")),
        ("slurm.rest", ("django", "jwt", "slurm.fake")),
        ("slurm.native.gateway", ("django", "jwt", "pyslurm", "slurm.fake", "slurm.rest")),
    ],
)
def test_each_imports_only_what_it_needs(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
