"""The declarations: what each route asks of whoever calls it, and what an empty but lawful call answers.

A new page, API operation or socket is declared here; without it the run fails. The address is made from the names in
it: `code` is the project's, `pk` the row that the rule names, `login` a member's, and so on (tests/matrix/people.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The kinds of door."""

    PAGE = "page"
    API = "api"
    SOCKET = "socket"


# What must be held to see that there is something. Else the name of a permission, on the project of the address;
# with `site:` before it, by a role on the site; with `anywhere:`, in some project at least.
ANYBODY = "anybody"
SIGNED_IN = "signed in"
MINE = "mine"  # the row is the person's own
LISTED = "listed"  # the project lets itself be found
EVERY = "GET POST PUT PATCH DELETE"


@dataclasses.dataclass(frozen=True)
class Rule:
    """One route with one method. `act`: what it takes beyond seeing ("a|b": one of them); `ok`: what success answers.

    `alike`: everybody gets `ok`, and who lacks this permission sees no difference to a project that is not there.
    `scope`: what a token needs. `otherwise(person, place)`: another status than the rule's, or None.
    """

    kind: Kind
    route: str
    method: str
    see: str
    act: str = ""
    ok: int = 200
    name: str = ""  # of this variant of the route
    pk: str = ""
    body: Any = None
    query: str = ""
    args: dict[str, Any] = dataclasses.field(default_factory=dict)
    scope: str = ""
    alike: str = ""
    is_somebodys: bool = False
    is_part: bool = False  # asked by htmx, for a part of the page
    otherwise: Callable[[str, str], int | None] | None = None

    @property
    def is_asked(self) -> bool:
        """About a request for a project, which belongs to no place: it is there, or it is not."""
        return self.pk == "asked"

    def __str__(self) -> str:
        return " ".join(filter(None, (self.method, self.route, self.name)))


def page(route: str, methods: str, see: str, act: str = "", ok: int = 200, **more: Any) -> list[Rule]:
    """The same for each of these methods."""
    return [Rule(Kind.PAGE, route, method, see, act, ok, **more) for method in methods.split()]


def api(route: str, method: str, see: str, act: str = "", ok: int = 200, **more: Any) -> list[Rule]:
    """Reading takes the scope `read`, changing `manage`, where nothing else is said."""
    more.setdefault("scope", "read" if method == "GET" else "manage")
    return [Rule(Kind.API, route, method, see, act, ok, **more)]


def socket(route: str, see: str, act: str = "", **more: Any) -> list[Rule]:
    """A socket that opens and stays open."""
    return [Rule(Kind.SOCKET, route, "GET", see, act, **more)]


def signed_in_already(person: str, _place: str) -> int | None:
    """The sign-in page sends those home who are signed in."""
    return None if person in ("nobody", "disabled", "reader") else 302


def no_membership(person: str, _place: str) -> int | None:
    """Who sees projects by a role on the site has no membership to look at."""
    return 404 if person in ("operator", "auditor") else None


def has_a_project(person: str, _place: str) -> int | None:
    """Who may submit nowhere is told so, whatever else the address says."""
    return 200 if person in ("outsider", "removed", "expired", "operator", "auditor", "guest") else None


def another_owns_it(person: str, place: str) -> int | None:
    """What its owner alone may do: those who may end it may not."""
    may_end = {"own": ("manager", "pi", "operator"), "beside": ("operator",), "other": ("operator", "other_pi")}
    return 403 if person in may_end.get(place, ()) else None


def asked_for_it(person: str, place: str) -> int | None:
    """Whoever asked for a job sees what became of it."""
    return 200 if person == "owner" and place == "own" else None


def guest_too(person: str, place: str) -> int | None:
    """A guest auditor reads the events of the own project; of others there is nothing."""
    return (200 if place == "own" else 404) if person == "guest" else None


def guest_exports(person: str, _place: str) -> int | None:
    """A guest auditor has the own exports."""
    return 200 if person == "guest" else None


def guest_asks(person: str, _place: str) -> int | None:
    """A guest auditor asks for one; in no form, so far."""
    return 422 if person == "guest" else None


def guest_looks(person: str, _place: str) -> int | None:
    """This one is not a guest auditor's own."""
    return 404 if person == "guest" else None


def guest_waits(person: str, _place: str) -> int | None:
    """Nothing is sealed yet."""
    return 409 if person == "guest" else None


def guest_keeps(person: str, _place: str) -> int | None:
    """A guest auditor keeps filters, too."""
    return 302 if person == "guest" else None


def administrators(person: str, place: str) -> int | None:
    """An auditor sees it and changes nothing; for an administrator it must be there."""
    if person == "operator" and place == "absent":
        return 404
    return 403 if person == "auditor" else None


def no_such_project(person: str, place: str) -> int | None:
    """Whoever sees all projects is told where there is none."""
    return 422 if person in ("operator", "auditor") and place == "absent" else None


def answers_for_one(person: str, _place: str) -> int | None:
    """A steward with a request to answer."""
    return 200 if person in ("pi", "other_pi") else None


def not_an_auditor(person: str, _place: str) -> int | None:
    """An auditor reads the register and writes nothing in it."""
    return 403 if person == "auditor" else None


PART: dict[str, Any] = {"name": "part", "is_part": True}
COMMENTS = "allocation_request|project_manage"
SEARCH = "who=ana&dataset=x&job=7&address=192.0.2.7&since=2026-01-01&until=2026-01-02"
NO_ROW = {"pk": "987654"}
DRAIN = {"name": "gpu01", "change": "drain"}
NO_EXPORT = {"pk": "01a235b1-8ea7-72ff-a6f7-7d70c9f8c0b7"}
SELF: dict[str, Any] = {"name": "one's own", "args": {"login": "{self}"}}

UPLOAD = f"path=new&size=1&offset=0&id={'0' * 32}"
BUILDS = "/projects/{code}/environments"
FILES, ONE_UPLOAD = "/projects/{code}/files", {"id": "0" * 32}

