"""Addresses of the trail."""

from django.urls import path

from audit.views import access, desk, events, exports, holds, keeping, people

app_name = "audit"
urlpatterns = [
    path("", events.events, name="list"),
    path("events/<uuid:uid>", events.event, name="event"),
    path("filters", desk.keep_filter, name="keep_filter"),
    path("filters/<int:pk>/forget", desk.forget_filter, name="forget_filter"),
    path("seals", desk.seals, name="seals"),
    path("exports", exports.exports, name="exports"),
    path("exports/new", exports.new_export, name="new_export"),
    path("exports/<uuid:pk>", exports.export, name="export"),
    path("exports/<uuid:pk>/download", exports.download, name="download"),
    path("verify", desk.verify, name="verify"),
    path("retention", keeping.retention, name="retention"),
    path("access", access.access, name="access"),
    path("access.csv", access.access_csv, name="access_csv"),
    path("holds", holds.holds, name="holds"),
    path("holds/<int:pk>/lift", holds.lift, name="lift_hold"),
    path("guests", holds.guests, name="guests"),
    path("guests/<int:pk>/end", holds.end_guest, name="end_guest"),
    path("people", people.people, name="people"),
    path("people/<str:login>", people.person, name="person"),
    path("people/<str:login>/pseudonymise", people.pseudonymise, name="pseudonymise"),
]
