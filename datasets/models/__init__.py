"""What data there is: datasets and their versions, terms, agreements, permissions to use, uses, security incidents."""

from datasets.models.agreement import Agreement, Duty, DutyKind
from datasets.models.dataset import (
    PERSONAL,
    Dataset,
    DatasetRight,
    DatasetState,
    Part,
    PartRole,
    Transfer,
    code_validator,
)
from datasets.models.grant import Access, Grant, GrantQuerySet, GrantRequest
from datasets.models.incident import Notice, NoticeTo, SecurityIncident
from datasets.models.terms import Acceptance, Terms
from datasets.models.use import DatasetUse
from datasets.models.version import DatasetVersion, label_validator
from datasets.models.words import LegalBasis, Purpose

__all__ = [
    "PERSONAL", "Acceptance", "Access", "Agreement", "Dataset", "DatasetRight", "DatasetState", "DatasetUse",
    "DatasetVersion", "Duty", "DutyKind", "Grant", "GrantQuerySet", "GrantRequest", "LegalBasis", "Notice", "NoticeTo",
    "Part", "PartRole", "Purpose", "SecurityIncident", "Terms", "Transfer", "code_validator", "label_validator",
]  # fmt: skip
