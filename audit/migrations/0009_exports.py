import access.ids
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0008_desk"),
    ]

    operations = [
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.UUIDField(default=access.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                (
                    "form",
                    models.CharField(
                        choices=[
                            ("jsonl", "evidence (JSON lines)"),
                            ("bundle", "signed bundle with the verifier"),
                            ("csv", "table (CSV), to be read"),
                            ("ocsf", "OCSF (JSON lines)"),
                            ("ecs", "ECS (JSON lines)"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("writing", "being written"),
                            ("signing", "waiting for the signature"),
                            ("ready", "ready"),
                            ("streamed", "downloaded at once"),
                            ("failed", "failed"),
                            ("gone", "file deleted after its time"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("asked_by_id", models.BigIntegerField(null=True)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("project_id", models.BigIntegerField(null=True)),
                ("project_code", models.CharField(blank=True, max_length=40, verbose_name="project")),
                ("whole", models.BooleanField(default=False)),
                ("language", models.CharField(blank=True, max_length=10)),
                ("wanted", models.JSONField(default=dict)),
                ("after", models.BigIntegerField(default=0)),
                ("last", models.BigIntegerField()),
                ("done", models.BigIntegerField(default=0)),
                ("written", models.BigIntegerField(default=0)),
                ("count", models.BigIntegerField(default=0)),
                ("size", models.BigIntegerField(null=True)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("manifest", models.TextField(blank=True)),
                ("signature", models.CharField(blank=True, max_length=128)),
                ("key_id", models.CharField(blank=True, max_length=16)),
                ("public_key", models.TextField(blank=True)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("finished_at", models.DateTimeField(null=True)),
                ("told_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("checkpoint", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="audit.checkpoint")),
            ],
            options={
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["project_id", "-id"], name="export_project"),
                    models.Index(
                        condition=models.Q(("state__in", ("waiting", "writing", "signing"))),
                        fields=["id"],
                        name="export_open",
                    ),
                ],
            },
        ),
    ]
