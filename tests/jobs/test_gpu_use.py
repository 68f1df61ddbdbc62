"""What is said of a job's GPUs at its end: numbers in, sentences out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation

from jobs.gpu_use import GpuUse, advise


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    with translation.override("en"):
        yield


def card(gpu: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "node": "gpu01", "gpu": str(gpu), "mean": 90.0, "most": 99.0, "memory": 30000, "memory_total": 40960,
        "active_share": 0.97, "longest_idle": 20.0, "measured": 1.0, "power": 300.0, "temperature": 60.0, "spark": [90, 95],
    } | changes  # fmt: skip


UNUSED: dict[str, Any] = {"mean": 0.0, "most": 0.0, "memory": 500, "active_share": 0.0, "longest_idle": 3600.0}


def said(*cards: dict[str, Any], seconds: float = 3600, asked: int | None = None) -> list[str]:
    return [str(text) for text in advise(GpuUse.of(seconds, asked or len(cards), cards))]


def test_a_job_that_used_its_gpus_hears_nothing() -> None:
    assert said(card(0), card(1)) == []


def test_gpus_that_did_nothing_are_named_with_the_next_request() -> None:
    (text,) = said(card(0), card(1, **UNUSED), card(2, **UNUSED), card(3, **UNUSED))
    assert "GPU 1, GPU 2, GPU 3." in text and "Ask for 1 next time" in text and "Of its 4 GPUs" in text


def test_a_busy_second_is_no_use() -> None:
    blip = UNUSED | {"mean": 1.0, "most": 80.0, "active_share": 0.01}
    (text,) = said(card(0), card(1, **blip))
    assert "these did next to nothing: GPU 1." in text
    assert "next to nothing" not in " ".join(said(card(0), card(1, **blip | {"active_share": 0.05, "mean": 4.0})))


def test_all_unused() -> None:
    (text,) = said(card(0, **UNUSED), card(1, **UNUSED))
    assert "ask for none" in text


def test_a_long_idle_end_is_told_in_minutes() -> None:
    (text,) = said(card(0), card(1, active_share=0.6, longest_idle=22 * 60))
    assert "GPU 1 did nothing for 22 minutes" in text


def test_waiting_for_data() -> None:
    (text,) = said(card(0, active_share=0.3), card(1, active_share=0.4))
    assert "65 % of the time" in text


def test_little_memory() -> None:
    (text,) = said(card(0, memory=4096))
    assert "10 %" in text


@pytest.mark.parametrize("cards", [[card(0, measured=0.2)], [card(0, active_share=None)], []])
def test_too_little_read_says_nothing(cards: list[dict[str, Any]]) -> None:
    assert said(*cards, asked=1) == []
    assert GpuUse.of(3600, 1, cards).active_hours is None


def test_a_card_that_was_never_seen_is_no_card_that_did_nothing() -> None:
    use = GpuUse.of(3600, 4, [card(0)])
    assert not use.is_told and advise(use) == []


def test_a_short_run_says_nothing() -> None:
    assert said(card(0, **UNUSED), seconds=30) == []


def test_hours_held_and_active() -> None:
    use = GpuUse.of(7200, 2, [card(0, active_share=1.0), card(1, active_share=0.5)])
    assert (use.hours, use.active_hours, use.active_share) == (4, 3, 0.75)


def test_cards_of_several_nodes_have_the_nodes_name() -> None:
    use = GpuUse.of(60, 2, [card(0), card(0, node="gpu02")])
    assert [one.name for one in use.cards] == ["gpu01:0", "gpu02:0"]
