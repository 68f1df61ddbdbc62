"""The pieces of forms about allocations: hours that are kept as minutes, counts, rows, and the limits by GPU type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from cluster.models import Partition

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


BY_TYPE = {"gpus_by_type": _("GPUs at once"), "gpu_minutes_by_type": _("GPU-hours")}


class ByTypeForm(LimitsForm):
    """The same with a pair of fields for each GPU type; a subclass says which there are."""

    types: list[str]

    def offer_types(self, types: Iterable[str]) -> None:
        """A pair of fields for each of them."""
        self.types = sorted(types)
        for name in self.types:
            for limit, field in (("gpus_by_type", count_field()), ("gpu_minutes_by_type", HoursField())):
                field.label = f"{name.upper()}: {BY_TYPE[limit]}"
                self.fields[f"{limit}__{name}"] = field

    def gathered(self, *without: str) -> dict[str, Any]:
        """What was typed, as services take it: the pairs as two amounts by type."""
        plain = {name: value for name, value in self.cleaned_data.items() if "__" not in name and name not in without}
        return plain | {limit: self._amounts(limit) for limit in BY_TYPE}

    def _amounts(self, limit: str) -> dict[str, int]:
        found = {name: self.cleaned_data.get(f"{limit}__{name}") for name in self.types}
        return {name: value for name, value in found.items() if value is not None}


class TypedLimitsForm(ByTypeForm):
    """The same with the queues; a subclass says which there are."""

    partitions = forms.MultipleChoiceField(label=_("Queues"), required=False, widget=forms.CheckboxSelectMultiple)

    def offer(self, types: Iterable[str], partitions: Iterable[str]) -> None:
        """What there is to be given."""
        choices: Any = self.fields["partitions"]
        choices.choices = [(name, name) for name in partitions]
        self.offer_types(types)

    @property
    def by_type(self) -> Iterator[tuple[str, BoundField, BoundField]]:
        """Name, GPUs at once and GPU-hours of each type."""
        for name in self.types:
            yield name.upper(), self[f"gpus_by_type__{name}"], self[f"gpu_minutes_by_type__{name}"]

    def offer_no_limit(self, names: Iterable[str]) -> None:
        """Beside an amount, that there is to be none: one box for each of these, none where there is nothing."""
        labels = {name: f"{self.fields[name].label}" for name in names if name in self.fields}
        self.fields["no_limit"] = forms.MultipleChoiceField(
            label=_("No limit of"), required=False, widget=forms.CheckboxSelectMultiple, choices=list(labels.items())
        )


def typed(row: Any) -> dict[str, int]:
    """The amounts by type of a row under the names of the form's fields."""
    return {f"{limit}__{name}": value for limit in BY_TYPE for name, value in getattr(row, limit).items()}


def gpu_types(partitions: Iterable[str]) -> set[str]:
    """What the nodes of these partitions have."""
    rows = Partition.objects.filter(name__in=list(partitions)).values_list("gpu_types", flat=True)
    return {name for types in rows for name in types or {} if name}
