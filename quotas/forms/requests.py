"""What people type about requests for allocations: what is asked for, what is said of it, and what is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from projects.forms import day_field
from projects.models import Project
from quotas import lifting, wishes
from quotas.forms.fields import HoursField, RowField, TypedLimitsForm, gpu_types, typed
from quotas.models import Allocation, AllocationRequest, FundingSource, Kind


class RequestForm(TypedLimitsForm):
    """What a project asks for; what is left empty is not asked for. The service judges what belongs together."""

    kind = forms.ChoiceField(label=_("What you ask for"), choices=Kind.choices, widget=forms.RadioSelect)
    allocation = RowField(
        key="code", label=_("Allocation"), help_text=_("The one to be made larger or longer; none for a new one.")
    )
    title = forms.CharField(label=_("Title"), max_length=120, required=False, help_text=_("Of a new allocation."))
    gpu_minutes = HoursField(label=_("GPU-hours"), help_text=_("All of it afterwards, not the difference."))
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
        self.offer(gpu_types(project.partitions).union(*map(wishes.types_of, allocations)), project.partitions)
        self.offer_no_limit(dict.fromkeys(name for row in allocations for name in lifting.limits(row)))
        choices["no_limit"].help_text = _("Ticked: the limit goes away altogether.")
        if not allocations:
            choices["kind"].choices = [(Kind.NEW.value, Kind.NEW.label)]

    def clean(self) -> dict[str, Any]:
        """An amount that was filled in beforehand and left as it was counts no more where no limit is asked for."""
        cleaned: dict[str, Any] = super().clean() or {}
        for name in cleaned.get("no_limit", ()):
            if cleaned.get(name) == self.initial.get(name):
                cleaned[name] = None
        return cleaned


class CommentForm(forms.Form):
    """Something to say about a request."""

    text = forms.CharField(label=_("Comment"), max_length=4000, widget=forms.Textarea(attrs={"rows": 3}))


class DecisionForm(TypedLimitsForm):
    """What is given, which may be another amount than was asked for, with words to whoever asked."""

    starts_on = day_field(label=_("From"))
    ends_on = day_field(label=_("Until"))
    answer = forms.CharField(
        label=_("Answer"), max_length=4000, required=False, widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Whoever asked reads it. A refusal needs some words."),
    )  # fmt: skip

    def __init__(self, *args: Any, asked: AllocationRequest, **kwargs: Any) -> None:
        names = (*wishes.PLAIN, "partitions", "no_limit", "starts_on", "ends_on")
        kwargs["initial"] = {name: getattr(asked, name) for name in names} | typed(asked)
        super().__init__(*args, **kwargs)
        self.asked = asked
        known = wishes.types_of(asked) | wishes.types_of(asked.allocation)
        self.offer(gpu_types(asked.project.partitions) | known, asked.project.partitions)
        self.offer_no_limit([] if asked.kind == Kind.NEW else lifting.limits(asked.allocation))
        if asked.kind != Kind.NEW:
            del self.fields["starts_on"]

    @property
    def rows(self) -> Iterator[tuple[wishes.Line, BoundField]]:
        """Each amount as it is now and as it was asked for, with the field that says what is given."""
        for line in wishes.lines(self.asked, self.types):
            if line.field in self.fields:
                yield line, self[line.field]

    @property
    def granted(self) -> dict[str, Any]:
        """As services take it: what was emptied is not given."""
        return self.gathered("answer")
