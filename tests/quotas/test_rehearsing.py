"""The dry run says before a pass exactly what the pass then tells Slurm, in every mode and within the same cap."""

from __future__ import annotations

from io import StringIO
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command
from django.utils import timezone

from access.roles import SiteRole
from projects import services as projects
from projects.models import Project
from quotas import services as quotas
from quotas.models import Enforcement
from quotas.services import applying, reconciling, seen
from quotas.services.rehearsing import rehearse
from slurm import fake
from slurm.books import Association
from tests.factories import make_allocation, make_member, make_project, make_user
from tests.pages import signed_in

pytestmark = pytest.mark.django_db


def told(slurm: fake.Cluster) -> list[dict[str, Any]]:
    """What a pass carries out, in its order."""
    kind, said = type(slurm.accounts()), []
    real = kind.carry_out

    def noted(self: Any, steps: Any) -> Any:
        said.extend(map(seen.step_line, steps))
        return real(self, steps)

    with mock.patch.object(kind, "carry_out", noted):
        reconciling.reconcile()
    return said


def foreseen() -> list[dict[str, Any]]:
    return [step for one in rehearse() for step in one.steps]


def alike(steps: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, steps))


def meddle(slurm: fake.Cluster, project: Project, people: int) -> None:
    """Another hand lets strangers in."""
    for number in range(people):
        row = Association(project.slurm_account, f"guest{number}", "gpu", frozenset({"normal"}), "normal")
        slurm.associations[row.key] = row


@pytest.mark.parametrize(("mode", "passes"), [("restore", [3, 3, 3, 1]), ("report", [3, 3, 0]), ("observe", [0])])
def test_a_pass_does_what_was_foreseen_and_one_cap_counts_for_all_projects(
    slurm: fake.Cluster, settings: Any, mode: str, passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "AT_A_TIME", 1)  # each project a batch of its own
    ours = [make_project(f"ours{n}", partitions=["gpu"]) for n in range(2)]
    theirs = make_project("theirs", partitions=["gpu"])
    for project in (*ours, theirs):
        make_allocation(project)
    for project in ours:
        for _ in range(3):
            make_member(project)
    while applying.apply():
        pass
    meddle(slurm, theirs, 4)
    settings.RECONCILE = "observe"
    reconciling.reconcile()  # only looks
    for project in ours:
        project.memberships.update(ends_at=timezone.now())
    settings.RECONCILE, settings.REMOVALS_PER_PASS = mode, 3
    for expected in passes:
        before = foreseen()
        assert sum(step["removes"] for step in before) == expected
        assert alike(told(slurm)) == alike(before)


def test_over_the_cap_is_said_and_so_is_the_cause(project: Project, slurm: fake.Cluster, settings: Any) -> None:
    make_allocation(project)
    for _ in range(2):
        make_member(project)
    applying.apply()
    settings.REMOVALS_PER_PASS = 1
    project.memberships.update(ends_at=timezone.now())
    [one] = rehearse()
    assert one.is_ours and len(one.steps) == 1 and len(one.waiting) == 3 and not one.shown
    admin = signed_in(make_user(site_role=SiteRole.OPERATOR))
    text = admin.get("/operate/dry-run", headers={"Accept-Language": "en"}).content.decode()
    assert "over the cap on removals" in text and "Cause: the portal's own change." in text
    said = admin.get("/api/v1/dry-run").json()
    assert said["removals_per_pass"] == 1 and len(said["projects"][0]["over_the_cap"]) == 3
    csv = b"".join(admin.get("/operate/dry-run.csv", headers={"Accept-Language": "en"}).streaming_content).decode()
    assert csv.count("over the cap") in (2, 3)  # what is alike on two queues is said once
    shell = StringIO()
    call_command("limits", dry_run=True, stdout=shell)
    assert shell.getvalue().count("over the cap: stop_user") == 3


def test_another_hands_change_is_resolved_from_the_dry_run(project: Project, slurm: fake.Cluster) -> None:
    allocation = make_allocation(project, gpus_at_once=8)
    applying.apply()
    quotas.change_allocation(allocation=allocation, by=None, gpus_at_once=9)
    applying.apply()
    row = slurm.qos[allocation.qos]
    slurm.qos[allocation.qos] = type(row)(**{name: getattr(row, name) for name in ("name", "deny_on_limit")})
    reconciling.reconcile()
    admin = signed_in(make_user(site_role=SiteRole.OPERATOR))
    text = admin.get("/operate/dry-run", headers={"Accept-Language": "en"}).content.decode()
    assert "Shown only" in text and "Take over Slurm's limits" in text and "Put Slurm back" in text
    admin.post(f"/operate/differences/{project.code}", {"act": "restore"})
    [one] = rehearse()
    assert one.is_ours and one.steps and not one.shown
    assert alike(told(slurm)) == alike(list(one.steps)) and rehearse() == []


def test_whom_the_cluster_does_not_know_is_left_as_they_are(project: Project, slurm: fake.Cluster) -> None:
    make_allocation(project)
    make_member(project, username="nobody1")
    applying.apply()
    projects.touched(project)
    assert Enforcement.objects.get().ticks["login"]["missing"] == ["nobody1"]
    assert alike(foreseen()) == alike(told(slurm)) == []


def test_a_pass_in_which_nothing_changed_asks_slurm_once_however_many_projects(slurm: fake.Cluster) -> None:
    """The benchmark G1 counts the commands behind it, with 1,000 projects of ten people in slurmdbd."""
    asked = []
    for more in (1, 5):
        for _ in range(more):
            project = make_project(partitions=["gpu"])
            make_allocation(project)
            make_member(project)
        while applying.apply():
            pass
        reconciling.reconcile()
        kind = type(slurm.accounts())
        with (
            mock.patch.object(kind, "books", autospec=True, side_effect=kind.books) as books,
            mock.patch.object(kind, "carry_out") as told,
        ):
            assert reconciling.reconcile() == 0
        asked.append((books.call_count, told.call_count))
    assert asked == [(1, 0), (1, 0)]