PAGES = [
    *page("home", "GET", SIGNED_IN),
    *page("help", "GET", ANYBODY),
    *page("set_language", "POST", ANYBODY, ok=302),
    *page("healthz", "GET", ANYBODY),
    *page("readyz", "GET", ANYBODY),
    *page("metrics", "GET", ANYBODY, ok=401),  # no person's: Prometheus has a token of its own
    *page("api-absent", EVERY, ANYBODY, ok=404, args={"rest": "v2/jobs"}),
    *page("api-absent", EVERY, ANYBODY, ok=404, name="root"),
    *page("api-v1:api-root", EVERY, ANYBODY, ok=404),
    *page("api-v1:openapi-json", EVERY, ANYBODY),
    *page("accounts:sign_in", "GET", ANYBODY, otherwise=signed_in_already),
    *page("accounts:sign_in", "POST", ANYBODY),
    *page("accounts:must_change", "GET", ANYBODY, ok=302),
    *page("accounts:sign_out", "POST", ANYBODY, ok=302),
    *page("accounts:sessions", "GET", SIGNED_IN),
    *page("accounts:end_sessions", "POST", SIGNED_IN, ok=302),
    *page("accounts:end_session", "POST", MINE, ok=302, pk="session"),
    *page("accounts:tokens", "GET POST", SIGNED_IN),
    *page("accounts:revoke_token", "POST", MINE, ok=302, pk="token"),
    *page("accounts:preferences", "GET", SIGNED_IN),
    *page("accounts:preferences", "POST", SIGNED_IN, ok=302),
    *page("jobs:list", "GET", SIGNED_IN),
    *page("jobs:list", "GET", SIGNED_IN, name="of a project", query="whose=all&project={code}", alike="job_view"),
    *page("jobs:list", "GET", SIGNED_IN, query="whose=all", **PART),
    *page("jobs:csv", "GET", SIGNED_IN),
    *page("jobs:csv", "GET", SIGNED_IN, name="of a project", query="whose=all&project={code}", alike="job_view"),
    *page("jobs:submit", "GET", SIGNED_IN),
    *page("jobs:submit", "GET", "project_view", "job_submit", name="of a project", query="project={code}"),
    *page("jobs:submit", "GET", "job_view", name="like another", query="like={job}", otherwise=has_a_project),
    *page("jobs:submit", "POST", "project_view", "job_submit", 422, body={"project": "{code}"}),
    *page("jobs:check", "POST", "project_view", "job_submit", body={"project": "{code}"}),
    *page("jobs:pick_after", "GET", "project_view", "job_submit", query="project={code}"),
    *page("jobs:pick_datasets", "GET", "project_view", "job_submit", query="project={code}"),
    *page("jobs:pick_folder", "GET", "project_view", "job_submit", query="project={code}"),
    *page("jobs:pick_reservation", "GET", "project_view", "job_submit", query="project={code}"),
    *page("jobs:pick_software", "GET", "project_view", "job_submit", query="project={code}"),
    *page(
        "jobs:submit", "POST", "project_view", "job_submit", 422, name="with an allocation",
        body={"project": "{code}", "name": "x", "partition": "gpu", "gpus": "1", "allocation": "{allocation}",
              "memory_gb": "0", "script": "#!/bin/bash\ntrue\n"},
    ),
    *page("jobs:detail", "GET", "job_view", pk="job"),
    *page("jobs:detail", "GET", "job_view", pk="job", name="request", query="tab=request"),
    *page(
        "jobs:detail", "GET", "job_view", "trail_read", pk="job", name="events", query="tab=events",
        otherwise=asked_for_it,
    ),
    *page("jobs:live", "GET", "job_view", pk="job"),
    *page("jobs:after", "GET", "job_view", pk="job"),
    *page("jobs:detail", "GET", "job_view", pk="job", name="manifest", query="tab=manifest"),
    *page("jobs:import", "GET", SIGNED_IN),
    *page("jobs:import", "POST", "project_view", "job_submit", 422, body={"project": "{code}", "text": ""}),
    *page("jobs:drafts", "GET", SIGNED_IN),
    *page("jobs:draft", "GET", MINE, pk="draft"),
    *page("jobs:draft", "POST", MINE, ok=302, pk="draft", body={"undone": "gres:x"}),
    *page("jobs:ask_drafts", "POST", SIGNED_IN, ok=302),
    *page("jobs:delete_draft", "POST", MINE, ok=302, pk="draft"),
    *page("dictionary", "GET", SIGNED_IN),
    *page("dictionary", "POST", "site:cluster_operate", ok=422, body={"base": "9"}),
    *page("jobs:compare", "GET", "job_view", "log_read", query="a={job}"),
    *page("jobs:compare", "GET", "job_view", "log_read", name="two", query="a={job}&b={job}"),
    *page("jobs:compare_csv", "GET", "job_view", "log_read", query="a={job}&b={job}"),
    *page("jobs:curves_csv", "GET", "job_view", "log_read", pk="job"),
    *page("jobs:curves", "GET", "job_view", "log_read", pk="job"),
    *page("jobs:task_curves", "GET", "job_view", "log_read", pk="job", args={"number": "1"}),
    *page("jobs:compare_curves", "GET", "job_view", "log_read", query="a={job}&b={job}"),
    *page("jobs:pattern", "POST", "project_view", "job_submit", 302, body={"pattern": "loss"}),
    *page("jobs:why", "GET", "job_view", pk="job"),
    *page("jobs:chain", "GET", "job_view", pk="job"),
    *page("jobs:tasks_act", "POST", "job_view", "job_cancel", 302, pk="job", body={"act": "throttle", "number": "1"}),
    *page("jobs:tasks_csv", "GET", "job_view", "log_read", pk="job"),
    *page("jobs:task", "GET", "job_view", "log_read", 404, pk="job", args={"number": "1"}),
    *page("jobs:act", "POST", "job_view", "", 302, pk="job", body={"act": "star"}),
    *page("jobs:label", "POST", "job_view", "job_cancel", 302, pk="job", body={"alias": "x", "note": ""}),
    *page("jobs:save_view", "POST", SIGNED_IN, ok=302, body={"name": "x", "query": "state=failed"}),
    *page("jobs:several", "POST", SIGNED_IN, ok=302),
    *page("jobs:cancel", "POST", "job_view", "job_cancel", 302, pk="job"),
    *page("jobs:files", "GET", "job_view", "log_read", pk="job"),
    *page("jobs:log", "GET", "job_view", "log_read", pk="job"),
    *page("jobs:log_find", "GET", "job_view", "log_read", pk="job", query="q=epoch"),
    *page("jobs:log_download", "GET", "job_view", "log_read", pk="job"),
    *page("jobs:task_log", "GET", "job_view", "log_read", pk="job", args={"number": "1"}),
    *page("jobs:task_find", "GET", "job_view", "log_read", pk="job", args={"number": "1"}, query="q=epoch"),
    *page("jobs:task_download", "GET", "job_view", "log_read", pk="job", args={"number": "1"}),
    *page("jobs:notices", "GET", SIGNED_IN),
    *page("jobs:bell", "GET", SIGNED_IN),
    *page("jobs:read_notices", "POST", SIGNED_IN, ok=302),
    *page("jobs:notice_choice", "POST", SIGNED_IN, ok=302, body={"ended": "mail"}),
    *page("jobs:notices_of", "GET", "job_view", "job_cancel", pk="job", otherwise=another_owns_it),
    *page(
        "jobs:notices_of", "POST", "job_view", "job_cancel", 302, pk="job", body={"ended": "mail"},
        otherwise=another_owns_it,
    ),
    *page("jobs:gpus", "GET", "job_view", pk="job"),
    *page("jobs:gpus_csv", "GET", "job_view", pk="job"),
    *page("jobs:moment", "GET", "job_view", "log_read", pk="job", query="at=1767225600"),
    *page("cluster:overview", "GET", SIGNED_IN),
    *page("cluster:nodes_csv", "GET", SIGNED_IN),
    *page("cluster:queues_csv", "GET", SIGNED_IN),
    *page("cluster:outside_csv", "GET", "site:cluster_operate"),
    *page("cluster:gpus_csv", "GET", SIGNED_IN, args={"name": "gpu01"}),
    *page("cluster:node", "GET", SIGNED_IN, args={"name": "gpu01"}),
    *page("cluster:operate", "GET", "site:cluster_operate"),
    *page("cluster:change_node", "POST", "site:cluster_operate", ok=302, args=DRAIN, body={"reason": "a fan"}),
    *page("cluster:plan", "POST", "site:cluster_operate", ok=422),
    *page("cluster:cancel_window", "POST", "site:cluster_operate", ok=404, args=NO_ROW),
    *page("cluster:announce", "POST", "site:cluster_operate", ok=422),
    *page("cluster:end_announcement", "POST", "site:cluster_operate", ok=404, args=NO_ROW),
    *page("cluster:dismiss", "POST", SIGNED_IN, ok=404, args=NO_ROW),
    *page("audit:list", "GET", "site:trail_read", otherwise=guest_too),
    *page("audit:list", "GET", "site:trail_read", otherwise=guest_too, **PART),
    *page("audit:list", "GET", "site:trail_read", name="search", query=SEARCH, otherwise=guest_too),
    *page("audit:event", "GET", "site:trail_read", is_somebodys=True, otherwise=guest_too),
    *page("audit:keep_filter", "POST", "site:trail_read", ok=302, otherwise=guest_keeps),
    *page("audit:forget_filter", "POST", "site:trail_read", ok=404, args=NO_ROW),
    *page("audit:exports", "GET", "site:trail_read", otherwise=guest_exports),
    *page("audit:new_export", "GET", "site:trail_read", otherwise=guest_exports),
    *page("audit:new_export", "GET", "site:trail_read", query="form=csv", otherwise=guest_exports, **PART),
    *page("audit:new_export", "POST", "site:trail_read", ok=422, otherwise=guest_asks),
    *page("audit:export", "GET", "site:trail_read", ok=404, args=NO_EXPORT),
    *page("audit:download", "GET", "site:trail_read", ok=404, args=NO_EXPORT),
    *page("audit:seals", "GET", "site:trail_read"),
    *page("audit:verify", "GET", "site:trail_read"),
    *page("audit:verify", "GET", "site:trail_read", **PART),
    *page("audit:verify", "POST", "site:trail_read", ok=302),
    *page("audit:retention", "GET", "site:trail_read"),
    *page("audit:retention", "POST", "site:trail_read", ok=422, otherwise=administrators),
    *page("audit:access", "GET", "site:trail_read"),
    *page(
        "audit:access", "GET", "site:trail_read", name="of a project", query="at=2026-03-12&project={code}",
        otherwise=no_such_project,
    ),
    *page("audit:access_csv", "GET", "site:trail_read", query="at=2026-03-12"),
    *page("audit:holds", "GET", "site:trail_read"),
    *page("audit:holds", "POST", "site:trail_read", ok=422, otherwise=administrators),
    *page("audit:lift_hold", "POST", "site:trail_read", ok=404, args=NO_ROW, otherwise=administrators),
    *page("audit:guests", "GET", "site:trail_read"),
    *page("audit:guests", "POST", "site:trail_read", ok=422, otherwise=administrators),
    *page("audit:end_guest", "POST", "site:trail_read", ok=404, args=NO_ROW, otherwise=administrators),
    *page("audit:people", "GET", "site:trail_read"),
    *page("audit:person", "GET", "site:trail_read", is_somebodys=True),
    *page("audit:person", "GET", "site:trail_read", is_somebodys=True, name="as JSON", query="form=json"),
    *page("audit:pseudonymise", "GET", "site:trail_read", is_somebodys=True),
    *page("audit:pseudonymise", "POST", "site:trail_read", ok=422, is_somebodys=True, otherwise=administrators),
    *page("projects:list", "GET", SIGNED_IN),
    *page("projects:list", "GET", SIGNED_IN, name="search", query="q={code}", alike="project_view"),
    *page("projects:list", "GET", SIGNED_IN, query="q=zz", **PART),
    *page("projects:detail", "GET", "project_view"),
    *page("projects:trail", "GET", "project_view", "trail_read"),
    *page("projects:trail", "GET", "project_view", "trail_read", **PART),
    *page("projects:trail_exports", "GET", "project_view", "trail_read"),
    *page("projects:trail_new_export", "GET", "project_view", "trail_read"),
    *page("projects:trail_new_export", "GET", "project_view", "trail_read", query="form=csv", **PART),
    *page("projects:trail_new_export", "POST", "project_view", "trail_read", 422),
    *page("projects:trail_export", "GET", "project_view", "trail_read", 404, args=NO_EXPORT),
    *page("projects:trail_download", "GET", "project_view", "trail_read", 404, args=NO_EXPORT),
    *page("projects:people", "GET", "project_view", "member_manage"),
    *page("projects:people", "GET", "project_view", "member_manage", query="q=ana", **PART),
    *page("projects:people", "POST", "project_view", "member_manage", 422),
    *page("projects:csv", "GET", SIGNED_IN),
    *page("projects:people_csv", "GET", "project_view"),
    *page("projects:people_csv", "GET", "project_view", query="person=ana", name="of one person"),
    *page("projects:member", "GET", "project_view", "member_manage"),
    *page("projects:member", "GET", "project_view", otherwise=no_membership, **SELF),
    *page("projects:change_member", "GET", "project_view", "member_manage", 302),
    *page("projects:remove_member", "GET", "project_view", "member_manage", 302),
    *page("projects:change_member", "GET", "project_view", "member_manage", 302, otherwise=no_membership, **SELF),
    *page("projects:remove_member", "GET", "project_view", ok=302, otherwise=no_membership, **SELF),
    *page("projects:change_member", "POST", "project_view", "member_manage", 422),
    *page("projects:change_member", "POST", "project_view", "member_manage", 422, otherwise=no_membership, **SELF),
    *page("projects:remove_member", "POST", "project_view", "member_manage", 422),
    *page("projects:remove_member", "POST", "project_view", ok=422, otherwise=no_membership, **SELF),
    *page("projects:join", "GET", LISTED),
    *page("projects:join", "POST", LISTED, ok=422),
    *page("projects:let_in", "POST", "project_view", "member_manage", 302, pk="join"),
    *page("projects:turn_away", "POST", "project_view", "member_manage", 302, pk="join"),
    *page("projects:edit", "GET", "project_view", "project_manage"),
    *page("projects:edit", "POST", "project_view", "project_manage", 422),
    *page("projects:listing", "POST", "project_view", "project_lead", 302),
    *page("projects:archive", "GET", "project_view", "project_manage"),
    *page("projects:archive", "POST", "project_view", "project_manage", 302),
    *page("files:folder", "GET", "project_view", "log_read"),
    *page("files:folder", "GET", "project_view", "log_read", name="a file", query="path=f"),
    *page("files:use", "GET", "project_view", "log_read"),
    *page("files:storage", "GET", "project_view", "log_read"),
    *page("files:people_csv", "GET", "project_view", "log_read"),
    *page("files:image", "GET", "project_view", "log_read", 422, query="path=f"),
    *page("files:download", "GET", "project_view", "log_read", query="path=f"),
    *page("files:upload", "POST", "project_view", "job_submit", 302),
    *page("files:begin", "POST", "project_view", "job_submit", query=UPLOAD),
    *page("files:piece", "POST", "project_view", "job_submit", query=UPLOAD, body={"x": "y"}),
    *page("files:finish", "POST", "project_view", "job_submit", query=UPLOAD),
    *page("files:make", "POST", "project_view", "job_submit", 302, body={"name": "x"}),
    *page("files:unpack", "POST", "project_view", "job_submit", 302, query="path=f", body={"name": "new"}),
    *page("files:change", "GET", "project_view", "job_submit", query="path=f"),
    *page("files:change", "POST", "project_view", "job_submit", 302, query="path=f", body={"act": "delete"}),
    *page("environments:list", "GET", "project_view"),
    *page("environments:add", "GET", "project_view", "job_submit"),
    *page("environments:add", "POST", "project_view", "job_submit", 422, body={"name": "A"}),
    *page("environments:detail", "GET", "project_view", pk="environment"),
    *page("environments:rebuild", "POST", "project_view", "job_submit", 302, pk="environment"),
    *page("environments:retire", "POST", "project_view", "preset_manage", 302, pk="environment"),
    *page("environments:offer", "POST", "project_view", "preset_manage", 302, pk="environment"),
    *page("environments:delete", "POST", "project_view", "job_submit", 403, pk="environment"),
    *page("presets:list", "GET", SIGNED_IN),
    *page("presets:add", "GET", "site:preset_manage"),
    *page("presets:add", "POST", "site:preset_manage", ok=422, body={"title": ""}),
    *page("presets:detail", "GET", "project_view", pk="preset"),
    *page("presets:edit", "GET", "project_view", "preset_manage", pk="preset"),
    *page("presets:edit", "POST", "project_view", "preset_manage", 422, pk="preset", body={"title": ""}),
    *page("presets:retire", "POST", "project_view", "preset_manage", 302, pk="preset"),
    *page("presets:offer", "POST", "project_view", "preset_manage", 302, pk="preset"),
    *page("presets_of:add", "GET", "project_view", "preset_manage"),
    *page("presets_of:add", "POST", "project_view", "preset_manage", 422, body={"title": ""}),
    *page("software:list", "GET", SIGNED_IN),
    *page("software:add", "GET", "site:software_manage"),
    *page("software:add", "POST", "site:software_manage", ok=422, body={"name": ""}),
    *page("software:edit", "GET POST", "site:software_manage", ok=404, args=NO_EXPORT),
    *page("software:retire", "POST", "site:software_manage", ok=404, args=NO_EXPORT),
    *page("software:offer", "POST", "site:software_manage", ok=404, args=NO_EXPORT),
    *page("ask:list", "GET", SIGNED_IN),
    *page("ask:project", "GET", SIGNED_IN),
    *page("ask:project", "POST", SIGNED_IN, ok=422),
    *page("ask:withdraw", "POST", MINE, ok=302, pk="request"),
    *page("operate:list", "GET", "site:project_manage"),
    *page("operate:list", "GET", "site:project_manage", **PART),
    *page("operate:projects_csv", "GET", "site:project_manage"),
    *page("operate:open_project", "GET", "site:project_manage"),
    *page("operate:open_project", "POST", "site:project_manage", ok=422),
    *page("operate:people", "GET", "site:project_manage", query="q=ana"),
    *page("operate:requests", "GET", "site:project_manage"),
    *page("operate:refuse_project", "POST", "site:project_manage", ok=302, pk="asked", is_somebodys=True),
    *page("operate:differences", "GET", "site:cluster_operate"),
    *page("operate:attention", "GET", "site:project_manage", ok=200),
    *page("operate:requests_csv", "GET", "site:project_manage"),
    *page("operate:differences_csv", "GET", "site:cluster_operate"),
    *page("operate:dry_run", "GET", "site:cluster_operate"),
    *page("operate:dry_run_csv", "GET", "site:cluster_operate"),
    *page("operate:resolve", "POST", "site:cluster_operate", ok=302, is_somebodys=True),
    *page("allocations:create", "GET", "project_view", "project_manage"),
    *page("allocations:create", "POST", "project_view", "project_manage", 422),
    *page("allocations:one", "GET", "project_view"),
    *page("allocations:one_csv", "GET", "project_view", args={"table": "people"}),
    *page("allocations:one_csv", "GET", "project_view", args={"table": "months"}, name="by month"),
    *page("allocations:one_csv", "GET", "project_view", args={"table": "shares"}, name="shares"),
    *page("allocations:shares", "GET POST", "project_view", "member_manage"),
    *page("allocations:change", "GET", "project_view", "project_manage"),
    *page("allocations:change", "POST", "project_view", "project_manage", 422),
    *page("allocations:close", "GET POST", "project_view", "project_manage"),
    *page("allocations:make_default", "GET POST", "project_view", "member_manage"),
    *page("allocations:add_funding", "GET", "project_view", "member_manage"),
    *page("allocations:add_funding", "POST", "project_view", "member_manage", 422),
    *page("allocations:change_funding", "GET", "project_view", "member_manage", pk="funding"),
    *page("allocations:change_funding", "POST", "project_view", "member_manage", 422, pk="funding"),
    *page("allocations:funding_report", "GET", "project_view", pk="funding"),
    *page("allocations:funding_csv", "GET", "project_view", pk="funding", args={"table": "people"}),
    *page("allocations:funding_csv", "GET", "project_view", pk="funding", args={"table": "months"}, name="by month"),
    *page("allocations:funding_csv", "GET", "project_view", pk="funding", args={"table": "outside-queue"}, name="no job"),
    *page("allocations:month", "GET", "project_view"),
    *page("allocations:month_csv", "GET", "project_view", args={"table": "people"}),
    *page("allocations:month_csv", "GET", "project_view", args={"table": "months"}, name="by month"),
    *page("allocations:month_csv", "GET", "project_view", args={"table": "outside-queue"}, name="no job"),
    *page("allocations:ask", "GET", "project_view", "allocation_request"),
    *page("allocations:ask", "GET", "project_view", "allocation_request", name="more", query="allocation={allocation}"),
    *page("allocations:ask", "POST", "project_view", "allocation_request", 422),
    *page(
        "allocations:ask", "POST", "project_view", "allocation_request", 422, name="more of one",
        body={"kind": "more", "allocation": "{allocation}", "funding": "{funding}", "gpu_minutes": "1", "why": "x"},
    ),
    *page("allocations:request", "GET", "trail_read", pk="wish"),
    *page("allocations:comment", "POST", "trail_read", COMMENTS, 422, pk="wish"),
    *page("allocations:withdraw", "POST", "trail_read", "allocation_request", 302, pk="wish"),
    *page("allocations:decide", "POST", "trail_read", "project_manage", 422, pk="wish"),
    *page("datasets:list", "GET", SIGNED_IN),
    *page("datasets:list", "GET", SIGNED_IN, name="search", query="q={code}", alike="dataset_find"),
    *page("datasets:detail", "GET", "dataset_view"),
    *page("datasets:uses_csv", "GET", "dataset_view"),
    *page("datasets:permissions_csv", "GET", "dataset_view"),
    *page("datasets:versions_csv", "GET", "dataset_view"),
    *page("datasets:edit", "GET", "dataset_view", "dataset_steward"),
    *page("datasets:edit", "POST", "dataset_view", "dataset_steward", 422),
    *page("datasets:approve", "POST", "dataset_view", "dataset_steward", 302),
    *page("datasets:retire", "POST", "dataset_view", "dataset_steward", 302),
    *page("datasets:steward", "GET", "dataset_view", "dataset_steward|project_lead"),
    *page("datasets:steward", "POST", "dataset_view", "dataset_steward|project_lead", 422),
    *page("datasets:add_version", "GET", "dataset_view", "dataset_steward"),
    *page("datasets:add_version", "POST", "dataset_view", "dataset_steward", 422),
    *page("datasets:withdraw_version", "POST", "dataset_view", "dataset_steward", 302, pk="version"),
    *page("datasets:measure", "POST", "dataset_view", "dataset_steward", 302, pk="version"),
    *page("datasets:keep_manifest", "POST", "dataset_view", "dataset_steward", 302, pk="version"),
    *page("datasets:terms", "GET", "dataset_find"),
    *page("datasets:terms", "POST", "dataset_find", ok=302),
    *page("datasets:new_terms", "GET", "dataset_view", "dataset_steward"),
    *page("datasets:new_terms", "POST", "dataset_view", "dataset_steward", 422),
    *page("datasets:ask", "GET", "dataset_find"),
    *page("datasets:ask", "POST", "dataset_find", ok=422),
    *page("datasets:decide", "POST", "dataset_view", "dataset_steward", 302, pk="wished"),
    *page("datasets:withdraw", "POST", "dataset_find", ok=404, pk="wished"),  # it is somebody else's
    *page("datasets:revoke", "POST", "dataset_view", "dataset_steward", 302, pk="permission"),
    *page("data:waiting", "GET", SIGNED_IN, ok=204, otherwise=answers_for_one),
    *page("data:csv", "GET", SIGNED_IN, query="q={code}", alike="dataset_find"),
    *page("data:stewardship", "GET", SIGNED_IN),
    *page("data:processing", "GET", SIGNED_IN),
    *page("data:processing_csv", "GET", SIGNED_IN),
    *page("datasets_of:panel", "GET", "project_view"),
    *page("datasets_of:register", "GET", "project_view", "project_lead"),
    *page("datasets_of:register", "POST", "project_view", "project_lead", 422),
    *page("datasets_of:add_agreement", "GET", "project_view", "project_lead"),
    *page("datasets_of:add_agreement", "POST", "project_view", "project_lead", 422),
    *page("datasets_of:agreement", "GET", "project_view", pk="agreement"),
    *page("datasets_of:agreement", "GET", "project_view", pk="ended", name="ended"),
    *page("datasets_of:change_agreement", "GET", "project_view", "project_lead", pk="agreement"),
    *page("datasets_of:change_agreement", "POST", "project_view", "project_lead", 422, pk="agreement"),
    *page("datasets_of:end_agreement", "POST", "project_view", "project_lead", 302, pk="agreement"),
    *page("datasets_of:duty", "GET", "project_view", "project_lead", pk="ended"),
    *page("datasets_of:duty", "POST", "project_view", "project_lead", 422, pk="ended"),
    *page("incidents:list", "GET", "site:incident_view"),
    *page("incidents:csv", "GET", "site:incident_view"),
    *page("incidents:add", "GET", "site:incident_view", otherwise=not_an_auditor),
    *page("incidents:add", "POST", "site:incident_view", ok=422, otherwise=not_an_auditor),
    *page("incidents:one", "GET", "site:incident_view", pk="incident", is_somebodys=True),
    *page("incidents:change", "GET", "site:incident_view", pk="incident", is_somebodys=True, otherwise=not_an_auditor),
    *page(
        "incidents:change", "POST", "site:incident_view", ok=422, pk="incident", is_somebodys=True,
        otherwise=not_an_auditor,
    ),
    *page("incidents:notify", "GET", "site:incident_view", pk="incident", is_somebodys=True, otherwise=not_an_auditor),
    *page(
        "incidents:notify", "POST", "site:incident_view", ok=422, pk="incident", is_somebodys=True,
        otherwise=not_an_auditor,
    ),
    *page(
        "incidents:close", "POST", "site:incident_view", ok=302, pk="incident", is_somebodys=True,
        otherwise=not_an_auditor,
    ),
]  # fmt: skip

