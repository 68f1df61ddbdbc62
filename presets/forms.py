"""What people type about presets and environments."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.models import fields_for_model, model_to_dict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from presets.models import Preset, PresetVersion, Software
from presets.rules import FIELDS, MODES, Kind
from presets.services.validated import CHANGEABLE
from projects.forms import DayInput

_MODES: list[Any] = [("", _("not in the preset")), *MODES.items()]
_SWITCH: list[Any] = [("", "–"), ("yes", _("yes")), ("no", _("no"))]
_LABELS: Any = {"code": _("Code")}
_HELP: Any = {
    "modules": _("What stands behind `module load`, for example cuda/12.4 pytorch/2.5."),
    "image": _("By its digest, so that it stays the same: name@sha256:…"),
    "driver": _("The oldest driver of the GPUs it runs with."),
    "frameworks": _("A line each, like PyTorch 2.5.1."),
    "validated_on": _("The day on which somebody saw it work here."),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """What a form says of one field of a request."""

    field: str
    label: Any
    mode: forms.BoundField
    value: forms.BoundField
    least: forms.BoundField | None
    most: forms.BoundField | None
    choices: forms.BoundField | None

    @property
    def errors(self) -> list[str]:
        """All of them: they stand together below the row."""
        return [str(one) for one in self.value.errors]


class PresetForm(forms.Form):
    """A version: title, purpose, and what it says of each field."""

    title = forms.CharField(label=_("Title"), max_length=80)
    about = forms.CharField(label=_("What it is for"), max_length=300, required=False)

    def __init__(self, *args: Any, version: PresetVersion | None = None, **kwargs: Any) -> None:
        if version is not None:
            kwargs.setdefault("initial", _initial(version))
        super().__init__(*args, **kwargs)
        if version is None:
            self.fields |= fields_for_model(Preset, ("code",), labels=_LABELS)
            self.order_fields(["code", "title"])
        for name, (kind, label) in FIELDS.items():
            for part, field in _row_fields(name, kind, label):
                field.widget.attrs.setdefault("aria-label", field.label)
                self.fields[part] = field

    def rows(self) -> Iterator[Row]:
        """All fields of a request but the script."""
        for name, (_kind, label) in FIELDS.items():
            if name != "script":
                more = [self[f"{name}-{part}"] if f"{name}-{part}" in self.fields else None for part in _RANGE]
                yield Row(name, label, self[f"{name}-mode"], self[f"{name}-value"], *more)

    @property
    def script_mode(self) -> forms.BoundField:
        """For the template, which takes no dash in a name."""
        return self["script-mode"]

    @property
    def script_value(self) -> forms.BoundField:
        """The script itself."""
        return self["script-value"]

    def rules(self) -> dict[str, Any]:
        """As a version keeps them; what cannot be is for the service to say."""
        found = ((name, self._rule(name, kind)) for name, (kind, _label) in FIELDS.items())
        return {name: rule for name, rule in found if rule}

    def _rule(self, name: str, kind: Kind) -> dict[str, Any]:
        given = {part: self.cleaned_data.get(f"{name}-{part}") for part in ("mode", "value", *_RANGE)}
        if not given["mode"]:
            return {}
        choices = [_typed(one.strip(), kind) for one in (given["choices"] or "").split(",") if one.strip()]
        ends = {part: given[part] for part in ("min", "max") if given[part] is not None}
        rule = {"mode": given["mode"], "value": _typed(given["value"], kind), **ends}
        return rule | ({"choices": choices} if choices else {})

    def blame(self, errors: Mapping[str, list[str]]) -> None:
        """The service's words beside the fields they speak of."""
        for name, said in errors.items():
            place = f"{name}-value" if f"{name}-value" in self.fields else name
            self.add_error(place if place in self.fields else None, said)


_RANGE = ("min", "max", "choices")


def _row_fields(name: str, kind: Kind, label: Any) -> Iterator[tuple[str, forms.Field]]:
    def said(part: Any) -> Any:
        return format_lazy("{}: {}", label, part)

    yield f"{name}-mode", forms.ChoiceField(choices=_MODES, required=False, label=said(_("Rule")))
    if kind is Kind.SWITCH:
        yield f"{name}-value", forms.ChoiceField(choices=_SWITCH, required=False, label=label)
        return
    lines = {Kind.TABLE: 3} | ({kind: 14} if name == "script" else {})
    area = forms.Textarea(attrs={"rows": lines[kind], "spellcheck": "false"}) if kind in lines else forms.TextInput()
    yield f"{name}-value", forms.CharField(required=False, widget=area, label=label, strip=name != "script")
    if kind is Kind.NUMBER:
        for part, words in (("min", _("From")), ("max", _("To"))):
            yield (
                f"{name}-{part}",
                forms.IntegerField(required=False, min_value=0, max_value=10**8, label=said(words), widget=_digits()),
            )
    if kind not in lines:
        yield f"{name}-choices", forms.CharField(required=False, max_length=500, label=said(_("or one of")))


def _digits() -> forms.TextInput:
    return forms.TextInput(attrs={"inputmode": "numeric"})


def _typed(text: Any, kind: Kind) -> Any:
    """What is no number stays text, so that its message can say so."""
    value = str(text or "").replace("\r\n", "\n")
    if kind is Kind.SWITCH:
        return {"yes": True, "no": False}.get(value, "")
    return int(value) if kind is Kind.NUMBER and value.isascii() and value.isdigit() and len(value) < 10 else value


def _initial(version: PresetVersion) -> dict[str, Any]:
    found: dict[str, Any] = {"title": version.title, "about": version.about}
    for name, rule in version.rules.items():
        value = rule.get("value")
        found[f"{name}-mode"] = rule["mode"]
        found[f"{name}-value"] = ("yes" if value else "no") if isinstance(value, bool) else value
        found |= {f"{name}-{part}": rule.get(part) for part in ("min", "max")}
        found[f"{name}-choices"] = ", ".join(map(str, rule.get("choices", ())))
    return found


class SoftwareForm(forms.Form):
    """An environment; a new one names itself too."""

    def __init__(self, *args: Any, software: Software | None = None, **kwargs: Any) -> None:
        if software is not None:
            kwargs.setdefault("initial", model_to_dict(software, CHANGEABLE))
        super().__init__(*args, **kwargs)
        names = ("name", "version", *CHANGEABLE) if software is None else CHANGEABLE
        self.fields.update(fields_for_model(Software, names, help_texts=_HELP, widgets={"validated_on": DayInput}))
        self.fields["frameworks"].widget.attrs["rows"] = 4
        for field in self.fields.values():
            field.label = str(field.label)[:1].upper() + str(field.label)[1:]


def blame(form: forms.BaseForm, error: ValidationError) -> None:
    """The service's words beside the fields they speak of; those of no field above the form."""
    said = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    for name, words in said.items():
        if name not in form.errors:
            form.add_error(name if name in form.fields else None, forms.ValidationError(words))
