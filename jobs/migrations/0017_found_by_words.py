"""Jobs are found by any part of their names and notes, by their number, by who asked and on what, among a million."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models
from django.db.models.functions import Upper


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0016_planned_at"),
    ]

    operations = [
        # making them takes seconds for a million jobs, and minutes for very many
        migrations.RunSQL("SET LOCAL statement_timeout = 0", migrations.RunSQL.noop),
        # `manage.py setup_roles` has made it: the owner of the tables may make none in the database
        TrigramExtension(),
        migrations.RemoveIndex(model_name="job", name="job_slurm_id"),
        migrations.AddIndex(
            model_name="job", index=models.Index(fields=["slurm_job_id", "cluster"], name="job_number")
        ),
        migrations.AddIndex(model_name="job", index=models.Index(fields=["owner_login", "-id"], name="job_login")),
        migrations.AddIndex(model_name="job", index=models.Index(fields=["gpu_type", "-id"], name="job_gpu")),
        migrations.AddIndex(
            model_name="job",
            index=GinIndex(
                OpClass(Upper("name"), "gin_trgm_ops"),
                OpClass(Upper("alias"), "gin_trgm_ops"),
                OpClass(Upper("note"), "gin_trgm_ops"),
                name="job_words",
                fastupdate=False,
            ),
        ),
    ]
