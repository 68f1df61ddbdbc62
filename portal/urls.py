"""One include per app."""

from django.urls import URLPattern, URLResolver, include, path

from jobs.views import (
    attention,
    cluster,
    cluster_tables,
    dictionary,
    home,
    operating,
    overview,
    people,
    project,
    taking_out,
    trail_exports,
)
from portal import allocation_urls, dataset_urls, health, views
from portal.api import absent, api
from presets import urls as preset_urls
from projects.views import joining, mine, opening
from quotas.views import asked

# These pages join rooms, so they live in the highest room they show.
PROJECTS = [
    path("", mine.projects, name="list"),
    path("list.csv", mine.projects_csv, name="csv"),
    path("<slug:code>", project.project, name="detail"),
    path("<slug:code>/trail", project.trail, name="trail"),
    path("<slug:code>/trail/exports", trail_exports.exports, name="trail_exports"),
    path("<slug:code>/trail/exports/new", trail_exports.new_export, name="trail_new_export"),
    path("<slug:code>/trail/exports/<uuid:pk>", trail_exports.export, name="trail_export"),
    path("<slug:code>/trail/exports/<uuid:pk>/download", trail_exports.download, name="trail_download"),
    path("<slug:code>/people", people.people, name="people"),
    path("<slug:code>/people.csv", taking_out.people_csv, name="people_csv"),
    path("<slug:code>/people/<str:login>", people.member, name="member"),
    path("<slug:code>/people/<str:login>/change", people.change, name="change_member"),
    path("<slug:code>/people/<str:login>/remove", people.remove, name="remove_member"),
    path("<slug:code>/join", joining.join, name="join"),
    path("<slug:code>/requests/<uuid:pk>/let-in", joining.let_in, name="let_in"),
    path("<slug:code>/requests/<uuid:pk>/turn-away", joining.turn_away, name="turn_away"),
    path("<slug:code>/edit", opening.edit, name="edit"),
    path("<slug:code>/listing", opening.listing, name="listing"),
    path("<slug:code>/archive", opening.archive, name="archive"),
]
OPERATE = [
    path("projects", overview.projects, name="list"),
    path("projects.csv", overview.projects_csv, name="projects_csv"),
    path("projects/new", opening.open_project, name="open_project"),
    path("people", opening.people, name="people"),
    path("attention", attention.attention, name="attention"),
    path("requests", overview.requests, name="requests"),
    path("requests/<uuid:pk>/refuse", opening.refuse, name="refuse_project"),
    *allocation_urls.OPERATE,
]
CLUSTER = [
    path("", cluster.cluster, name="overview"),
    path("nodes.csv", cluster_tables.nodes_csv, name="nodes_csv"),
    path("queues.csv", cluster_tables.queues_csv, name="queues_csv"),
    path("outside.csv", cluster_tables.outside_csv, name="outside_csv"),
    path("nodes/<str:name>/gpus.csv", cluster_tables.gpus_csv, name="gpus_csv"),
    path("nodes/<str:name>", operating.node, name="node"),
    path("nodes/<str:name>/<slug:change>", operating.change_node, name="change_node"),
    path("operate", operating.operate, name="operate"),
    path("windows", operating.plan, name="plan"),
    path("windows/<int:pk>/cancel", operating.cancel_window, name="cancel_window"),
    path("announcements", operating.announce, name="announce"),
    path("announcements/<int:pk>/end", operating.end_announcement, name="end_announcement"),
    path("announcements/<int:pk>/dismiss", operating.dismiss, name="dismiss"),
]
ASKING = [
    path("", asked.asked, name="list"),
    path("project", mine.ask_project, name="project"),
    path("<uuid:pk>/withdraw", joining.withdraw, name="withdraw"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("help", views.help_page, name="help"),
    path("language", views.language, name="set_language"),
    path("", include("accounts.urls")),
    path("jobs/", include("jobs.urls")),
    path("dictionary", dictionary.entries, name="dictionary"),
    path("projects/", include((PROJECTS, "projects"))),
    path("projects/", include("storage.urls")),
    path("projects/", include("jobs.urls_environments")),
    path("projects/", include((allocation_urls.ALLOCATIONS, "allocations"))),
    path("datasets/", include((dataset_urls.DATASETS, "datasets"))),
    path("projects/", include((dataset_urls.OF_PROJECTS, "datasets_of"))),
    path("presets/", include((preset_urls.PRESETS, "presets"))),
    path("projects/", include((preset_urls.OF_PROJECTS, "presets_of"))),
    path("software/", include((preset_urls.SOFTWARE, "software"))),
    path("data/", include((dataset_urls.BESIDE, "data"))),
    path("incidents/", include((dataset_urls.INCIDENTS, "incidents"))),
    path("operate/", include((OPERATE, "operate"))),
    path("ask/", include((ASKING, "ask"))),
    path("cluster/", include((CLUSTER, "cluster"))),
    path("audit/", include("audit.urls")),
    path("api/v1/", api.urls),
    path("api/", absent, name="api-absent"),
    path("api/<path:rest>", absent, name="api-absent"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
]
