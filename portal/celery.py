"""The Celery app and its timetable. Messages are bells: they carry no rows and losing one loses nothing.

The process that only rings them (BANCADA_PROCESS=beat) loads no Django: a third of the memory, and of all secrets it
is told the broker's address alone.
"""

import logging
import os
from typing import Any

import environ
from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
BEAT = os.environ.get("BANCADA_PROCESS") == "beat"
app = Celery("bancada", fixups=[] if BEAT else None)
if BEAT:
    app.conf.broker_url = environ.FileAwareEnv().str("BANCADA_BROKER_URL")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
else:
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.autodiscover_tasks()
app.conf.update(
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    accept_content=["json"],
    task_serializer="json",
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_cancel_long_running_tasks_on_connection_loss=True,
    broker_connection_retry_on_startup=True,
    # a broker that is silent must not hold a request; a worker's own wait for work is 1 s at a time
    broker_transport_options={"visibility_timeout": 900, "socket_timeout": 2.5, "socket_connect_timeout": 1.0},
    task_soft_time_limit=150,
    task_time_limit=170,
    task_default_queue="default",
    task_routes={"slurm.*": {"queue": "slurm"}},
    beat_schedule={
        "hand over what waits": {"task": "slurm.hand_over", "schedule": 5.0},
        "carry out intents": {"task": "slurm.carry_out", "schedule": 5.0},
        "tell notices": {"task": "default.tell_notices", "schedule": 15.0},
        "sign passes to files": {"task": "slurm.sign_files", "schedule": 10.0},
        "measure a project's storage": {"task": "slurm.measure_storage", "schedule": 60.0},
        "apply limits": {"task": "slurm.apply_limits", "schedule": 5.0},
        "compare with Slurm's accounting": {"task": "slurm.reconcile", "schedule": 60.0},
        "renew tickets": {"task": "slurm.renew_tickets", "schedule": 3600.0},
        "look into what ended": {"task": "slurm.look_back", "schedule": 15.0},
        "sync with the directory": {"task": "default.sync_directory", "schedule": 300.0},
        "write last acts down": {"task": "default.note_sessions", "schedule": 60.0},
        "close memberships that are over": {"task": "default.close_expired", "schedule": 60.0},
        "warn of allocations that run out": {"task": "default.warn_allocations", "schedule": 600.0},
        "look after permissions to use datasets": {"task": "default.warn_datasets", "schedule": 600.0},
        "change nodes as asked": {"task": "slurm.operate", "schedule": 15.0},
        "look at the GPUs": {"task": "default.look_at_gpus", "schedule": 15.0},
        "keep what GPUs of ended jobs did": {"task": "default.keep_gpu_summaries", "schedule": 20.0},
        "verify the trail where somebody asked": {"task": "default.verify_trail", "schedule": 60.0},
        "make exports of the trail": {"task": "default.make_exports", "schedule": 10.0},
        "note the settings of the trail": {"task": "default.note_trail_settings", "schedule": 60.0},
        "mail the day's checkpoints": {"task": "default.mail_checkpoints", "schedule": 3600.0},
        "forget sessions that are over": {"task": "default.forget_sessions", "schedule": 3600.0},
    },
)


@setup_logging.connect
def _keep_ours(**_: Any) -> None:
    """Celery leaves logging to portal.log."""
