"""The presets that come with the portal: plain files beside this one, brought in as versions of the site's presets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext_noop as _

from presets import services
from presets.models import Preset

FOLDER = Path(__file__).with_name("delivered")
# what the files say in words, for the catalogue of translations; a test compares them
WORDS = (
    _("One GPU"),
    _("A training on one GPU of one node. Put your own command where the example stands."),
    _("Several GPUs, one node"),
    _("One process per GPU on one node, started by srun, or by torchrun where PyTorch is there."),
    _("Several nodes"),
    _("One training over two or more nodes, started by srun, or by torchrun where PyTorch is there."),
    _("Fine-tune"),
    _("Goes on from weights trained before, with a small rate and few data, on one GPU."),
    _("Sweep"),
    _("The same training with other values in each task of one array: rates and sizes side by side."),
    _("Preprocessing"),
    _("Prepares data on CPUs, without a GPU: read, normalise, write in parts with their sums."),
    _("Batch inference"),
    _("Labels many data with trained weights, in batches; run again, it goes on where it stopped."),
    _("Save and go on"),
    _("A training longer than its time limit: a signal before the end, a saved state, and back into the queue."),
)


class Delivered(NamedTuple):
    """One file."""

    code: str
    title: str
    about: str
    rules: dict[str, Any]


def read(folder: Path = FOLDER) -> list[Delivered]:
    """All of them, in the order they say."""
    found = [(path.stem, tomllib.loads(path.read_text())) for path in folder.glob("*.toml")]
    found.sort(key=lambda one: one[1]["order"])
    return [Delivered(code, one["title"], one["about"], one["fields"]) for code, one in found]


@transaction.atomic
def deliver(delivered: list[Delivered]) -> int:
    """How many are new or have another version now.

    What somebody here has changed is theirs from then on, and what is retired stays so.
    """
    return sum(_one(one) for one in delivered)


def _one(one: Delivered) -> bool:
    row = Preset.objects.filter(project=None, code=one.code).first()
    facts: dict[str, Any] = {"title": one.title, "about": one.about, "rules": one.rules, "by": None}
    if row is None:
        services.add(project=None, code=one.code, is_delivered=True, **facts)
        return True
    newest = row.versions.first()
    if not row.is_delivered or newest is None or newest.by_id is not None:
        return False
    return services.change(preset=row, **facts).number != newest.number
