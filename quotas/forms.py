"""What people type about allocations: amounts in GPU-hours, which are kept as minutes; shares, funding, requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.formats import number_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from cluster.models import Partition
from projects.forms import DayInput, day_field
from projects.models import Project, code_validator
from quotas.models import Allocation, AllocationRequest, FundingSource, Kind

MOST_MINUTES = 2**31 - 1
MOST_HOURS = MOST_MINUTES // 60
MOST_COUNT = 100_000
NO_LIMIT = _("Empty: no limit.")


class HoursField(forms.DecimalField):
    """Hours as people type them, whole minutes as they are kept."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"required": False, "min_value": 0, "max_value": MOST_HOURS, "decimal_places": 2} | more)

    def clean(self, value: Any) -> int | None:
        """Minutes; None where nothing was typed."""
        hours: Decimal | None = super().clean(value)
        return None if hours is None else round(hours * 60)

    def prepare_value(self, value: Any) -> Any:
        """Minutes of a row as hours; what was typed stays as it was typed."""
        if not isinstance(value, int):
            return value
        return str(value // 60) if value % 60 == 0 else f"{value / 60:.2f}"


def count_field(**more: Any) -> forms.IntegerField:
    """A whole number, or none."""
    return forms.IntegerField(**{"required": False, "min_value": 0, "max_value": MOST_COUNT} | more)


class RowField(forms.TypedChoiceField):
    """One of these rows, or none; read at once, for they are few. Rows are named by `key`."""

    def __init__(self, *, key: str = "pk", **more: Any) -> None:
        self.key = key
        self.rows: dict[str, Any] = {}
        super().__init__(**{"required": False, "empty_value": None, "coerce": self._row} | more)

    def of(self, rows: Iterable[Any]) -> None:
        """What may be chosen."""
        self.rows = {str(getattr(row, self.key)): row for row in rows}
        self.choices = [("", "–"), *((name, str(row)) for name, row in self.rows.items())]

    def _row(self, name: str) -> Any:
        return self.rows[name]

    def prepare_value(self, value: Any) -> Any:
        """A row by its name."""
        return getattr(value, self.key, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> RowField:
        """Each form has its own rows."""
        copy: RowField = super().__deepcopy__(memo)
        copy.coerce = copy._row
        return copy


def blame(form: forms.BaseForm, error: ValidationError) -> None:
    """The service's words beside the fields they speak of; those of no field above the form."""
    said = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
    for name, words in said.items():
        if name not in form.fields:
            form.add_error(None, " ".join(words))
        elif name not in form.errors:
            form.add_error(name, words)


class LimitsForm(forms.Form):
    """The five limits that an allocation and a share have."""

    gpus_at_once = count_field(label=_("GPUs at once"))
    gpu_minutes = HoursField(label=_("GPU-hours"))
    longest_minutes = HoursField(label=_("Longest run, hours"))
    jobs_submitted = count_field(label=_("Jobs queued and running"))
    jobs_running = count_field(label=_("Jobs running"))


class ShareForm(LimitsForm):
    """One member's share; its fields carry the person's number, so that a table of them is one form."""

    def __init__(self, *args: Any, allocation: Allocation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allocation = allocation

    def clean(self) -> dict[str, Any]:
        """A share above what the allocation gives would say nothing."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name, value in list(cleaned.items()):
            most = getattr(self.allocation, name)
            if value is not None and most is not None and value > most:
                shown = number_format(most / 60 if name.endswith("minutes") else most, None, use_l10n=True)
                self.add_error(name, gettext("The allocation gives %(most)s.") % {"most": shown})
        return cleaned

    @property
    def limits(self) -> dict[str, int | None]:
        """As services take them."""
        return {name: self.cleaned_data[name] for name in LimitsForm.base_fields}


class AllocationForm(LimitsForm):
    """An allocation as a cluster administrator sets it, with a pair of fields for each GPU type."""

    title = forms.CharField(label=_("Title"), max_length=120)
    funding = RowField(label=_("Funding source"))
    starts_on = forms.DateField(label=_("From"), widget=DayInput(), input_formats=["%Y-%m-%d"])
    ends_on = day_field(label=_("Until"), help_text=_("The last day. Empty: without an end."))
    partitions = forms.MultipleChoiceField(
        label=_("Queues"), required=False, widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: all of the project's."),
    )  # fmt: skip
    deny_on_limit = forms.BooleanField(
        label=_("Refuse at once what can never start"), required=False,
        help_text=_("Otherwise such a job waits, with the reason shown."),
    )  # fmt: skip
    why = forms.CharField(label=_("Why"), max_length=300, required=False, help_text=_("Kept in the audit trail."))

    def __init__(self, *args: Any, project: Project, allocation: Allocation | None = None, **kwargs: Any) -> None:
        if allocation is not None:
            kwargs.setdefault("initial", _initial(allocation))
        super().__init__(*args, **kwargs)
        choices: Any = self.fields
        choices["funding"].of(FundingSource.objects.filter(project=project))
        choices["partitions"].choices = [(name, name) for name in project.partitions]
        self.types = sorted(gpu_types(project.partitions) | _types_of(allocation))
        for name in self.types:
            for limit, field in (("gpus_by_type", count_field()), ("gpu_minutes_by_type", HoursField())):
                field.label = f"{name.upper()}: {_LABELS[limit]}"
                field.initial = getattr(allocation, limit).get(name) if allocation else None
                self.fields[f"{limit}__{name}"] = field

    @property
    def by_type(self) -> Iterator[tuple[str, BoundField, BoundField]]:
        """Name, GPUs at once and GPU-hours of each type."""
        for name in self.types:
            yield name.upper(), self[f"gpus_by_type__{name}"], self[f"gpu_minutes_by_type__{name}"]

    @property
    def values(self) -> dict[str, Any]:
        """As services take them."""
        plain = {name: value for name, value in self.cleaned_data.items() if "__" not in name and name != "why"}
        return plain | {limit: self._amounts(limit) for limit in _LABELS}

    def _amounts(self, limit: str) -> dict[str, int]:
        found = {name: self.cleaned_data.get(f"{limit}__{name}") for name in self.types}
        return {name: value for name, value in found.items() if value is not None}


_LABELS = {"gpus_by_type": _("GPUs at once"), "gpu_minutes_by_type": _("GPU-hours")}


def _types_of(allocation: Allocation | None) -> set[str]:
    return {*allocation.gpus_by_type, *allocation.gpu_minutes_by_type} if allocation else set()


def _initial(row: Allocation) -> dict[str, Any]:
    names = (*LimitsForm.base_fields, "title", "funding", "starts_on", "ends_on", "partitions", "deny_on_limit")
    return {name: getattr(row, name) for name in names}


def gpu_types(partitions: Iterable[str]) -> set[str]:
    """What the nodes of these partitions have."""
    rows = Partition.objects.filter(name__in=list(partitions)).values_list("gpu_types", flat=True)
    return {name for types in rows for name in types or {} if name}


class NewAllocationForm(AllocationForm):
    """The first time it also gets its code."""

    code = forms.CharField(
        label=_("Code"), max_length=31, validators=[code_validator],
        help_text=_("Short and lower-case; it names the allocation in scripts and never changes."),
    )  # fmt: skip

    field_order = ("title", "code")


class WhyForm(forms.Form):
    """Why something is ended."""

    why = forms.CharField(label=_("Why"), max_length=300, required=False, help_text=_("Kept in the audit trail."))


class FundingForm(forms.ModelForm):
    """Who pays. Unique and crossed values are judged by the service."""

    class Meta:
        model = FundingSource
        fields = ("agency", "number", "starts_on", "ends_on", "acknowledgement")
        widgets = {"starts_on": DayInput(), "ends_on": DayInput(), "acknowledgement": forms.Textarea(attrs={"rows": 3})}
        help_texts = {
            "number": _("As the agency writes it, e.g. 2024/01234-5."),
            "acknowledgement": _("What publications must say; it stands in the report, ready to be copied."),
        }

    def _post_clean(self) -> None:
        """Only what the fields say for themselves: the row is not touched here."""


class RequestForm(forms.Form):
    """What a project asks for; the service judges what belongs together."""

    kind = forms.ChoiceField(label=_("What you ask for"), choices=Kind.choices, widget=forms.RadioSelect)
    allocation = RowField(
        key="code", label=_("Allocation"), help_text=_("The one to be made larger or longer; none for a new one.")
    )
    title = forms.CharField(label=_("Title"), max_length=120, required=False, help_text=_("Of a new allocation."))
    gpu_minutes = HoursField(label=_("GPU-hours"), help_text=_("All of it afterwards, not the difference."))
    gpus_at_once = count_field(label=_("GPUs at once"))
    starts_on = day_field(label=_("From"), help_text=_("Of a new allocation."))
    ends_on = day_field(label=_("Until"))
    funding = RowField(label=_("Funding source"))
    why = forms.CharField(
        label=_("Justification"), max_length=4000, widget=forms.Textarea(attrs={"rows": 7}),
        help_text=_("What it is for. What was measured stands there already; keep what helps."),
    )  # fmt: skip

    def __init__(self, *args: Any, allocations: Sequence[Allocation], project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices: Any = self.fields
        choices["allocation"].of(allocations)
        choices["funding"].of(FundingSource.objects.filter(project=project))
        if not allocations:
            choices["kind"].choices = [(Kind.NEW.value, Kind.NEW.label)]


class CommentForm(forms.Form):
    """Something to say about a request."""

    text = forms.CharField(label=_("Comment"), max_length=4000, widget=forms.Textarea(attrs={"rows": 3}))


class DecisionForm(forms.Form):
    """What is given, which may be another amount than was asked for, with words to whoever asked."""

    gpu_minutes = HoursField(label=_("GPU-hours"))
    gpus_at_once = count_field(label=_("GPUs at once"))
    starts_on = day_field(label=_("From"))
    ends_on = day_field(label=_("Until"))
    answer = forms.CharField(
        label=_("Answer"), max_length=4000, required=False, widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Whoever asked reads it. A refusal needs some words."),
    )  # fmt: skip

    def __init__(self, *args: Any, asked: AllocationRequest, **kwargs: Any) -> None:
        names = ("gpu_minutes", "gpus_at_once", "starts_on", "ends_on")
        kwargs["initial"] = {name: getattr(asked, name) for name in names}
        super().__init__(*args, **kwargs)
        if asked.kind != Kind.NEW:
            del self.fields["starts_on"]

    @property
    def granted(self) -> dict[str, Any]:
        """As services take it: what was emptied is not given."""
        return {name: value for name, value in self.cleaned_data.items() if name != "answer"}
