"""Notices: noted where something happens, told by a worker in the way each person chose, read on a page."""

from jobs.services.noticing.choosing import choose, ways_of
from jobs.services.noticing.noting import look_at_clock, note
from jobs.services.noticing.shown import mark_read, shown, unread
from jobs.services.noticing.telling import tell

__all__ = ["choose", "look_at_clock", "mark_read", "note", "shown", "tell", "unread", "ways_of"]
