"""What people type about allocations: amounts in GPU-hours, which are kept as minutes; shares, funding, requests."""

from quotas.forms.allocations import AllocationForm, FundingForm, NewAllocationForm, ShareForm, WhyForm
from quotas.forms.fields import blame
from quotas.forms.requests import CommentForm, DecisionForm, RequestForm

__all__ = [
    "AllocationForm", "CommentForm", "DecisionForm", "FundingForm", "NewAllocationForm", "RequestForm", "ShareForm",
    "WhyForm", "blame",
]  # fmt: skip
