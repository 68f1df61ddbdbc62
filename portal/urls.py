"""One include per app."""

from django.urls import URLPattern, URLResolver, path
from django.views.i18n import set_language

urlpatterns: list[URLPattern | URLResolver] = [
    path("language", set_language, name="set_language"),
]
