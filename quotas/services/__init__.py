"""How much a project may use: giving, dividing, holding, booking."""

from quotas.services.allocations import (
    NotMember,
    add_funding,
    change_allocation,
    change_funding,
    close_allocation,
    create_allocation,
    make_default,
    set_share,
)
from quotas.services.holding import Balance, NoAllocation, balance, choose, hold, hold_all, release, take_again
from quotas.services.limits import OverAllocation
from quotas.services.sharing import divide
from quotas.services.usage import RunFacts, book, refresh

__all__ = [
    "Balance", "NoAllocation", "NotMember", "OverAllocation", "RunFacts", "add_funding", "balance", "book",
    "change_allocation", "change_funding", "choose", "close_allocation", "create_allocation", "divide", "hold",
    "hold_all", "make_default", "refresh", "release", "set_share", "take_again",
]  # fmt: skip
