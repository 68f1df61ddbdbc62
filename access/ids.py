"""Identifiers that sort by time and cannot be guessed: UUID version 7 (RFC 9562)."""

import secrets
import time
import uuid


def uuid7() -> uuid.UUID:
    """48 bits of Unix milliseconds, 12 of the fraction (a quarter of a microsecond: RFC 9562, 6.2), 62 random ones.

    Two made one after the other in one process sort in that order.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = rest * 4096 // 1_000_000
    value = (milliseconds << 80) | (0x7 << 76) | (fraction << 64) | (0b10 << 62) | secrets.randbits(62)
    return uuid.UUID(int=value)


def first_at(moment: float) -> uuid.UUID:
    """The lowest identifier that can have been made at this moment (Unix seconds): all made since sort above it."""
    return uuid.UUID(int=max(0, int(moment * 1000)) << 80)
