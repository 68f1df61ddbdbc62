"""Addresses of datasets, of agreements below /projects/, and of the register of security incidents."""

from django.urls import path

from datasets.views import agreements, incidents, lists, one, permissions, writing
from jobs.views import manifests

ONE, VERSION, REQUEST = "<slug:code>", "<slug:code>/versions/<uuid:pk>", "<slug:code>/requests/<uuid:pk>"
AGREEMENT = "<slug:code>/agreements/<uuid:pk>"

DATASETS = [
    path("", lists.datasets, name="list"),
    path(ONE, one.detail, name="detail"),
    path(f"{ONE}/uses.csv", one.uses_csv, name="uses_csv"),
    path(f"{ONE}/permissions.csv", one.permissions_csv, name="permissions_csv"),
    path(f"{ONE}/versions.csv", one.versions_csv, name="versions_csv"),
    path(f"{ONE}/edit", writing.edit, name="edit"),
    path(f"{ONE}/approve", one.approve, name="approve"),
    path(f"{ONE}/retire", one.retire, name="retire"),
    path(f"{ONE}/steward", writing.steward, name="steward"),
    path(f"{ONE}/new-version", writing.add_version, name="add_version"),
    path(f"{VERSION}/withdraw", writing.withdraw_version, name="withdraw_version"),
    path(f"{VERSION}/measure", manifests.measure, name="measure"),
    path(f"{VERSION}/keep", manifests.keep, name="keep_manifest"),
    path(f"{ONE}/terms", permissions.accept, name="terms"),
    path(f"{ONE}/new-terms", writing.new_terms, name="new_terms"),
    path(f"{ONE}/ask", permissions.ask, name="ask"),
    path(f"{REQUEST}/decide", permissions.decide, name="decide"),
    path(f"{REQUEST}/withdraw", permissions.withdraw, name="withdraw"),
    path(f"{ONE}/permissions/<uuid:pk>/revoke", permissions.revoke, name="revoke"),
]
BESIDE = [
    path("datasets.csv", lists.datasets_csv, name="csv"),
    path("waiting", lists.waiting, name="waiting"),
    path("stewardship", lists.stewardship, name="stewardship"),
    path("processing", lists.processing, name="processing"),
    path("processing.csv", lists.processing_csv, name="processing_csv"),
]
OF_PROJECTS = [
    path(f"{ONE}/datasets", lists.of_project, name="panel"),
    path(f"{ONE}/new-dataset", writing.register, name="register"),
    path(f"{ONE}/new-agreement", agreements.add, name="add_agreement"),
    path(AGREEMENT, agreements.one, name="agreement"),
    path(f"{AGREEMENT}/change", agreements.change, name="change_agreement"),
    path(f"{AGREEMENT}/end", agreements.end, name="end_agreement"),
    path(f"{AGREEMENT}/duties/<uuid:duty>", agreements.duty, name="duty"),
]
INCIDENTS = [
    path("", incidents.register, name="list"),
    path("new", incidents.add, name="add"),
    path("register.csv", incidents.register_csv, name="csv"),
    path("<uuid:pk>", incidents.one, name="one"),
    path("<uuid:pk>/change", incidents.change, name="change"),
    path("<uuid:pk>/notice", incidents.notify, name="notify"),
    path("<uuid:pk>/close", incidents.close, name="close"),
]
