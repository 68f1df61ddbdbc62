"""One include per app."""

from django.urls import URLPattern, URLResolver, include, path

from jobs.views import home, lists, project
from portal import health, views
from portal.api import absent, api
from projects.views import projects

# These pages join rooms, so they live in the highest room they show.
PROJECTS = [
    path("", projects, name="list"),
    path("<slug:code>", project.project, name="detail"),
    path("<slug:code>/trail", project.trail, name="trail"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("help", views.help_page, name="help"),
    path("language", views.language, name="set_language"),
    path("", include("accounts.urls")),
    path("jobs/", include("jobs.urls")),
    path("projects/", include((PROJECTS, "projects"))),
    path("cluster/", include(([path("", lists.cluster, name="overview")], "cluster"))),
    path("audit/", include("audit.urls")),
    path("api/v1/", api.urls),
    path("api/", absent, name="api-absent"),
    path("api/<path:rest>", absent, name="api-absent"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
]
