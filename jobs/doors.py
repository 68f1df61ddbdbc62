"""The two doors of the submit form, preset and script: what a press of a button makes of what the form holds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from django import forms
from django.utils.translation import gettext as _

from jobs.forms import CORE, JobForm, of_preset
from jobs.services.importing.brought import Brought
from presets import services as presets
from presets.models import PresetVersion
from presets.rules import DEFAULT, HIDDEN, in_words, plain, settle
from projects.models import Project

ALWAYS = ("name", "partition")  # can be said whatever the preset says nothing of
ALSO = ("allocation", "datasets", "software")
LONGEST_KEPT = 400_000  # characters of what can be put back


class Fixed(NamedTuple):
    """A field that the preset fixes: what it says, and whether the form holds something else."""

    bound: forms.BoundField
    value: str
    differs: bool


@dataclasses.dataclass(slots=True)
class Doors:
    """Which door is open, which preset was chosen last, what was brought, and what stood in the form before."""

    project: Project
    brought: Brought
    is_preset: bool = False
    version: PresetVersion | None = None
    kept: str = ""
    refusal: str = ""  # why the preset named cannot be had

    @classmethod
    def of(cls, data: Mapping[str, Any], project: Project, brought: Brought) -> Doors:
        """As the form (or the address) says; a preset that is named without a door opens its own."""
        self = cls(project, brought, data.get("door") == "preset" or ("preset" in data and "door" not in data))
        self.kept = str(data.get("kept", ""))[:LONGEST_KEPT]
        self.choose(str(data.get("preset", ""))[:120])
        return self

    def choose(self, name: str) -> None:
        """Another preset; one that cannot be had leaves none, and says why."""
        self.version, self.refusal = None, ""
        if name.strip():
            try:
                self.version = presets.find(name, project=self.project)
            except presets.NoPreset as refusal:
                self.refusal, self.is_preset = str(refusal), False

    @property
    def name(self) -> str:
        """The preset that is to be applied, where its door is open."""
        return self.version.name if self.is_preset and self.version else ""

    @property
    def chosen(self) -> str:
        """The preset that was chosen last, whichever door is open."""
        return self.version.name if self.version else ""

    @property
    def rules(self) -> Mapping[str, Any]:
        """What the preset says, where its door is open."""
        return self.version.rules if self.is_preset and self.version else {}

    def press(self, act: str, values: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
        """What the form holds after this button; nothing that stood in it is lost."""
        word, _sign, rest = act.partition(":")
        match word:
            case "script":
                self.is_preset = False
                return self._whole(values)
            case "preset":
                self.is_preset = True
            case "use":
                self.is_preset = True
                self.choose((rest or str(data.get("choose", "")))[:120])
                return self.take(values)
            case "back":
                return self._back(values)
            case "read":
                return self._read(values)
            case "leave":
                self.brought.leave(str(values.get("script") or ""))
            case "undo" | "redo":
                return self.brought.changed(rest, values, undo=word == "undo")
            case "set":
                return values | {name: value for name, value in _pairs(rest) if name in JobForm.base_fields}
        return values

    def take(self, values: dict[str, Any]) -> dict[str, Any]:
        """The preset's values over what stood there, which is kept to be put back."""
        if self.version is None:
            return values
        self._keep(values)
        whole = values | of_preset(self.version)
        self.brought.leave(str(whole.get("script") or ""))
        return whole

    def _read(self, values: dict[str, Any]) -> dict[str, Any]:
        """The script's own lines for Slurm become fields; the door is the script's from here on."""
        found = self.brought.taken(values)
        if self.brought.text:
            self._keep(values)
            self.is_preset = bool(found.get("preset"))
            self.choose(str(found.pop("preset", "") or self.chosen))
        return found

    def _whole(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the preset would fill in stands in the form, so that the request stays the same."""
        said = of_preset(self.version) if self.version else {}
        return values | {name: value for name, value in said.items() if values.get(name) in (None, "", False)}

    def _keep(self, values: dict[str, Any]) -> None:
        """It can be put back."""
        self.kept = json.dumps(values)[:LONGEST_KEPT]

    def _back(self, values: dict[str, Any]) -> dict[str, Any]:
        try:
            kept = json.loads(self.kept)
        except ValueError:
            return values
        if not isinstance(kept, dict):
            return values
        self._keep(values)
        self.brought.text = ""
        names = JobForm.base_fields
        return values | {name: one for name, one in kept.items() if name in names and isinstance(one, str | bool | int)}

    def request(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The whole request that the fields make, whether or not the preset allows it."""
        return settle(self.rules, raw)[0] if self.rules else dict(raw)

    def fixed(self, form: JobForm) -> list[Fixed]:
        """What the preset fixes and shows, but the script."""
        found = []
        for name, rule in self.rules.items():
            if rule["mode"] not in (DEFAULT, HIDDEN) and name in form.fields and name != "script":
                found.append(Fixed(form[name], in_words(rule.get("value")), self._differs(form, name)))
        return found

    def differing(self, form: JobForm) -> list[str]:
        """The labels of fields that the preset fixes otherwise than the form has them."""
        fixed = [name for name, rule in self.rules.items() if rule["mode"] != DEFAULT and name in form.fields]
        return [str(form[name].label) for name in fixed if self._differs(form, name)]

    def _differs(self, form: JobForm, name: str) -> bool:
        held = plain(name, form[name].value())
        return held not in ("", False) and held != plain(name, self.rules[name].get("value"))

    def changeable(self, form: JobForm) -> list[str]:
        """The fields with a control of their own: those the preset lets be changed first, then what it is silent of."""
        rules = self.rules
        asked = [name for name in form.fields if name in rules and rules[name]["mode"] == DEFAULT]
        silent = [name for name in (*CORE, *ALSO) if name not in rules]
        first = [name for name in ALWAYS if name in (*asked, *silent)]
        return [name for name in dict.fromkeys([*first, *asked, *silent]) if name != "script"]

    def unseen(self, form: JobForm) -> list[forms.BoundField]:
        """What the form carries without a control: fixed, or hidden."""
        modes = {name: rule["mode"] for name, rule in self.rules.items()}
        return [form[name] for name in form.fields if modes.get(name, DEFAULT) != DEFAULT and name != "script"]

    @property
    def script_is_fixed(self) -> bool:
        """Whether the preset brings a script that stays as it is."""
        return self.rules.get("script", {}).get("mode", DEFAULT) != DEFAULT

    def faults(self, script: str) -> list[str]:
        """Why the script cannot be sent as it is: lines that nobody read, or that were refused."""
        if self.is_preset and self.script_is_fixed:
            return []
        if self.brought.unread(script):
            return [_("It has lines for Slurm that were not read: read them into the form, or leave them unread.")]
        return self.brought.in_the_way()


def held(form: JobForm, data: Any) -> dict[str, Any]:
    """What was sent, as the form would show it again."""
    return {name: field.widget.value_from_datadict(data, {}, name) or "" for name, field in form.fields.items()}


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, value) for name, sign, value in (one.partition("=") for one in text.split("&")) if sign]
