"""What changes a project and who is in it."""

from projects.services.change import APPLY, lock, touched
from projects.services.grants import expected_grants, held_grants
from projects.services.members import (
    AlreadyMember,
    LastPI,
    NotMember,
    PastExpiry,
    add_member,
    change_member,
    change_role,
    close_expired,
    remove_member,
    set_expiry,
)
from projects.services.opening import archive_project, change_project, open_for, open_project, reopen_project
from projects.services.requests import (
    AlreadyAsked,
    Decided,
    ask_project,
    ask_to_join,
    decide,
    grant_project,
    let_in,
    refuse_project,
    turn_away,
    withdraw,
)

__all__ = [
    "APPLY", "AlreadyAsked", "AlreadyMember", "Decided", "LastPI", "NotMember", "PastExpiry", "add_member",
    "archive_project", "ask_project", "ask_to_join", "change_member", "change_project", "change_role",
    "close_expired", "decide", "expected_grants", "grant_project", "held_grants", "let_in", "lock", "open_for",
    "open_project", "refuse_project", "remove_member", "reopen_project", "set_expiry", "touched", "turn_away",
    "withdraw",
]  # fmt: skip
