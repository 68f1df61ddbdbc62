"""The trail: events that are never changed, the people they refer to, what proves them, and how long all is kept."""

from audit.models.event import AuditEvent, EventQuerySet
from audit.models.identity import Identity
from audit.models.keeping import LegalHold, RemovedBody, RetentionRule
from audit.models.seal import AuditSeal, Checkpoint

__all__ = [
    "AuditEvent", "AuditSeal", "Checkpoint", "EventQuerySet", "Identity", "LegalHold", "RemovedBody", "RetentionRule",
]  # fmt: skip
