"""Whole numbers as people and addresses write them."""

from __future__ import annotations

import pytest

from access.numbers import whole


@pytest.mark.parametrize("text", ["", "²", "1²", "٣", "-1", "+1", "1.0", " 1", "1\n", "1_0", "1234", "x"])
def test_what_is_no_number_of_three_digits(text: str) -> None:
    assert whole(text, digits=3) is None


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("999", 999)])
def test_what_is_one(text: str, number: int) -> None:
    assert whole(text, digits=3) == number
