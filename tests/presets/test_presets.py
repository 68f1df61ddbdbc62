"""Presets: who may make them, that no version changes, what a request makes of one; environments."""

from __future__ import annotations

import copy

import pytest
from django.core.exceptions import ValidationError
from django.db import ProgrammingError, transaction
from django.db.models import Model
from django.utils import translation

from access import gate
from access.errors import NotFound, Refused
from access.permissions import Permission
from accounts.models import User
from audit.actions import Action
from audit.models import AuditEvent
from presets import services
from presets.models import Preset, PresetVersion
from presets.services.applying import offered
from tests.presets.conftest import RULES, Bench


def last(action: Action) -> AuditEvent:
    return AuditEvent.objects.filter(action=action).latest("pk")


def can(row: Model, user: User) -> bool:
    return gate.can(row, user, Permission.PRESET_MANAGE)


def test_who_may_change_which(bench: Bench) -> None:
    own, site = bench.own.preset, bench.site.preset
    assert can(own, bench.pi) and can(own, bench.manager) and can(own, bench.operator)
    assert not can(own, bench.member) and not can(own, bench.other)
    assert can(site, bench.operator) and not can(site, bench.pi) and not can(site, bench.manager)


def test_everybody_sees_the_sites_and_members_their_own(bench: Bench) -> None:
    def seen(user: User) -> set[str]:
        return {row.code for row in gate.allowing(Preset.objects.all(), user, Permission.PROJECT_VIEW)}

    assert seen(bench.member) == {"single", "ours"} and seen(bench.other) == {"single"}
    with pytest.raises(NotFound):
        gate.fetch(Preset.objects.all(), bench.other, Permission.PRESET_MANAGE, pk=bench.own.preset_id)
    with pytest.raises(Refused):
        gate.fetch(Preset.objects.all(), bench.other, Permission.PRESET_MANAGE, pk=bench.site.preset_id)


def test_a_change_is_another_version_with_before_and_after(bench: Bench) -> None:
    changed = copy.deepcopy(RULES)
    changed["gpus"]["max"] = 4
    row = services.change(preset=bench.own.preset, title="Ours", rules=changed, by=bench.pi)
    assert row.number == 2 and PresetVersion.objects.get(preset=row.preset, number=1).rules == RULES
    event = last(Action.PRESET_CHANGED)
    assert event.detail["before"] == {"gpus": RULES["gpus"]} and event.detail["after"] == {"gpus": changed["gpus"]}
    again = services.change(preset=bench.own.preset, title="Ours", rules=changed, by=bench.pi)
    assert again.pk == row.pk, "the same again is no other version"


def test_the_trail_keeps_of_a_script_its_digest(bench: Bench) -> None:
    assert last(Action.PRESET_ADDED).detail["after"]["script"]["value"].startswith("sha256:")


def test_no_version_is_changed_or_taken_out(bench: Bench) -> None:
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        PresetVersion.objects.filter(pk=bench.own.pk).update(title="Another")
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        PresetVersion.objects.filter(pk=bench.own.pk).delete()
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        Preset.objects.filter(pk=bench.own.preset_id).update(code="another")


def test_rules_that_cannot_be_make_no_preset(bench: Bench) -> None:
    with pytest.raises(services.WrongRules) as wrong:
        bench.preset("bad", rules={"gpus": {"mode": "default", "min": 4, "max": 1}})
    assert list(wrong.value.errors) == ["gpus"] and not Preset.objects.filter(code="bad").exists()
    with pytest.raises(ValidationError):
        bench.preset("single")  # there is one of this name
    bench.preset("single", project=bench.project)  # a project's own is another


def test_a_preset_is_found_by_its_name(bench: Bench) -> None:
    def find(name: str) -> PresetVersion:
        return services.find(name, project=bench.project)

    newest = services.change(preset=bench.site.preset, title="New", rules=RULES, by=bench.operator)
    assert find("single") == newest and find("single@1") == bench.site and find("visao/ours@1") == bench.own
    for name in ("ours", "single@9", "single@x", "atlas/ours", "", "x\x00", "visao/single", "single@1@1"):
        with pytest.raises(services.NoPreset):
            find(name)
    theirs = bench.preset("theirs", project=bench.other.memberships.get().project)
    with pytest.raises(services.NoPreset):
        find(theirs.name)


def test_a_retired_preset_is_not_offered_and_says_so(bench: Bench) -> None:
    services.retire(preset=bench.site.preset, by=bench.operator, why="replaced")
    services.retire(preset=bench.site.preset, by=bench.operator)
    assert AuditEvent.objects.filter(action=Action.PRESET_RETIRED).count() == 1
    assert [row.code for row in offered(bench.project)] == ["ours"]
    with translation.override("en"), pytest.raises(services.NoPreset, match="retired"):
        services.find("single@1", project=bench.project)
    services.offer_again(preset=bench.site.preset, by=bench.operator)
    assert [row.code for row in offered(bench.project)] == ["ours", "single"]


def test_apply_gives_the_request_or_names_each_wrong_field(bench: Bench) -> None:
    raw = services.apply(bench.site, {"name": "run", "cpus": 2})
    assert raw["preset"] == "single@1" and raw["gpus"] == 1 and raw["cpus"] == 2
    with pytest.raises(services.WrongFields) as wrong:
        services.apply(bench.site, {"gpus": 3, "nodes": 2})
    assert set(wrong.value.errors) == {"gpus", "nodes"}


def test_software_is_modules_or_an_image_by_digest(bench: Bench) -> None:
    row = bench.software()
    assert (
        row.line == "module load cuda/12.4 pytorch/2.5" and services.software("pytorch", project=bench.project) == row
    )
    image = bench.software(name="nemo", modules="", image="nvcr.io/nvidia/nemo@sha256:" + "a" * 64)
    assert "docker://nvcr.io" in image.line
    for bad in ({"modules": ""}, {"modules": "x; rm -rf ~"}, {"modules": "", "image": "nemo:latest"}, {"name": "A B"}):
        with pytest.raises(ValidationError):
            bench.software(**({"version": "9"} | bad))
    with pytest.raises(ValidationError):
        bench.software()  # the same once more


def test_a_retired_environment_is_found_by_its_version_only(bench: Bench) -> None:
    row = services.retire_software(software=bench.software(), by=bench.operator, why="CUDA too old")
    assert services.software("pytorch@2.5", project=bench.project) == row and row.retired_why == "CUDA too old"
    with pytest.raises(services.NoSoftware):
        services.software("pytorch", project=bench.project)
    services.offer_software_again(software=row, by=bench.operator)
    changed = services.change_software(software=row, by=bench.operator, cuda="12.4")
    assert services.software("pytorch", project=bench.project) == changed
    assert last(Action.SOFTWARE_CHANGED).detail["after"] == {"cuda": "12.4"}
