"""Addresses of the trail."""

from django.urls import path

from audit import views

app_name = "audit"
urlpatterns = [path("", views.events, name="list")]
