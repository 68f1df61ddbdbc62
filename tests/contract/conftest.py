"""Each contract test runs against the fake, and against a real stack where BANCADA_CONTRACT_STACK names its var."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.fake_lab import FakeLab
from tests.contract.lab import Lab
from tests.contract.pyslurm_lab import HalfFake, PyslurmLab, opened
from tests.contract.real_lab import RealLab

VAR = os.environ.get("BANCADA_CONTRACT_STACK", "")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> RealLab:
    folder = tmp_path_factory.mktemp("commands")
    folder.chmod(0o755)
    return RealLab(Path(VAR).resolve(), folder)


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HalfFake]:
    """Its child processes serve all the tests."""
    gateway, desk = opened(tmp_path_factory.mktemp("pyslurm"))
    yield gateway
    gateway.children.close()
    desk.shutdown()
    desk.server_close()


@pytest.fixture(params=["fake", "pyslurm", pytest.param("real", marks=pytest.mark.contract)])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Afterwards nothing of the test runs on."""
    if request.param == "fake":
        yield FakeLab()
        return
    if request.param == "pyslurm":
        yield PyslurmLab(request.getfixturevalue("native"))
        return
    if not VAR:
        pytest.skip("BANCADA_CONTRACT_STACK names no running stack")
    real: RealLab = request.getfixturevalue("real")
    yield real
    clear(real)


def clear(real: RealLab) -> None:
    """Cancel what is left and free its GPUs."""
    for who in (real.davi, real.felipe):
        real.inside_as_root("scancel", "--quiet", f"--user={who.user}")
    real.until(lambda: all(job.end_time for job in real.gateway.jobs()))
