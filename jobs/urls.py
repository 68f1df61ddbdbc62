"""Addresses of jobs."""

from django.urls import path

from jobs.views import acts, asking, curves, files, gpus, importing, lists, one, output, repeating, taking_out, tasks

app_name = "jobs"
urlpatterns = [
    path("", lists.jobs, name="list"),
    path("list.csv", taking_out.jobs_csv, name="csv"),
    path("new", asking.submit, name="submit"),
    path("compare", repeating.compare, name="compare"),
    path("compare/curves", curves.together, name="compare_curves"),
    path("curves-of/<slug:code>", curves.pattern, name="pattern"),
    path("<uuid:pk>/tasks", tasks.act, name="tasks_act"),
    path("<uuid:pk>/tasks.csv", tasks.csv, name="tasks_csv"),
    path("<uuid:pk>/tasks/<int:number>", tasks.task, name="task"),
    path("<uuid:pk>/tasks/<int:number>/log", output.log, name="task_log"),
    path("<uuid:pk>/tasks/<int:number>/log/find", output.find, name="task_find"),
    path("<uuid:pk>/tasks/<int:number>/log/download", output.download, name="task_download"),
    path("<uuid:pk>/why", one.why, name="why"),
    path("<uuid:pk>/chain", one.chain, name="chain"),
    path("<uuid:pk>/curves", curves.part, name="curves"),
    path("views", lists.save_view, name="save_view"),
    path("acts", acts.several, name="several"),
    path("import", importing.bring, name="import"),
    path("drafts", importing.listed, name="drafts"),
    path("drafts/ask", importing.ask, name="ask_drafts"),
    path("drafts/<uuid:pk>", importing.draft, name="draft"),
    path("drafts/<uuid:pk>/delete", importing.delete, name="delete_draft"),
    path("<uuid:pk>/act", acts.act, name="act"),
    path("<uuid:pk>/label", acts.label, name="label"),
    path("<uuid:pk>", one.detail, name="detail"),
    path("<uuid:pk>/live", one.live, name="live"),
    path("<uuid:pk>/after", one.after, name="after"),
    path("<uuid:pk>/cancel", asking.cancel, name="cancel"),
    path("<uuid:pk>/gpus", gpus.strip, name="gpus"),
    path("<uuid:pk>/moment", gpus.moment, name="moment"),
    path("<uuid:pk>/files", files.files, name="files"),
    path("<uuid:pk>/log", output.log, name="log"),
    path("<uuid:pk>/log/find", output.find, name="log_find"),
    path("<uuid:pk>/log/download", output.download, name="log_download"),
]
