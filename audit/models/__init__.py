"""The trail: events that are never changed, and the personal data they refer to."""

from audit.models.event import AuditEvent, EventQuerySet
from audit.models.identity import Identity

__all__ = ["AuditEvent", "EventQuerySet", "Identity"]