NEW = {"code": "newcomer", "title": "New", "organization": "", "why": "It is new."}
OPENED = {
    "code": "newcomer",
    "title": "New",
    "pi": "{newcomer}",
    "partitions": ["gpu"],
    "unix_group": "new",
    "folder": "/srv/new",
}
JOB = {"project": "{code}", "name": "x", "partition": "gpu", "gpus": 1, "script": "#!/bin/bash\ntrue\n"}
GIVEN = {"code": "fresh", "title": "New", "gpu_minutes": 600, "starts_on": "{today}"}
PAID = {"agency": "FAP", "number": "1", "starts_on": "{today}"}
MORE = {"kind": "more", "allocation": "{allocation}", "gpu_minutes": 90_000, "why": "For the paper."}
ALLOCATION, WISHES = "/projects/{code}/allocations/{allocation}", "/projects/{code}/allocation-requests"
DATASET, AGREEMENT = "/datasets/{code}", "/projects/{code}/agreements/{pk}"
REGISTERED = {"project": "{code}", "code": "fresh-data", "name": "Fresh", "steward": "{login}"}
WANTED = {"purpose": "research", "starts_on": "{today}", "ends_on": "{today}", "why": "For the paper."}
AGREED = {
    "title": "Sharing",
    "parties": "A and B",
    "document": "Archive",
    "document_digest": "a" * 64,
    "starts_on": "{today}",
    "ends_on": "{today}",
    "purposes": ["research"],
    "duties": "Delete all copies.",
}
HAPPENED = {"title": "A copy", "what": "It was open.", "known_at": "2026-01-05T10:00:00Z", "subjects": "Patients."}
TOLD = {"to": "anpd", "at": "2026-01-06T10:00:00Z", "text": "We tell you."}
MEMBER, JOIN = "/projects/{code}/members/{login}", "/projects/{code}/joins/{pk}"

