"""Addresses of jobs."""

from django.urls import path

from jobs.views import asking, lists, one, output, taking_out

app_name = "jobs"
urlpatterns = [
    path("", lists.jobs, name="list"),
    path("list.csv", taking_out.jobs_csv, name="csv"),
    path("new", asking.submit, name="submit"),
    path("<uuid:pk>", one.detail, name="detail"),
    path("<uuid:pk>/live", one.live, name="live"),
    path("<uuid:pk>/after", one.after, name="after"),
    path("<uuid:pk>/cancel", asking.cancel, name="cancel"),
    path("<uuid:pk>/log", output.log, name="log"),
    path("<uuid:pk>/log/find", output.find, name="log_find"),
    path("<uuid:pk>/log/download", output.download, name="log_download"),
]
