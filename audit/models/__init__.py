"""The trail: events that are never changed, the people they refer to, and the seals that prove them."""

from audit.models.event import AuditEvent, EventQuerySet
from audit.models.identity import Identity
from audit.models.seal import AuditSeal, Checkpoint

__all__ = ["AuditEvent", "AuditSeal", "Checkpoint", "EventQuerySet", "Identity"]
