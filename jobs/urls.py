"""Addresses of jobs."""

from django.urls import path

from jobs.views import acts, asking, gpus, lists, one, output, repeating, taking_out

app_name = "jobs"
urlpatterns = [
    path("", lists.jobs, name="list"),
    path("list.csv", taking_out.jobs_csv, name="csv"),
    path("new", asking.submit, name="submit"),
    path("compare", repeating.compare, name="compare"),
    path("acts", acts.several, name="several"),
    path("<uuid:pk>/act", acts.act, name="act"),
    path("<uuid:pk>/label", acts.label, name="label"),
    path("<uuid:pk>", one.detail, name="detail"),
    path("<uuid:pk>/live", one.live, name="live"),
    path("<uuid:pk>/after", one.after, name="after"),
    path("<uuid:pk>/cancel", asking.cancel, name="cancel"),
    path("<uuid:pk>/gpus", gpus.strip, name="gpus"),
    path("<uuid:pk>/moment", gpus.moment, name="moment"),
    path("<uuid:pk>/log", output.log, name="log"),
    path("<uuid:pk>/log/find", output.find, name="log_find"),
    path("<uuid:pk>/log/download", output.download, name="log_download"),
]