API = [
    *api(BUILDS, "GET", "project_view"),
    *api(BUILDS, "POST", "project_view", "job_submit", 201, scope="submit", body={"name": "torch"}),
    *api(f"{BUILDS}/{{pk}}", "GET", "project_view", pk="environment"),
    *api(f"{BUILDS}/{{pk}}/rebuild", "POST", "project_view", "job_submit", 201, pk="environment", scope="submit"),
    *api(f"{BUILDS}/{{pk}}/retire", "POST", "project_view", "preset_manage", 204, pk="environment", scope="submit"),
    *api(f"{BUILDS}/{{pk}}/offer", "POST", "project_view", "preset_manage", 204, pk="environment", scope="submit"),
    *api(f"{BUILDS}/{{pk}}", "DELETE", "project_view", "job_submit", 403, pk="environment", scope="submit"),
    *api(FILES, "GET", "project_view", "log_read"),
    *api(FILES, "DELETE", "project_view", "job_submit", 204, query="path=f", scope="submit"),
    *api(f"{FILES}/entry", "GET", "project_view", "log_read", query="path=f"),
    *api(f"{FILES}/room", "GET", "project_view", "log_read"),
    *api(f"{FILES}/growth", "GET", "project_view", "log_read"),
    *api(f"{FILES}/content", "GET", "project_view", "log_read", query="path=f"),
    *api(f"{FILES}/tar", "GET", "project_view", "log_read"),
    *api(
        f"{FILES}/uploads", "POST", "project_view", "job_submit", 201, scope="submit", body={"path": "new", "size": 1}
    ),
    *api(f"{FILES}/uploads/{{id}}", "PUT", "project_view", "job_submit", scope="submit", query=UPLOAD, body={"x": "y"},
         args=ONE_UPLOAD),
    *api(f"{FILES}/uploads/{{id}}", "DELETE", "project_view", "job_submit", 204, scope="submit", query="path=new",
         args=ONE_UPLOAD),
    *api(f"{FILES}/uploads/{{id}}/finish", "POST", "project_view", "job_submit", scope="submit", args=ONE_UPLOAD,
         body={"path": "new", "size": 1}),
    *api(f"{FILES}/folders", "POST", "project_view", "job_submit", 204, scope="submit", body={"path": "x"}),
    *api(f"{FILES}/unpack", "POST", "project_view", "job_submit", 201, scope="submit", body={"path": "f", "to": "g"}),
    *api(f"{FILES}/rename", "POST", "project_view", "job_submit", scope="submit", body={"path": "f", "to": "g"}),
    *api("/datasets", "GET", SIGNED_IN),
    *api("/datasets", "POST", "project_view", "project_lead", 201, body=REGISTERED),
    *api(DATASET, "GET", "dataset_view"),
    *api(DATASET, "PATCH", "dataset_view", "dataset_steward", body={"name": "Another"}),
    *api(f"{DATASET}/approve", "POST", "dataset_view", "dataset_steward", 409, body={}),
    *api(f"{DATASET}/retire", "POST", "dataset_view", "dataset_steward", body={}),
    *api(f"{DATASET}/steward", "POST", "dataset_view", "dataset_steward|project_lead", body={"steward": "{login}"}),
    *api(f"{DATASET}/versions", "GET", "dataset_view"),
    *api(
        f"{DATASET}/versions", "POST", "dataset_view", "dataset_steward", 201,
        body={"label": "v9", "path": "/srv/x"},
    ),
    *api(f"{DATASET}/versions/{{label}}/withdraw", "POST", "dataset_view", "dataset_steward", body={}),
    *api(f"{DATASET}/terms", "GET", "dataset_find"),
    *api(f"{DATASET}/terms", "POST", "dataset_view", "dataset_steward", body={"text": "Be careful."}),
    *api(f"{DATASET}/terms/accept", "POST", "dataset_find", body={"number": 1}),
    *api(f"{DATASET}/requests", "GET", "dataset_find"),
    *api(f"{DATASET}/requests", "POST", "dataset_find", ok=201, body=WANTED),
    *api(f"{DATASET}/requests/{{pk}}/give", "POST", "dataset_view", "dataset_steward", pk="wished", body={}),
    *api(
        f"{DATASET}/requests/{{pk}}/turn-down", "POST", "dataset_view", "dataset_steward", pk="wished",
        body={"answer": "No."},
    ),
    *api(f"{DATASET}/requests/{{pk}}", "DELETE", "dataset_find", ok=404, pk="wished"),  # it is somebody else's
    *api(f"{DATASET}/permissions", "GET", "dataset_view"),
    *api(
        f"{DATASET}/permissions/{{pk}}/revoke", "POST", "dataset_view", "dataset_steward", pk="permission",
        body={"why": "It is over."},
    ),
    *api(f"{DATASET}/uses", "GET", "dataset_view"),
    *api("/projects/{code}/agreements", "GET", "project_view"),
    *api("/projects/{code}/agreements", "POST", "project_view", "project_lead", 201, body=AGREED),
    *api(AGREEMENT, "GET", "project_view", pk="agreement"),
    *api(AGREEMENT, "PATCH", "project_view", "project_lead", pk="agreement", body={"title": "Another"}),
    *api(f"{AGREEMENT}/end", "POST", "project_view", "project_lead", pk="agreement", body={}),
    *api(
        f"{AGREEMENT}/duties/{{duty}}", "POST", "project_view", "project_lead", pk="ended",
        body={"kind": "delete", "how": "By hand."},
    ),
    *api("/incidents", "GET", "site:incident_view"),
    *api("/incidents", "POST", "site:incident_manage", ok=201, body=HAPPENED),
    *api("/incidents/{pk}", "GET", "site:incident_view", pk="incident", is_somebodys=True),
    *api("/incidents/{pk}", "PATCH", "site:incident_manage", pk="incident", is_somebodys=True, body={"people": 3}),
    *api("/incidents/{pk}/notices", "POST", "site:incident_manage", ok=201, pk="incident", is_somebodys=True, body=TOLD),
    *api("/incidents/{pk}/close", "POST", "site:incident_manage", pk="incident", is_somebodys=True, body={}),
    *api("/me", "GET", SIGNED_IN, scope=""),
    *api("/presets", "GET", SIGNED_IN),
    *api("/presets", "GET", "project_view", name="of a project", query="project={code}"),
    *api("/software", "GET", SIGNED_IN),
    *api("/projects", "GET", SIGNED_IN),
    *api("/projects", "POST", "site:project_manage", ok=201, body=OPENED),
    *api("/projects/{code}", "GET", "project_view"),
    *api("/projects/{code}/standing", "GET", "project_view"),
    *api("/projects/{code}", "PATCH", "project_view", "project_manage", body={"title": "Another"}),
    *api("/projects/{code}", "PATCH", "project_view", "project_lead", name="listing", body={"is_listed": True}),
    *api("/projects/{code}/archive", "POST", "project_view", "project_manage", body={}),
    *api("/projects/{code}/reopen", "POST", "project_view", "project_manage", body={}),
    *api("/projects/{code}/members", "GET", "project_view"),
    *api("/projects/{code}/members", "POST", "project_view", "member_manage", 201, body={"person": "{newcomer}"}),
    *api(MEMBER, "PATCH", "project_view", "member_manage", body={"role": "viewer"}),
    *api(MEMBER, "DELETE", "project_view", "member_manage", 204),
    *api(MEMBER, "DELETE", "project_view", ok=204, otherwise=no_membership, **SELF),
    *api("/projects/{code}/joins", "GET", "project_view", "member_manage"),
    *api("/projects/{code}/joins", "POST", LISTED, ok=201, body={"why": "I work on it."}),
    *api(f"{JOIN}/let-in", "POST", "project_view", "member_manage", pk="join", body={"role": "viewer"}),
    *api(f"{JOIN}/turn-away", "POST", "project_view", "member_manage", pk="join", body={"answer": "Not now."}),
    *api("/requests", "GET", SIGNED_IN),
    *api("/requests/allocations", "GET", SIGNED_IN),
    *api("/requests/allocations/open", "GET", "site:project_manage"),
    *api("/requests/joinable", "GET", SIGNED_IN),
    *api("/requests/joinable", "GET", SIGNED_IN, name="search", query="q={code}", alike="project_view"),
    *api("/requests/{pk}", "DELETE", MINE, ok=204, pk="request"),
    *api("/requests/projects", "GET", "site:project_manage"),
    *api("/requests/projects", "POST", SIGNED_IN, ok=201, body=NEW),
    *api(
        "/requests/projects/{pk}/refuse", "POST", "site:project_manage", pk="asked", body={"answer": "No room."},
        is_somebodys=True,
    ),
    *api("/directory", "GET", "anywhere:member_manage", query="q=ana"),
    *api("/projects/{code}/allocations", "GET", "project_view"),
    *api("/projects/{code}/allocations", "POST", "project_view", "project_manage", 201, body=GIVEN),
    *api(ALLOCATION, "GET", "project_view"),
    *api(ALLOCATION, "PATCH", "project_view", "project_manage", body={"gpus_at_once": 4}),
    *api(f"{ALLOCATION}/close", "POST", "project_view", "project_manage", body={}),
    *api(f"{ALLOCATION}/default", "POST", "project_view", "member_manage", body={}),
    *api(f"{ALLOCATION}/shares", "GET", "project_view"),
    *api(f"{ALLOCATION}/shares", "PATCH", "project_view", "member_manage", body=[]),
    *api("/projects/{code}/usage", "GET", "project_view"),
    *api("/projects/{code}/funding", "GET", "project_view"),
    *api("/projects/{code}/funding", "POST", "project_view", "member_manage", 201, body=PAID),
    *api("/projects/{code}/funding/{pk}", "PATCH", "project_view", "member_manage", pk="funding", body={"number": "2"}),
    *api(WISHES, "GET", "project_view", "trail_read"),
    *api(WISHES, "POST", "project_view", "allocation_request", 201, body=MORE),
    *api(
        WISHES, "POST", "project_view", "allocation_request", 201, name="with funding",
        body=MORE | {"funding": "{funding}"},
    ),
    *api(f"{WISHES}/{{pk}}", "GET", "trail_read", pk="wish"),
    *api(f"{WISHES}/{{pk}}", "DELETE", "trail_read", "allocation_request", 204, pk="wish"),
    *api(f"{WISHES}/{{pk}}/comments", "POST", "trail_read", COMMENTS, 201, pk="wish", body={"text": "Until when?"}),
    *api(f"{WISHES}/{{pk}}/decision", "POST", "trail_read", "project_manage", pk="wish", body={"decision": "give"}),
    *api("/differences", "GET", "site:cluster_operate"),
    *api("/dry-run", "GET", "site:cluster_operate"),
    *api("/differences/{code}", "POST", "site:cluster_operate", ok=204, is_somebodys=True, body={"act": "put_back"}),
    *api("/jobs", "GET", SIGNED_IN),
    *api("/jobs", "GET", "project_view", name="of a project", query="project={code}"),
    *api("/jobs", "POST", "project_view", "job_submit", 201, scope="submit", body=JOB),
    *api(
        "/jobs", "POST", "project_view", "job_submit", 201, scope="submit", name="with an allocation",
        body=JOB | {"allocation": "{allocation}"},
    ),
    *api(
        "/jobs/import", "POST", "project_view", "job_submit", scope="submit",
        body={"project": "{code}", "script": "#!/bin/bash\n#SBATCH -t 5\ntrue\n"},
    ),
    *api("/dictionary", "GET", SIGNED_IN),
    *api("/dictionary", "PUT", "site:cluster_operate", ok=409, body={"base": 9, "entries": []}),
    *api("/jobs/offers", "GET", "project_view", "job_submit", query="project={code}"),
    *api("/jobs/advice", "POST", "project_view", "job_submit", scope="submit", body=JOB),
    *api("/jobs/batch", "POST", "project_view", "job_submit", 201, scope="submit", body={"jobs": [JOB]}),
    *api("/jobs/{pk}", "GET", "job_view", pk="job"),
    *api("/jobs/{pk}/gpus", "GET", "job_view", pk="job"),
    *api("/jobs/{pk}/gpus/summary", "GET", "job_view", pk="job"),
    *api("/jobs/{pk}/usage", "GET", "job_view", pk="job"),
    *api("/jobs/{pk}/log", "GET", "job_view", "log_read", pk="job"),
    *api("/jobs/acts", "POST", SIGNED_IN, scope="submit", body={"act": "star", "jobs": ["{job}"]}),
    *api("/jobs/{pk}/acts", "POST", "job_view", "", 202, scope="submit", pk="job", body={"act": "unstar"}),
    *api("/jobs/{pk}/why", "GET", "job_view", pk="job"),
    *api("/jobs/{pk}/manifest", "GET", "job_view", "log_read", pk="job"),
    *api("/jobs/{pk}/report", "GET", "job_view", "log_read", pk="job"),
    *api("/jobs/{pk}/curves", "GET", "job_view", "log_read", pk="job"),
    *api("/jobs/{pk}/tasks", "GET", "job_view", "log_read", pk="job"),
    *api("/jobs/{pk}/tasks", "POST", "job_view", "job_cancel", 409, scope="submit", pk="job", body={"act": "throttle"}),
    *api("/jobs/{pk}/label", "PATCH", "job_view", "job_cancel", scope="submit", pk="job", body={"note": "x"}),
    *api("/jobs/{pk}/cancel", "POST", "job_view", "job_cancel", 202, scope="submit", pk="job"),
    *api("/cluster", "GET", SIGNED_IN),
    *api("/audit/events", "GET", "anywhere:trail_read", scope="audit", otherwise=guest_too),
    *api(
        "/audit/events", "GET", "project_view", "trail_read", scope="audit", name="of a project",
        query="project={code}", otherwise=guest_too,
    ),
    *api("/audit/exports", "GET", "site:trail_read", scope="audit", otherwise=guest_exports),
    *api("/audit/exports", "GET", "project_view", "trail_read", scope="audit", name="of a project", query="project={code}"),
    *api(
        "/audit/exports", "POST", "site:trail_read", ok=409, scope="audit", body={"form": "csv"}, otherwise=guest_waits,
    ),
    *api(
        "/audit/exports", "POST", "project_view", "trail_read", 409, scope="audit", name="of a project",
        body={"form": "csv", "project": "{code}"},
    ),
    *api("/audit/exports/{pk}", "GET", "site:trail_read", ok=404, scope="audit", args=NO_EXPORT, otherwise=guest_looks),
    *api("/audit/exports/{pk}/download", "GET", "site:trail_read", ok=404, scope="audit", args=NO_EXPORT, otherwise=guest_looks),
    *api("/audit/access", "GET", "site:trail_read", scope="audit", query="at=2026-03-12T12:00:00Z"),
]  # fmt: skip

SOCKETS = [
    *socket("ws/jobs/<uuid:pk>", "job_view", pk="job"),
    *socket("ws/jobs/<uuid:pk>/log", "job_view", "log_read", pk="job"),
    *socket("ws/jobs/<uuid:pk>/tasks/<int:task>/log", "job_view", "log_read", pk="job"),
]
