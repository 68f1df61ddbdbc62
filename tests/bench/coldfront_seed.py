"""Runs in ColdFront's shell: 1,000 projects with six people and an allocation each, and an administrator's session."""

# mypy: ignore-errors
import datetime
import random

from coldfront.core.allocation.models import Allocation, AllocationStatusChoice
from coldfront.core.field_of_science.models import FieldOfScience
from coldfront.core.project.models import (
    Project,
    ProjectStatusChoice,
    ProjectUser,
    ProjectUserRoleChoice,
    ProjectUserStatusChoice,
)
from coldfront.core.resource.models import Resource, ResourceType
from coldfront.core.user.models import UserProfile
from django.contrib.auth.models import User
from django.test import Client

COUNT, MEMBERS = 1000, 5
random.seed(7)
User.objects.bulk_create(
    User(username=f"u{n:05d}", first_name=f"F{n}", last_name=f"L{n}", email=f"u{n}@example.org")
    for n in range(2 * COUNT)
)
people = list(User.objects.filter(username__startswith="u").order_by("username"))
known = set(UserProfile.objects.values_list("user_id", flat=True))
UserProfile.objects.bulk_create(
    UserProfile(user=one, is_pi=n < COUNT) for n, one in enumerate(people) if one.pk not in known
)
admin = User.objects.create_superuser("admin", "admin@example.org", "admin")
status, field = ProjectStatusChoice.objects.get(name="Active"), FieldOfScience.objects.first()
Project.objects.bulk_create(
    Project(title=f"Project {n}", pi=people[n], description="d" * 200, field_of_science=field, status=status)
    for n in range(COUNT)
)
manager = ProjectUserRoleChoice.objects.get(name="Manager")
member = ProjectUserRoleChoice.objects.get(name="User")
active = ProjectUserStatusChoice.objects.get(name="Active")
rows = []
for project in Project.objects.select_related("pi"):
    rows.append(ProjectUser(user=project.pi, project=project, role=manager, status=active))
    rows += [
        ProjectUser(user=one, project=project, role=member, status=active)
        for one in random.sample(people[COUNT:], MEMBERS)
    ]
ProjectUser.objects.bulk_create(rows)
kind = ResourceType.objects.get(name="Cluster")
gpu = Resource.objects.create(
    resource_type=kind, name="GPU", description="GPUs", is_allocatable=True, is_available=True, is_public=True
)
today, given = datetime.date.today(), AllocationStatusChoice.objects.get(name="Active")
Allocation.objects.bulk_create(
    Allocation(
        project=one, status=given, quantity=1, start_date=today, end_date=today + datetime.timedelta(days=300),
        justification="j",
    )
    for one in Project.objects.all()
)  # fmt: skip
link = Allocation.resources.through
link.objects.bulk_create(
    link(allocation_id=pk, resource_id=gpu.pk) for pk in Allocation.objects.values_list("pk", flat=True)
)
caller = Client()
caller.force_login(admin)
print("SESSION", caller.cookies["sessionid"].value)
