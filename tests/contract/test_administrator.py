"""What the portal does as Slurm's administrator to other people's jobs."""

from __future__ import annotations

import pytest

from slurm.contract import Refused
from tests.contract.lab import Lab
from tests.contract.test_accounts import submit


def test_what_an_administrator_holds_its_owner_cannot_release(lab: Lab) -> None:
    job_id = submit(lab, "visao")
    lab.accounts.hold_any(job_id)
    record = lab.gateway.job(job_id)
    assert record is not None and record.reason == "JobHeldAdmin"
    with pytest.raises(Refused):
        lab.gateway.release(job_id, as_user="davi")
    lab.accounts.cancel_any(job_id)
