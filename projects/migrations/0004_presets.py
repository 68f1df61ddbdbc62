"""Who may make the project's presets: granted to those who are PI or manager already."""

from django.db import migrations
from django.db.models import Q
from django.utils import timezone

PERMISSIONS = [
    ("project_view", "project view"),
    ("project_lead", "project lead"),
    ("member_manage", "member manage"),
    ("allocation_request", "allocation request"),
    ("job_view", "job view"),
    ("job_submit", "job submit"),
    ("job_cancel", "job cancel"),
    ("log_read", "log read"),
    ("trail_read", "trail read"),
    ("preset_manage", "preset manage"),
    ("job_cancel_own", "job cancel own"),
]


def grant(apps, schema_editor):
    """The permission's row is otherwise made after all migrations, and the grant needs it now."""
    now = timezone.now()
    those = apps.get_model("projects", "Membership").objects.filter(
        Q(ends_at=None) | Q(ends_at__gt=now), starts_at__lte=now, role__in=["pi", "manager"]
    )
    if not those.exists():
        return
    kind, _made = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="projects", model="project"
    )
    permission, _made = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=kind, codename="preset_manage", defaults={"name": "preset manage"}
    )
    rows = apps.get_model("projects", "ProjectGrant")
    rows.objects.bulk_create(
        [
            rows(content_object_id=project, user_id=user, permission=permission)
            for project, user in those.values_list("project_id", "user_id").distinct()
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("projects", "0003_found_and_led")]

    operations = [
        migrations.AlterModelOptions(name="project", options={"ordering": ("title",), "permissions": PERMISSIONS}),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
