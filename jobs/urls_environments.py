"""Addresses of a project's environments."""

from django.urls import path

from jobs.views import environments

app_name = "environments"
urlpatterns = [
    path("<slug:code>/environments", environments.listed, name="list"),
    path("<slug:code>/environments/new", environments.add, name="add"),
    path("<slug:code>/environments/<uuid:pk>", environments.detail, name="detail"),
    path("<slug:code>/environments/<uuid:pk>/rebuild", environments.rebuild, name="rebuild"),
    path("<slug:code>/environments/<uuid:pk>/retire", environments.retire, name="retire"),
    path("<slug:code>/environments/<uuid:pk>/offer", environments.offer, name="offer"),
    path("<slug:code>/environments/<uuid:pk>/delete", environments.delete, name="delete"),
]
