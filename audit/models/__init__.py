"""The trail: events that are never changed, the people they refer to, what proves them, and how long all is kept."""

from audit.models.desk import GuestAuditor, Pseudonym, RightsTable, SavedFilter, Verdict, Verification
from audit.models.event import AuditEvent, EventQuerySet
from audit.models.export import Export
from audit.models.identity import Identity
from audit.models.keeping import LegalHold, RemovedBody, RetentionRule
from audit.models.seal import AuditSeal, Checkpoint, Outbox

__all__ = [
    "AuditEvent", "AuditSeal", "Checkpoint", "EventQuerySet", "Export", "GuestAuditor", "Identity", "LegalHold",
    "Outbox", "Pseudonym", "RemovedBody", "RetentionRule", "RightsTable", "SavedFilter", "Verdict", "Verification",
]  # fmt: skip
