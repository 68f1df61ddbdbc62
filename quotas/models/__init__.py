"""How much a project may use: allocations and shares, holds and usage, requests, and what Slurm knows of it."""

from quotas.models.allocation import Allocation, AllocationQuerySet, FundingSource, Share
from quotas.models.enforcement import Enforcement
from quotas.models.request import AllocationRequest, Comment, Kind
from quotas.models.usage import Hold, Usage

__all__ = [
    "Allocation", "AllocationQuerySet", "AllocationRequest", "Comment", "Enforcement", "FundingSource", "Hold", "Kind",
    "Share", "Usage",
]  # fmt: skip
