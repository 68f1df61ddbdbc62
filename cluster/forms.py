"""What cluster administrators type: why a node goes out of service, a maintenance window, an announcement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from cluster.models import Announcement, Maintenance, Partition


class MomentInput(forms.DateTimeInput):
    """A day and a time as browsers pick them."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


class ReasonForm(forms.Form):
    """Why a node goes out of service, or comes back."""

    reason = forms.CharField(label=_("Why"), max_length=200, required=False)


class Between(forms.ModelForm):
    """Anything with a beginning and an end."""

    def clean(self) -> dict[str, Any]:
        """The end comes after the beginning."""
        facts = super().clean() or {}
        starts, ends = facts.get("starts_at"), facts.get("ends_at")
        if starts and ends and ends <= starts:
            self.add_error("ends_at", _("The end must come after the beginning."))
        return facts


class WindowForm(Between):
    """A maintenance window."""

    node_names = forms.MultipleChoiceField(
        label=_("Nodes"), required=False, help_text=_("None chosen: the whole cluster."),
        widget=forms.SelectMultiple(attrs={"size": 4}),
    )  # fmt: skip

    class Meta:
        model = Maintenance
        fields = ("starts_at", "ends_at", "node_names", "reason_en", "reason_pt")
        widgets = {"starts_at": MomentInput(), "ends_at": MomentInput()}

    def __init__(self, *args: Any, partitions: Sequence[Partition], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = sorted({name for row in partitions for name in row.node_names})
        self.fields["node_names"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]


class AnnouncementForm(Between):
    """An announcement."""

    partition = forms.ChoiceField(label=_("Only for the queue"), required=False)

    class Meta:
        model = Announcement
        fields = ("tone", "text_en", "text_pt", "partition", "project_code", "at_sign_in", "starts_at", "ends_at")
        widgets = {"starts_at": MomentInput(), "ends_at": MomentInput()}
        labels = {"project_code": _("Only for the project")}

    def __init__(self, *args: Any, partitions: Sequence[Partition], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(row.name, row.name) for row in partitions]
        self.fields["partition"].choices = [("", _("all")), *names]  # type: ignore[attr-defined]
        self.fields["project_code"].help_text = _("Its code; empty: all.")

    def clean(self) -> dict[str, Any]:
        """One place at most; strangers read what is at the sign-in."""
        facts = super().clean()
        if facts.get("partition") and facts.get("project_code"):
            self.add_error("project_code", _("A queue or a project, not both."))
        if facts.get("at_sign_in") and (facts.get("partition") or facts.get("project_code")):
            self.add_error("at_sign_in", _("Only what is for the whole site can stand there."))
        return facts
