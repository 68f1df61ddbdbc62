"""What a task of an array used of its GPUs and nodes is kept, as a job's is."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0018_kept_of_nodes"),
    ]

    operations = [
        migrations.CreateModel(
            name="TaskSummary",
            fields=[
                ("kept_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seconds", models.FloatField()),
                ("gpus", models.PositiveIntegerField()),
                ("cards", models.JSONField(default=list)),
                ("hosts", models.JSONField(default=dict)),
                ("active_share", models.FloatField(null=True)),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="summary",
                        serialize=False,
                        to="jobs.run",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
    ]
