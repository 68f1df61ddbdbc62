"""Every page: at most eight queries, and no write on a GET but the event of a read that must be recorded."""

from __future__ import annotations

import re

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from cluster.models import Node
from tests.browser import bench

MOST = 8
A_ROOM_EACH = {"/audit/access?at=2026-03-12": 12}  # every room that keeps intervals answers for its own
READS = ("SELECT", "(SELECT", "SAVEPOINT", "RELEASE")
RECORDED = {
    "/audit/",
    "/audit/?who=ana&since=2026-01-01",
    "/audit/seals",
    "/audit/access?at=2026-03-12",
    "/projects/seg-rm/trail",
    "/jobs/{eval-atlas}?tab=events",
}  # reading the trail is an event itself
PAGES = [
    ("researcher", "/"),
    ("newcomer", "/"),
    ("researcher", "/jobs/"),
    ("researcher", "/jobs/?whose=all&state=open&q=train"),
    ("researcher", "/jobs/new"),
    ("researcher", "/jobs/{train-unet-v3}"),
    ("researcher", "/jobs/{train-unet-v3}/live"),
    ("pi", "/jobs/{eval-atlas}?tab=request"),
    ("pi", "/jobs/{eval-atlas}?tab=events"),
    ("researcher", "/projects/"),
    ("pi", "/projects/seg-rm"),
    ("pi", "/projects/seg-rm/trail"),
    ("auditor", "/projects/seg-rm"),
    ("pi", "/projects/seg-rm/people"),
    ("pi", "/projects/seg-rm/people/ana"),
    ("researcher", "/projects/seg-rm/people/ana"),
    ("newcomer", "/projects/?q=seg"),
    ("newcomer", "/ask/project"),
    ("newcomer", "/ask/"),
    ("researcher", "/projects/seg-rm/allocations/main"),
    ("pi", "/projects/seg-rm/allocations/main"),
    ("pi", "/projects/seg-rm/allocations/main/shares"),
    ("pi", "/projects/seg-rm/allocations/main/default"),
    ("operator", "/projects/seg-rm/allocations/main/change"),
    ("operator", "/projects/seg-rm/allocations/main/close"),
    ("operator", "/projects/seg-rm/new-allocation"),
    ("pi", "/projects/seg-rm/new-funding"),
    ("pi", "/projects/seg-rm/new-request?allocation=main&kind=longer"),
    ("researcher", "/projects/seg-rm/months/{year}-{month}"),
    ("operator", "/operate/differences"),
    ("operator", "/operate/dry-run"),
    ("operator", "/projects/seg-rm"),
    ("operator", "/projects/seg-rm/edit"),
    ("operator", "/projects/seg-rm/archive"),
    ("operator", "/operate/projects?sort=-jobs&q=seg&trouble=0"),
    ("operator", "/operate/projects/new"),
    ("operator", "/operate/requests"),
    ("researcher", "/cluster/"),
    ("researcher", "/cluster/nodes/{node}"),
    ("operator", "/cluster/nodes/{node}"),
    ("operator", "/cluster/operate"),
    ("researcher", "/jobs/{train-unet-v3}?tab=gpus"),
    ("auditor", "/audit/"),
    ("auditor", "/audit/?who=ana&since=2026-01-01"),
    ("auditor", "/audit/seals"),
    ("auditor", "/audit/verify"),
    ("auditor", "/audit/retention"),
    ("auditor", "/audit/holds"),
    ("auditor", "/audit/guests"),
    ("auditor", "/audit/people"),
    ("auditor", "/audit/access?at=2026-03-12"),
    ("researcher", "/sessions"),
    ("researcher", "/tokens"),
    ("researcher", "/preferences"),
    ("researcher", "/help"),
]


def test_pages_ask_little_and_write_nothing(roles: object) -> None:
    built = bench.build()
    roles.use("web")  # type: ignore[attr-defined]
    wrong = []
    for who, address in PAGES:
        today = timezone.now().date()
        address = address.replace("{year}", str(today.year)).replace("{month}", str(today.month))
        address = address.replace("{node}", Node.objects.earliest("pk").name)
        where = re.sub(r"\{(.*?)\}", lambda found: str(built.jobs[found.group(1)].pk), address)
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = built.sessions[who]
        with CaptureQueriesContext(connection) as asked:
            answer = client.get(where)
        writes = [query["sql"][:60] for query in asked if not query["sql"].startswith(READS)]
        wrong += [f"{address}: {answer.status_code}"] if answer.status_code != 200 else []
        wrong += (
            [f"{address}: {len(asked)} queries"] if len(asked) - len(writes) > A_ROOM_EACH.get(address, MOST) else []
        )
        wrong += [f"{address}: {writes}"] if writes and address not in RECORDED else []
    assert not wrong, "\n".join(wrong)
