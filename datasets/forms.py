"""What people type about datasets, permissions to use them, agreements and security incidents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.models import fields_for_model, model_to_dict
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from datasets.models import (
    Access,
    Agreement,
    Dataset,
    DatasetVersion,
    DutyKind,
    NoticeTo,
    Purpose,
    SecurityIncident,
)
from datasets.services.registering import CHANGEABLE
from projects.forms import DayInput
from projects.models import Project, ProjectState

LARGEST_DOCUMENT = 32 * 1024 * 1024  # bytes of a signed document, read for its digest
_HELP: Any = {
    "classification": _(
        "Personal and sensitive personal data need grounds below; outputs of jobs are read by who may use them."
    ),
    "retention": _("Until when it is kept, and what happens then."),
    "ethics": _("The number of the approval, for example CAAE."),
    "ethics_not_applicable": _("Only where there is no approval: the reason."),
    "licence": _("For example CC BY 4.0, or the name of a contract."),
    "controller": _("Who decides over the data (LGPD art. 5, VI)."),
    "processor": _("Who handles them for the controller (LGPD art. 5, VII)."),
    "transfer_details": _("The country, and what protects the data there (LGPD art. 33)."),
}  # fmt: skip


def day(**more: Any) -> forms.DateField:
    """A day that has to be given."""
    return forms.DateField(widget=DayInput(), input_formats=["%Y-%m-%d"], **more)


def moment(**more: Any) -> forms.DateTimeField:
    """A moment, as browsers pick it, in the time of the portal's pages."""
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(widget=widget, input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"], **more)


def text(rows: int = 4, **more: Any) -> forms.CharField:
    """Several lines."""
    return forms.CharField(widget=forms.Textarea(attrs={"rows": rows}), **more)


def blame(form: forms.BaseForm, error: ValidationError) -> None:
    """The service's words beside the fields they speak of; those of no field above the form."""
    said = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    for name, words in said.items():
        if name not in form.errors:
            form.add_error(name if name in form.fields else None, forms.ValidationError(words))


class LoginField(forms.CharField):
    """A person by login, who has used the portal."""

    def __init__(self, **more: Any) -> None:
        more.setdefault("help_text", _("The login of somebody who has used the portal."))
        super().__init__(max_length=150, **more)

    def clean(self, value: Any) -> User:
        """The person. Raises ValidationError."""
        login = super().clean(value)
        found = User.objects.filter(username=login.replace("\x00", ""), is_active=True).first()
        if found is None:
            raise ValidationError(gettext("Nobody with this login has used the portal."))
        return found


class DatasetForm(forms.Form):
    """A dataset's own facts; those of a new one name code and steward too."""

    def __init__(self, *args: Any, project: Project, dataset: Dataset | None = None, **kwargs: Any) -> None:
        if dataset is not None:
            kwargs.setdefault("initial", model_to_dict(dataset, CHANGEABLE))
        super().__init__(*args, **kwargs)
        names = ("code", *CHANGEABLE) if dataset is None else CHANGEABLE
        self.fields.update(fields_for_model(Dataset, names, help_texts=_HELP))
        self.fields["description"].widget.attrs["rows"] = 4
        agreements: Any = self.fields["agreement"]
        agreements.queryset = Agreement.objects.filter(project=project, ended_at=None)
        if dataset is None:
            self.fields["steward"] = LoginField(label=_("Data steward"))
            self.order_fields(["code", "name", "steward"])
        for field in self.fields.values():
            field.label = str(field.label)[:1].upper() + str(field.label)[1:]


class StewardForm(forms.Form):
    """Who answers for it from now on."""

    steward = LoginField(label=_("Data steward"))
    why = forms.CharField(label=_("Why"), max_length=300, required=False)


class VersionForm(forms.Form):
    """A version: what it is called and where it lies."""

    label = DatasetVersion._meta.get_field("label").formfield(label=_("Version"))
    path = DatasetVersion._meta.get_field("path").formfield(
        label=_("Path on shared storage"), help_text=_("The whole path of its folder, as the nodes see it.")
    )
    note = forms.CharField(label=_("What is new"), max_length=300, required=False)


class TermsForm(forms.Form):
    """New terms of use."""

    text = text(
        14, label=_("Terms of use"), max_length=20_000,
        help_text=_("Everybody has to accept them anew before their next job."),
    )  # fmt: skip


class AskForm(forms.Form):
    """A wish to use it: for whom, what for, until when."""

    for_whom = forms.ChoiceField(label=_("For whom"), required=False)
    purpose = forms.ChoiceField(label=_("Purpose"), choices=Purpose.choices)
    access = forms.ChoiceField(label=_("Access"), choices=Access.choices)
    starts_on = day(label=_("From"))
    ends_on = day(label=_("Until"))
    why = text(
        label=_("Justification"), max_length=4000, help_text=_("What you would do with the data. It stays on record.")
    )

    def __init__(self, *args: Any, projects: Iterable[Project], **kwargs: Any) -> None:
        today = timezone.now().date()
        self.projects = {row.code: row for row in projects if row.state == ProjectState.ACTIVE}
        usual = {"for_whom": next(iter(self.projects), ""), "starts_on": today, "ends_on": today + timedelta(days=180)}
        kwargs.setdefault("initial", usual)
        super().__init__(*args, **kwargs)
        mine = [(code, f"{row.title} ({code})") for code, row in self.projects.items()]
        self.fields["for_whom"].choices = [*mine, ("", _("for myself, in any project of mine"))]  # type: ignore[attr-defined]

    @property
    def facts(self) -> dict[str, Any]:
        """As the service takes them."""
        given = dict(self.cleaned_data)
        return {"project": self.projects.get(given.pop("for_whom")), **given}


class AgreementForm(forms.Form):
    """A sharing agreement; of the signed document only the digest is kept."""

    def __init__(self, *args: Any, agreement: Agreement | None = None, **kwargs: Any) -> None:
        names = ["title", "parties", "document", "document_digest", "starts_on", "ends_on", "purposes", "duties"]
        if agreement is not None:
            names.remove("starts_on")
            kwargs.setdefault("initial", model_to_dict(agreement, names))
        super().__init__(*args, **kwargs)
        self.fields.update(fields_for_model(Agreement, names, widgets={"parties": forms.Textarea(attrs={"rows": 2})}))
        for name in {"starts_on", "ends_on"} & set(names):
            self.fields[name] = day(label=self.fields[name].label)
        self.fields["purposes"] = forms.MultipleChoiceField(
            label=_("Allowed purposes"), choices=Purpose.choices, widget=forms.CheckboxSelectMultiple
        )
        self.fields["duties"].widget.attrs["rows"] = 3
        self.fields["document_digest"].required = False
        self.fields["signed"] = forms.FileField(
            label=_("Signed document"), required=False, help_text=_("It is read for its digest and not kept.")
        )
        self.order_fields(["title", "parties", "document", "signed", "document_digest"])
        for field in self.fields.values():
            field.label = str(field.label)[:1].upper() + str(field.label)[1:]

    def clean(self) -> dict[str, Any]:
        """The digest of the file, or the one that was typed."""
        given: dict[str, Any] = super().clean() or {}
        signed = given.pop("signed", None)
        if signed and signed.size > LARGEST_DOCUMENT:
            self.add_error("signed", gettext("The file is larger than 32 MiB; give its digest instead."))
        elif signed:
            given["document_digest"] = hashlib.sha256(b"".join(signed.chunks())).hexdigest()
        elif not given.get("document_digest") and "document_digest" not in self.errors:
            self.add_error("document_digest", gettext("Choose the signed document, or give its digest."))
        return given


class DutyForm(forms.Form):
    """What was done with a copy at the end of an agreement."""

    kind = forms.ChoiceField(label=_("What was done"), choices=[("", "–"), *DutyKind.choices])
    how = text(3, label=_("How, when and by whom"), max_length=2000)


class IncidentForm(forms.Form):
    """An entry of the register."""

    title = forms.CharField(label=_("Title"), max_length=120)
    known_at = moment(label=_("When it became known"))
    happened_at = moment(label=_("When it happened"), required=False)
    what = text(label=_("What happened"), max_length=8000)
    datasets = forms.ModelMultipleChoiceField(
        Dataset.objects.all(), label=_("Datasets"), required=False, widget=forms.CheckboxSelectMultiple
    )
    subjects = text(2, label=_("Whose data"), max_length=4000)
    people = forms.IntegerField(label=_("How many people"), required=False, min_value=0, max_value=2**31 - 1)
    risks = text(3, label=_("Possible harm"), max_length=4000, required=False)
    measures = text(label=_("Measures"), max_length=8000, required=False)


def incident_initial(row: SecurityIncident) -> dict[str, Any]:
    """An entry as its form shows it."""
    return model_to_dict(row, IncidentForm.base_fields.keys())


class NoticeForm(forms.Form):
    """Somebody was told."""

    to = forms.ChoiceField(label=_("Who was told"), choices=NoticeTo.choices)
    at = moment(label=_("When"))
    text = text(label=_("What was said"), max_length=8000)
