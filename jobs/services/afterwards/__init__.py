"""After a job's end: what it used, what its output shows of why it failed, what to ask for next time."""

from jobs.services.afterwards.due import due
from jobs.services.afterwards.telling import Story, story

__all__ = ["Story", "due", "story"]
