"""`{% can "JOB_CANCEL" job as allowed %}`: the one way a template asks about rights."""

from typing import Any

from django import template
from django.db.models import Model

from access import gate
from access.permissions import Permission

register = template.Library()


@register.simple_tag(takes_context=True)
def can(context: dict[str, Any], name: str, row: Model) -> bool:
    """Whether the signed-in person holds this permission on this row."""
    return gate.can(row, context["request"].user, Permission[name])
