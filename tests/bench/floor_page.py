"""The bare Django page itself: session, person, 50 rows by keyset, a count from the catalogue, one plain template.

`python -m tests.bench.floor_page` prepares the database and prints a session; gunicorn serves `application`.
"""

from __future__ import annotations

import django
from django.conf import settings

LIST = """<!doctype html><title>audit</title>{{ user.username }} {{ count }}<table>{% for row in rows %}
<tr><td>{{ row.id }}<td>{{ row.at|date:"c" }}<td>{{ row.actor_id }}<td>{{ row.action }}<td>{{ row.object_type }}
<td>{{ row.object_id }}<td>{{ row.address }}</tr>{% endfor %}</table>"""
settings.configure(
    SECRET_KEY="a floor keeps no secret",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "bench_floor",
            "USER": "postgres",
            "HOST": "/srv/var/run/pg",
            "CONN_MAX_AGE": 300,
        }
    },
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [
                    (
                        "django.template.loaders.cached.Loader",
                        [("django.template.loaders.locmem.Loader", {"list": LIST})],
                    )
                ],
                "context_processors": ["django.contrib.auth.context_processors.auth"],
            },
        }
    ],
)
django.setup()

from django.contrib.auth.decorators import login_required  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.shortcuts import render  # noqa: E402
from django.urls import path  # noqa: E402

PAGE = 50


class Audit(models.Model):
    """The table of tests.bench.floor."""

    at = models.DateTimeField()
    actor_id = models.IntegerField()
    action = models.TextField()
    object_type = models.TextField()
    object_id = models.BigIntegerField()
    address = models.GenericIPAddressField()

    class Meta:
        app_label, db_table, managed = "floor", "audit", False

    def __str__(self) -> str:
        return self.action


@login_required
def page(request: HttpRequest) -> HttpResponse:
    """What a page of a list cannot do without."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE relname = 'audit'")
        count = cursor.fetchone()[0]
    return render(request, "list", {"rows": Audit.objects.order_by("-at", "-id")[:PAGE], "count": count})


urlpatterns = [path("", page)]
application = get_wsgi_application()


def prepare() -> str:
    """Tables of Django's own, one person, one session."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    client = Client()
    client.force_login(User.objects.create_user("somebody"))
    return client.cookies["sessionid"].value


if __name__ == "__main__":
    print(prepare())
