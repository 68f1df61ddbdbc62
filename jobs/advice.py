"""What a run used against what it asked for, and what to ask for next time. Pure: numbers in, sentences out."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.states import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

TOLD = 60.0  # seconds of a run below which its use says nothing
ROOM = 1.25  # asked for next time, beside what was used
LITTLE, TIGHT = 0.5, 0.9
GB = 1024.0


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """One job's asked and used: memory in MB for a node (of the largest task), times in seconds; None: not measured."""

    state: State
    seconds: float
    limit_seconds: float | None
    cpus: int
    cpu_seconds: float | None
    memory_mb: int
    peak_memory_mb: float | None
    gpus: int = 0

    @property
    def cpus_used(self) -> float | None:
        """How many CPUs were busy on average."""
        return self.cpu_seconds / self.seconds if self.cpu_seconds is not None and self.seconds > 0 else None

    @property
    def memory_share(self) -> float | None:
        """Peak of memory as a part of what was asked for."""
        known = self.peak_memory_mb is not None and self.memory_mb > 0
        return self.peak_memory_mb / self.memory_mb if known else None  # type: ignore[operator]

    @property
    def gpu_hours(self) -> float:
        """GPU-hours used."""
        return self.gpus * self.seconds / 3600

    @property
    def gpu_hours_asked(self) -> float | None:
        """GPU-hours that the request could have used."""
        return self.gpus * self.limit_seconds / 3600 if self.limit_seconds else None


def advise(use: Use) -> list[Text]:
    """What to ask for next time, most useful first; nothing for a run too short to tell."""
    if use.seconds < TOLD and use.state is not State.OUT_OF_MEMORY:
        return []
    return [said for said in (_memory(use), _time(use), _cpus(use)) if said]


def _memory(use: Use) -> Text | None:
    share = use.memory_share
    if use.state is State.OUT_OF_MEMORY:
        wanted = max(1, math.ceil(use.memory_mb * 1.5 / GB))
        return format_lazy(_("It ran out of memory: ask for {n} GB next time."), n=wanted)
    if share is None or use.peak_memory_mb is None:
        return None
    wanted = max(1, math.ceil(use.peak_memory_mb * ROOM / GB))
    if share > TIGHT:
        return format_lazy(_("It used almost all of its memory: ask for {n} GB next time."), n=wanted)
    if share < LITTLE and use.memory_mb - wanted * GB >= GB:
        return format_lazy(
            _("It used {share} % of its memory: {n} GB are enough next time, and it may start sooner."),
            share=max(1, round(100 * share)), n=wanted,
        )  # fmt: skip
    return None


def _time(use: Use) -> Text | None:
    limit = use.limit_seconds
    if limit is None:
        return None
    if use.state is State.TIMEOUT:
        return _("It ran out of time: ask for more, or let it save its state and go on from there.")
    if use.state is not State.COMPLETED or use.seconds >= LITTLE * limit:
        return None
    wanted = round_up(use.seconds * ROOM / 60)
    if wanted * 60 >= limit:
        return None
    return format_lazy(
        _("It needed {share} % of its time: with a limit of {n} minutes it may start sooner."),
        share=max(1, round(100 * use.seconds / limit)), n=wanted,
    )  # fmt: skip


def round_up(minutes: float) -> int:
    """To a number that people would write: 5 minutes below an hour, 15 below four, whole hours above."""
    step = 5 if minutes <= 60 else 15 if minutes <= 240 else 60
    return max(step, math.ceil(minutes / step) * step)


def _cpus(use: Use) -> Text | None:
    busy = use.cpus_used
    if busy is None or use.cpus < 2 or busy >= LITTLE * use.cpus:
        return None
    wanted = max(1, math.ceil(busy))
    if wanted >= use.cpus:
        return None
    return format_lazy(
        _("Of its {all} CPUs {busy} were busy on average: ask for {n} next time, or let it use more of them."),
        all=use.cpus, busy=f"{busy:.1f}", n=wanted,
    )  # fmt: skip


def killed_for(signal: int | None, exit_code: int | None, use: Use) -> Text | None:
    """Of a job that was killed: whether for its memory; None where it was not killed or nothing was measured."""
    if signal != 9 and exit_code != 137:
        return None
    share = use.memory_share
    if share is None:
        return None
    if share > TIGHT:
        return format_lazy(_("It had used {share} % of its memory: that is why."), share=round(100 * share))
    return format_lazy(
        _("It had used {share} % of its memory at the last look, so that something else may have killed it: itself, "
          "another program, or a sudden need for memory between two looks."),
        share=round(100 * share),
    )  # fmt: skip
