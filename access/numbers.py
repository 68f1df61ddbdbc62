"""Whole numbers as people and addresses write them."""

from __future__ import annotations


def whole(text: str, *, digits: int) -> int | None:
    """The number that 1 to `digits` of the signs 0 to 9 say; None for anything else. `isdigit` alone takes "²", too."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
