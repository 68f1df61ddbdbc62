"""What people type about allocations: the whole of one, a member's share, why one is ended, and who pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.formats import number_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from projects.forms import DayInput, day_field
from projects.models import Project, code_validator
from quotas import wishes
from quotas.forms.fields import ByTypeForm, LimitsForm, RowField, TypedLimitsForm, gpu_types, typed
from quotas.models import Allocation, FundingSource


class ShareForm(ByTypeForm):
    """One member's share; its fields carry the person's number, so that a table of them is one form."""

    def __init__(self, *args: Any, allocation: Allocation, types: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allocation = allocation
        self.offer_types(types)

    def clean(self) -> dict[str, Any]:
        """A share above what the allocation gives would say nothing."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name, value in list(cleaned.items()):
            most = self._most(name)
            if value is not None and most is not None and value > most:
                shown = number_format(most / 60 if "minutes" in name else most, None, use_l10n=True)
                self.add_error(name, gettext("The allocation gives %(most)s.") % {"most": shown})
        return cleaned

    def _most(self, name: str) -> int | None:
        plain, _two, kind = name.partition("__")
        most: Any = getattr(self.allocation, plain)
        return most.get(kind) if kind else most

    @property
    def limits(self) -> dict[str, Any]:
        """As services take them."""
        return self.gathered()


class AllocationForm(TypedLimitsForm):
    """An allocation as a cluster administrator sets it, with a pair of fields for each GPU type."""

    title = forms.CharField(label=_("Title"), max_length=120)
    funding = RowField(label=_("Funding source"))
    starts_on = forms.DateField(label=_("From"), widget=DayInput(), input_formats=["%Y-%m-%d"])
    ends_on = day_field(label=_("Until"), help_text=_("The last day. Empty: without an end."))
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
        self.offer(gpu_types(project.partitions) | wishes.types_of(allocation), project.partitions)
        choices["partitions"].help_text = _("None chosen: all of the project's.")

    @property
    def values(self) -> dict[str, Any]:
        """As services take them."""
        return self.gathered("why")


def _initial(row: Allocation) -> dict[str, Any]:
    names = (*LimitsForm.base_fields, "title", "funding", "starts_on", "ends_on", "partitions", "deny_on_limit")
    return {name: getattr(row, name) for name in names} | typed(row)


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
