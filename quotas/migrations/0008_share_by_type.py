"""What a member may use of a GPU type."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("quotas", "0007_no_limit"),
    ]

    operations = [
        migrations.AddField(
            model_name="share",
            name="gpu_minutes_by_type",
            field=models.JSONField(blank=True, default=dict, verbose_name="GPU-minutes, by type"),
        ),
        migrations.AddField(
            model_name="share",
            name="gpus_by_type",
            field=models.JSONField(blank=True, default=dict, verbose_name="GPUs at once, by type"),
        ),
    ]
