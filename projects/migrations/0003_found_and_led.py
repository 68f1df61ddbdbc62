"""Projects that may be found; what only a PI may do, granted to those who are PI already."""

import django.core.validators
from django.db import migrations, models
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
    ("job_cancel_own", "job cancel own"),
]

CLASSES = [
    ("public", "public"),
    ("internal", "internal"),
    ("confidential", "confidential"),
    ("personal", "personal"),
    ("sensitive", "sensitive personal"),
]


def grant_to_pis(apps, schema_editor):
    """The permission's row is otherwise made after all migrations, and the grant needs it now."""
    now = timezone.now()
    pis = apps.get_model("projects", "Membership").objects.filter(
        Q(ends_at=None) | Q(ends_at__gt=now), starts_at__lte=now, role="pi"
    )
    if not pis.exists():
        return
    kind, _made = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="projects", model="project"
    )
    permission, _made = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=kind, codename="project_lead", defaults={"name": "project lead"}
    )
    grant = apps.get_model("projects", "ProjectGrant")
    grant.objects.bulk_create(
        [
            grant(content_object_id=project, user_id=user, permission=permission)
            for project, user in pis.values_list("project_id", "user_id").distinct()
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0002_governance"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.AlterModelOptions(name="project", options={"ordering": ("title",), "permissions": PERMISSIONS}),
        migrations.AddField(
            model_name="project",
            name="is_listed",
            field=models.BooleanField(default=False, verbose_name="can be found by everybody who signs in"),
        ),
        migrations.AlterField(
            model_name="project",
            name="unix_group",
            field=models.CharField(
                max_length=32,
                validators=[
                    django.core.validators.RegexValidator(
                        "\\A[A-Za-z_][A-Za-z0-9_.-]{0,31}\\Z",
                        "Use letters, digits, _, . or -; the first is a letter or _.",
                    )
                ],
                verbose_name="Unix group",
            ),
        ),
        migrations.AlterField(
            model_name="project",
            name="folder",
            field=models.CharField(
                max_length=300,
                validators=[
                    django.core.validators.RegexValidator(
                        "\\A(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)+\\Z",
                        "Give the whole path from /, in letters, digits, _, -, + and . without accents or spaces.",
                    )
                ],
                verbose_name="folder",
            ),
        ),
        *(
            migrations.AlterField(
                model_name=model,
                name="classification",
                field=models.CharField(
                    choices=CLASSES, default="internal", max_length=12, verbose_name="data classification"
                ),
            )
            for model in ("project", "projectrequest")
        ),
        migrations.RunPython(grant_to_pis, migrations.RunPython.noop),
    ]
