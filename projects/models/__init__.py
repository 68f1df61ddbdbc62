"""Who works together: projects, memberships and what is asked for."""

from projects.models.membership import Membership, MembershipQuerySet, OnEnd
from projects.models.project import Classification, Project, ProjectGrant, ProjectState, code_validator
from projects.models.request import JoinRequest, ProjectRequest, Request, RequestState

__all__ = [
    "Classification", "JoinRequest", "Membership", "MembershipQuerySet", "OnEnd", "Project", "ProjectGrant",
    "ProjectRequest", "ProjectState", "Request", "RequestState", "code_validator",
]  # fmt: skip
