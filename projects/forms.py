"""What people type about projects: who is in it and until when, asking and answering, opening and changing one."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from access.roles import Role
from cluster.models import Partition
from projects.models import OnEnd, Project, ProjectRequest, code_validator
from projects.models.project import folder_validator, group_validator

VALIDATORS = {"code": code_validator, "unix_group": group_validator, "folder": folder_validator}


class DayInput(forms.DateInput):
    """A date as browsers pick it."""

    input_type = "date"

    def __init__(self, **attrs: Any) -> None:
        super().__init__(format="%Y-%m-%d", attrs=attrs)


def day_field(**more: Any) -> forms.DateField:
    """An optional day."""
    return forms.DateField(required=False, widget=DayInput(), input_formats=["%Y-%m-%d"], **more)


def roles(*, with_pi: bool) -> list[tuple[str, Any]]:
    """The roles somebody may give; the least first."""
    return [(role.value, role.label) for role in reversed(Role) if with_pi or role is not Role.PI]


def end_of(day: date | None) -> datetime | None:
    """A last day as the moment it is over, where the portal stands."""
    return None if day is None else timezone.make_aware(datetime.combine(day, time(23, 59, 59)))


class RoleForm(forms.Form):
    """A role, a last day and why."""

    role = forms.ChoiceField(label=_("Role"), initial=Role.RESEARCHER)
    until = day_field(label=_("Last day"), help_text=_("Empty: until somebody ends it."))
    why = forms.CharField(
        label=_("Why"), max_length=300, required=False, help_text=_("Kept with the membership and in the audit trail.")
    )

    def __init__(self, *args: Any, with_pi: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = roles(with_pi=with_pi)  # type: ignore[attr-defined]

    def clean_until(self) -> datetime | None:
        """The moment the last day is over."""
        return end_of(self.cleaned_data.get("until"))


class AddForm(RoleForm):
    """Somebody found in the directory, by its own id: nothing typed names a person."""

    person = forms.UUIDField(label=_("Person"), error_messages={"required": _("Choose a person.")})

    field_order = ("person", "role", "until", "why")


class RemoveForm(forms.Form):
    """The end of a membership, and what becomes of the jobs."""

    on_end = forms.ChoiceField(
        choices=OnEnd.choices, initial=OnEnd.FINISH, widget=forms.RadioSelect(attrs={"class": "form-check-input"})
    )
    why = forms.CharField(label=_("Why"), max_length=300, required=False)


class JoinForm(forms.Form):
    """Why somebody wants to join."""

    why = forms.CharField(
        label=_("Justification"), max_length=4000, widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("The PI and the managers of the project read it."),
    )  # fmt: skip


class AnswerForm(forms.Form):
    """Words to whoever asked; a refusal needs some."""

    answer = forms.CharField(label=_("Answer"), max_length=4000, widget=forms.Textarea(attrs={"rows": 2}))


class LetInForm(forms.Form):
    """The role somebody is let in with."""

    role = forms.ChoiceField(label=_("Role"), initial=Role.RESEARCHER)

    def __init__(self, *args: Any, with_pi: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = roles(with_pi=with_pi)  # type: ignore[attr-defined]


class AskProjectForm(forms.ModelForm):
    """A project somebody would be the PI of."""

    class Meta:
        model = ProjectRequest
        fields = ("title", "code", "organization", "classification", "why")
        widgets = {"why": forms.Textarea(attrs={"rows": 6})}
        help_texts = {
            "code": _("Short and lower-case; it names the project everywhere and never changes."),
            "why": _("What it is for, who takes part, and about how many GPUs it needs."),
        }


class ProjectForm(forms.ModelForm):
    """What may be changed of a project. Unique and crossed values are judged by the service, under its lock."""

    partitions = forms.MultipleChoiceField(
        label=_("Partitions"), widget=forms.CheckboxSelectMultiple, help_text=_("Where its jobs may run.")
    )

    class Meta:
        model = Project
        fields = (
            "title", "organization", "classification", "starts_on", "ends_on", "partitions", "unix_group", "folder",
            "is_listed",
        )  # fmt: skip
        widgets = {"starts_on": DayInput(), "ends_on": DayInput()}
        help_texts = {
            "unix_group": _("It must exist on the cluster; the portal looks for it and says so."),
            "folder": _("On the shared storage; the portal looks for it and says so."),
            "is_listed": _("Its code, title and PI are shown to people who look for a project to join."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, validator in VALIDATORS.items():  # all that is wrong is told at once
            if name in self.fields:
                self.fields[name].validators.append(validator)
        names = set(Partition.objects.values_list("name", flat=True)) | set(self.instance.partitions)
        self.fields["partitions"].choices = [(name, name) for name in sorted(names)]  # type: ignore[attr-defined]

    def _post_clean(self) -> None:
        """Only what the fields say for themselves: the row is not touched here."""

    def clean(self) -> dict[str, Any]:
        """A project does not end before it begins."""
        cleaned: dict[str, Any] = super().clean() or {}
        first, last = cleaned.get("starts_on"), cleaned.get("ends_on")
        if first and last and last < first:
            self.add_error("ends_on", _("The last day comes before the first."))
        return cleaned


class OpenForm(ProjectForm):
    """A new project and its PI, by the directory's id."""

    pi = forms.UUIDField(label=_("PI"), error_messages={"required": _("Choose a person.")})

    field_order = ("title", "code", "pi")

    class Meta(ProjectForm.Meta):
        fields = ("code", *ProjectForm.Meta.fields)  # type: ignore[assignment]
        help_texts = ProjectForm.Meta.help_texts | {
            "code": _("Also the Slurm account. Short, lower-case, and never changed."),
        }
