"""What the GPUs of a job did, and what to ask for next time. Pure: numbers in, sentences out."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

TOLD = 60.0  # seconds of a run below which its use says nothing
NEVER = 2.0  # % of utilisation, and of the time, that a card that did nothing may have
LITTLE, OFTEN_IDLE = 0.25, 0.5
LONG_IDLE = 15 * 60.0  # seconds
READ = 0.5  # share of a run that must have been read


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    """One GPU of a run: % and MiB; shares from 0 to 1; None where nothing was read."""

    name: str
    mean: float | None
    most: float | None
    memory: float | None
    memory_total: float | None
    active_share: float | None
    longest_idle: float
    measured: float

    @property
    def is_unused(self) -> bool:
        """Whether it did next to nothing: a driver that starts, or whoever had it before, gives it a busy second."""
        if self.most is None or self.mean is None or self.active_share is None:
            return False
        return self.most <= NEVER or (self.mean <= NEVER and 100 * self.active_share <= NEVER)


@dataclasses.dataclass(frozen=True, slots=True)
class GpuUse:
    """The GPUs of one run of `seconds`; `asked`: how many it held."""

    seconds: float
    asked: int
    cards: tuple[Card, ...]

    @classmethod
    def of(cls, seconds: float, asked: int, rows: Sequence[Mapping[str, Any]]) -> GpuUse:
        """From what is kept of a job."""
        several = len({row["node"] for row in rows}) > 1
        cards = [
            Card(
                f"{row['node']}:{row['gpu']}" if several else row["gpu"],
                row["mean"], row["most"], row["memory"],
                row["memory_total"], row["active_share"], row["longest_idle"], row["measured"],
            )
            for row in rows
        ]  # fmt: skip
        return cls(seconds, max(asked, len(cards)), tuple(cards))

    @property
    def hours(self) -> float:
        """GPU-hours it held."""
        return self.asked * self.seconds / 3600

    @property
    def active_hours(self) -> float | None:
        """GPU-hours in which they did something; None where too little was read to tell."""
        shares = [card.active_share for card in self.cards if card.active_share is not None]
        return sum(shares) * self.seconds / 3600 if self.is_told else None

    @property
    def active_share(self) -> float | None:
        """The same as a share of what it held."""
        return self.active_hours / self.hours if self.active_hours is not None and self.hours else None

    @property
    def is_told(self) -> bool:
        """Whether every card was read for most of the run."""
        return (
            self.seconds > 0
            and len(self.cards) == self.asked > 0
            and all(card.measured >= READ and card.active_share is not None for card in self.cards)
        )

    @property
    def utilization(self) -> float | None:
        """Mean over all cards, in %."""
        means = [card.mean for card in self.cards if card.mean is not None]
        return statistics.fmean(means) if means else None

    @property
    def memory_share(self) -> float | None:
        """The fullest card's peak, as a share of its memory."""
        shares = [c.memory / c.memory_total for c in self.cards if c.memory is not None and c.memory_total]
        return max(shares, default=None)


def advise(use: GpuUse) -> list[Text]:
    """What to ask for next time, most useful first; nothing for a run too short, or too little read, to tell."""
    if use.seconds < TOLD or not use.is_told:
        return []
    return [said for said in (_unused(use), _idle(use), _memory(use)) if said]


def _unused(use: GpuUse) -> Text | None:
    unused = [card.name for card in use.cards if card.is_unused]
    if not unused:
        return None
    if len(unused) == use.asked:
        return _("Its GPUs did next to nothing: ask for none, or look why the program does not find them.")
    return format_lazy(
        _("Of its {all} GPUs these did next to nothing: {names}. Ask for {n} next time, or let the program use all of "
          "them."),
        all=use.asked, names=", ".join(f"GPU {name}" for name in unused), n=use.asked - len(unused),
    )  # fmt: skip


def _idle(use: GpuUse) -> Text | None:
    busy = [card for card in use.cards if not card.is_unused]
    if not busy:
        return None
    longest = max(busy, key=lambda card: card.longest_idle)
    shares = [card.active_share for card in busy if card.active_share is not None]
    if longest.longest_idle >= LONG_IDLE:
        return format_lazy(
            _("GPU {name} did nothing for {n} minutes on end: end the job when its work is done, or give that part of "
              "the work to a job without GPUs."),
            name=longest.name, n=round(longest.longest_idle / 60),
        )  # fmt: skip
    if statistics.fmean(shares) < OFTEN_IDLE:
        return format_lazy(
            _("Its GPUs did nothing {share} % of the time: they wait for data or CPUs. More CPUs per GPU, or data "
              "prepared beforehand, may help."),
            share=round(100 * (1 - statistics.fmean(shares))),
        )  # fmt: skip
    return None


def _memory(use: GpuUse) -> Text | None:
    share = use.memory_share
    if share is None or share >= LITTLE or all(card.is_unused for card in use.cards):
        return None
    return format_lazy(
        _("It used at most {share} % of the memory of a GPU: larger batches fit, or a smaller GPU does."),
        share=max(1, round(100 * share)),
    )  # fmt: skip
