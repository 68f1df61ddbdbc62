"""Addresses of presets, of a project's new one, and of environments."""

from django.urls import path

from presets.views import presets, software

PRESETS = [
    path("", presets.presets, name="list"),
    path("new", presets.add, name="add"),
    path("<uuid:pk>", presets.preset, name="detail"),
    path("<uuid:pk>/edit", presets.edit, name="edit"),
    path("<uuid:pk>/retire", presets.retire, name="retire"),
    path("<uuid:pk>/offer", presets.offer, name="offer"),
]
OF_PROJECTS = [path("<slug:code>/new-preset", presets.add_to_project, name="add")]
SOFTWARE = [
    path("", software.environments, name="list"),
    path("new", software.add, name="add"),
    path("<uuid:pk>/edit", software.edit, name="edit"),
    path("<uuid:pk>/retire", software.retire, name="retire"),
    path("<uuid:pk>/offer", software.offer, name="offer"),
]
