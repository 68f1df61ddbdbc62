"""What a cluster administrator types about keeping and showing the trail: retention, holds, guest auditors."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit import things
from audit.actions import Action, Outcome
from audit.catalogue import RetentionClass
from audit.models.export import Form
from audit.retention import LEAST
from audit.services.searching import Search


class DayField(forms.DateField):
    """An optional day as browsers pick it."""

    def __init__(self, **more: Any) -> None:
        widget = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
        super().__init__(widget=widget, input_formats=["%Y-%m-%d"], **{"required": False, **more})


def _begin(day: date | None, later: int = 0) -> datetime | None:
    """The moment a day begins, where the portal stands; or so many days later."""
    return timezone.make_aware(datetime.combine(day + timedelta(days=later), time.min)) if day else None


class RetentionForm(forms.Form):
    """One class, for how long, and why."""

    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in RetentionClass], widget=forms.HiddenInput)
    days = forms.IntegerField(
        label=_("Days"), required=False, min_value=1, max_value=36_600, help_text=_("Empty: for ever.")
    )
    why = forms.CharField(label=_("Why"), max_length=300, help_text=_("Kept in the audit trail."))

    def clean(self) -> dict[str, Any]:
        """Not less than the law or the house asks for."""
        found = super().clean() or self.cleaned_data
        kind, days = found.get("kind"), found.get("days")
        if kind and days is not None and days < LEAST[RetentionClass(kind)]:
            least = LEAST[RetentionClass(kind)]
            self.add_error("days", _("This class is kept for %(n)d days at least.") % {"n": least})
        return found


class PeriodForm(forms.Form):
    """Events from a day to a day, both included; handed on as moments, the second not included."""

    since = DayField(label=_("Events from"))
    until = DayField(label=_("Events until"))

    def clean_since(self) -> datetime | None:
        """The beginning of the day."""
        return _begin(self.cleaned_data.get("since"))

    def clean_until(self) -> datetime | None:
        """The end of the day; not before the first."""
        until = _begin(self.cleaned_data.get("until"), later=1)
        since = self.cleaned_data.get("since")
        if until and since and until <= since:
            raise forms.ValidationError(_("The last day cannot lie before the first."))
        return until


class HoldForm(PeriodForm):
    """What is held: all that fits every part that is given."""

    reason = forms.CharField(label=_("Reason"), max_length=500, help_text=_("The case, or who asked for it."))
    person = forms.CharField(label=_("Person (sign-in)"), max_length=150, required=False)
    project = forms.CharField(label=_("Project (code)"), max_length=40, required=False)
    dataset = forms.CharField(label=_("Dataset (code)"), max_length=60, required=False)
    ends_at = DayField(label=_("Kept until"), help_text=_("Empty: until somebody lifts it."))
    field_order = ("reason", "person", "project", "dataset", "since", "until", "ends_at")

    def clean_person(self) -> Any:
        """The person."""
        return _found("person", self.cleaned_data["person"], _("Nobody has this sign-in."))

    def clean_project(self) -> Any:
        """The project."""
        return _found("project", self.cleaned_data["project"], _("There is no project of this code."))

    def clean_ends_at(self) -> datetime | None:
        """In the future."""
        ends = _begin(self.cleaned_data.get("ends_at"), later=1)
        if ends and ends <= timezone.now():
            raise forms.ValidationError(_("The last day cannot lie in the past."))
        return ends

    def clean(self) -> dict[str, Any]:
        """With the dataset's number besides its code."""
        found = super().clean() or self.cleaned_data
        row = things.find("dataset", found.get("dataset", ""))
        if found.get("dataset") and row is None:
            self.add_error("dataset", _("There is no dataset of this code."))
        return found | {"dataset_id": row.pk if row is not None else None}


class GuestForm(PeriodForm):
    """Who may read the events of which projects, until when."""

    user = forms.CharField(
        label=_("Person (sign-in)"), max_length=150, help_text=_("Somebody who has signed in here before.")
    )
    projects = forms.CharField(label=_("Projects (codes)"), max_length=600, help_text=_("With commas between."))
    datasets = forms.CharField(
        label=_("Datasets (codes)"), max_length=600, required=False, help_text=_("Only events about these, if given.")
    )
    ends_at = DayField(label=_("May read until"), required=True)
    why = forms.CharField(label=_("Why"), max_length=300, help_text=_("Kept in the audit trail."))
    field_order = ("user", "projects", "datasets", "since", "until", "ends_at", "why")

    def clean_user(self) -> Any:
        """The person."""
        return _found("person", self.cleaned_data["user"], _("Nobody has this sign-in."))

    def clean_projects(self) -> list[Any]:
        """Each of them."""
        return _all("project", self.cleaned_data["projects"], _("There is no project of the code %(code)s."))

    def clean_datasets(self) -> list[Any]:
        """Each of them."""
        return _all("dataset", self.cleaned_data["datasets"], _("There is no dataset of the code %(code)s."))

    def clean_ends_at(self) -> datetime | None:
        """The end of the day."""
        return _begin(self.cleaned_data.get("ends_at"), later=1)


class ExportForm(PeriodForm):
    """What of the trail is written out, and in which shape; an empty field asks for everything."""

    form = forms.ChoiceField(
        label=_("As"), choices=Form.choices, initial=Form.JSONL,
        help_text=_("Evidence and bundle can be verified without the portal; a table is for reading."),
    )  # fmt: skip
    who = forms.CharField(label=_("Who (sign-in)"), max_length=64, required=False)
    action = forms.ChoiceField(label=_("What"), choices=[("", _("any")), *Action.choices], required=False)
    outcome = forms.ChoiceField(label=_("Outcome"), choices=[("", _("any")), *Outcome.choices], required=False)
    project = forms.CharField(label=_("Project (code)"), max_length=40, required=False)
    dataset = forms.CharField(label=_("Dataset (code)"), max_length=60, required=False)
    job = forms.CharField(label=_("Job"), max_length=64, required=False)
    address = forms.CharField(label=_("Address"), max_length=45, required=False)
    correlation = forms.CharField(label=_("Correlation"), max_length=64, required=False)
    field_order = ("form", "since", "until", "who", "action", "outcome", "project", "dataset", "job", "address")

    def __init__(self, *args: Any, whole: bool, within: bool, **more: Any) -> None:
        super().__init__(*args, **more)
        if within:
            del self.fields["project"]
        if not whole:  # addresses are for those who read everything
            del self.fields["address"]

    def search(self) -> Search:
        """What was asked for."""
        return Search(**{name: value for name, value in self.cleaned_data.items() if name != "form" and value})


def _found(kind: str, code: str, otherwise: Any) -> Any:
    row = things.find(kind, code.strip())
    if code and row is None:
        raise forms.ValidationError(otherwise)
    return row


def _all(kind: str, codes: str, otherwise: Any) -> list[Any]:
    asked = [code.strip() for code in codes.split(",") if code.strip()]
    found = [things.find(kind, code) for code in asked]
    for code, row in zip(asked, found, strict=True):
        if row is None:
            raise forms.ValidationError(otherwise % {"code": code})
    return found
