"""Addresses of sign-in, sessions, tokens and preferences."""

from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("sign-in", views.sign_in, name="sign_in"),
    path("sign-in/next-step", views.must_change, name="must_change"),
    path("sign-out", views.sign_out, name="sign_out"),
    path("sessions", views.sessions, name="sessions"),
    path("sessions/end-all", views.end_sessions, name="end_sessions"),
    path("sessions/<int:pk>/end", views.end_session, name="end_session"),
    path("tokens", views.tokens, name="tokens"),
    path("tokens/<uuid:pk>/revoke", views.revoke_token, name="revoke_token"),
    path("preferences", views.preferences, name="preferences"),
]
