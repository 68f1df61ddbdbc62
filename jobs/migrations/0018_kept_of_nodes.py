"""What a job used of its nodes is kept with what is kept of its GPUs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0017_found_by_words"),
    ]

    operations = [
        migrations.AddField(model_name="gpusummary", name="hosts", field=models.JSONField(default=dict)),
    ]
