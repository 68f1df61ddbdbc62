"""Addresses of a project's files."""

from django.urls import path

from storage.views import browsing, changing, taking_out

app_name = "files"
urlpatterns = [
    path("<slug:code>/files", browsing.folder, name="folder"),
    path("<slug:code>/files/use", browsing.use, name="use"),
    path("<slug:code>/files/storage", browsing.storage, name="storage"),
    path("<slug:code>/files/storage.csv", taking_out.people_csv, name="people_csv"),
    path("<slug:code>/files/image", browsing.image, name="image"),
    path("<slug:code>/files/download", browsing.download, name="download"),
    path("<slug:code>/files/upload", changing.upload, name="upload"),
    path("<slug:code>/files/begin", changing.begin, name="begin"),
    path("<slug:code>/files/piece", changing.piece, name="piece"),
    path("<slug:code>/files/finish", changing.finish, name="finish"),
    path("<slug:code>/files/make", changing.make, name="make"),
    path("<slug:code>/files/unpack", changing.unpack, name="unpack"),
    path("<slug:code>/files/change", changing.change, name="change"),
]
