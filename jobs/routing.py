"""Addresses of sockets."""

from typing import Any

from django.urls import path

from jobs import consumers

websocket_urlpatterns: list[Any] = [
    path("ws/jobs/<uuid:pk>", consumers.JobConsumer.as_asgi()),
    path("ws/jobs/<uuid:pk>/log", consumers.LogConsumer.as_asgi()),
    path("ws/jobs/<uuid:pk>/tasks/<int:task>/log", consumers.LogConsumer.as_asgi()),
]
