"""What changes datasets and who may use them; each noun has its own module."""

from datasets.services.asking import AlreadyRevoked, NotOpen, OutsideAgreement, OwnRequest
from datasets.services.registering import Incomplete, NotDraft, StillGoverned
from datasets.services.using import NotPermitted, Permitted, declare, ended, permitted, refused, started

__all__ = [
    "AlreadyRevoked", "Incomplete", "NotDraft", "NotOpen", "NotPermitted", "OutsideAgreement", "OwnRequest",
    "Permitted", "StillGoverned", "declare", "ended", "permitted", "refused", "started",
]  # fmt: skip
