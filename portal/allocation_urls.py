"""Addresses of allocations below /projects/ and /operate/: some of these pages are of quotas, some show jobs too."""

from django.urls import path

from jobs.views import allocations, deciding, shares
from quotas.views import differences, funding, one, reports, requests

ALLOCATION = "<slug:code>/allocations/<slug:allocation>"
FUNDING = "<slug:code>/funding/<int:pk>"
MONTH = "<slug:code>/months/<int:year>-<int:number>"
REQUEST = "<slug:code>/allocation-requests/<uuid:pk>"

ALLOCATIONS = [
    path("<slug:code>/new-allocation", allocations.create, name="create"),
    path(ALLOCATION, one.one, name="one"),
    path(f"{ALLOCATION}/<slug:table>.csv", one.one_csv, name="one_csv"),
    path(f"{ALLOCATION}/shares", shares.shares, name="shares"),
    path(f"{ALLOCATION}/change", allocations.change, name="change"),
    path(f"{ALLOCATION}/close", allocations.close, name="close"),
    path(f"{ALLOCATION}/default", allocations.make_default, name="make_default"),
    path("<slug:code>/new-funding", funding.add, name="add_funding"),
    path(FUNDING, funding.change, name="change_funding"),
    path(f"{FUNDING}/report", reports.funding, name="funding_report"),
    path(f"{FUNDING}/<slug:table>.csv", reports.funding_csv, name="funding_csv"),
    path(MONTH, reports.month, name="month"),
    path(f"{MONTH}/<slug:table>.csv", reports.month_csv, name="month_csv"),
    path("<slug:code>/new-request", requests.ask, name="ask"),
    path(REQUEST, requests.one, name="request"),
    path(f"{REQUEST}/comment", requests.comment, name="comment"),
    path(f"{REQUEST}/withdraw", requests.withdraw, name="withdraw"),
    path(f"{REQUEST}/decide", deciding.decide, name="decide"),
]
OPERATE = [
    path("requests.csv", requests.requests_csv, name="requests_csv"),
    path("differences", differences.differences, name="differences"),
    path("differences.csv", differences.differences_csv, name="differences_csv"),
    path("dry-run", differences.dry_run, name="dry_run"),
    path("dry-run.csv", differences.dry_run_csv, name="dry_run_csv"),
    path("differences/<slug:code>", differences.resolve, name="resolve"),
]
