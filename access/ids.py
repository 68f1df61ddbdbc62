"""Identifiers that sort by time and cannot be guessed: UUID version 7 (RFC 9562)."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """48 bits of Unix milliseconds, then 74 random bits."""
    stamp = time.time_ns() // 1_000_000
    value = (stamp << 80) | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return uuid.UUID(int=value)


def first_at(moment: float) -> uuid.UUID:
    """The lowest identifier that can have been made at this moment (Unix seconds): all made since sort above it."""
    return uuid.UUID(int=max(0, int(moment * 1000)) << 80)
