"""schemathesis asks what the API allows and what it forbids: no answer is a crash (BANCADA_FUZZ_EXAMPLES: more)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts import admission, lookup, pace
from datasets.services import registering
from jobs.services import reading
from logs.chunks import Chunk
from portal.wsgi import application
from storage.services import pace as places
from storage.services import passes
from tests.api import World, issue, make_world
from tests.conftest import Roles
from tests.factories import make_user
from tests.storage.fake_door import FakeDoor

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, negative_data_rejection,
]  # fmt: skip
OPERATIONS = (
    "me",
    "projects",
    "project",
    "project_standing",
    "allocations",
    "jobs",
    "submit",
    "submit_batch",
    "advice",
    "offers",
    "job",
    "log",
    "cancel",
    "act_on_job",
    "act_on_jobs",
    "label_job",
    "job_manifest",
    "job_why",
    "job_report",
    "job_tasks",
    "act_on_tasks",
    "job_curves",
    "import_script",
    "dictionary",
    "change_dictionary",
    "job_gpus",
    "job_gpu_summary",
    "job_usage",
    "presets",
    "software",
    "environments",
    "environment",
    "build_environment",
    "rebuild_environment",
    "retire_environment",
    "offer_environment",
    "delete_environment",
    "cluster",
    "audit_events",
    "audit_access",
    "audit_exports",
    "audit_export",
    "audit_export_ask",
    "audit_export_download",
    "open_project",
    "change_project",
    "archive_project",
    "reopen_project",
    "members",
    "add_member",
    "change_member",
    "remove_member",
    "directory",
    "joins",
    "ask_to_join",
    "let_in",
    "turn_away",
    "my_requests",
    "joinable",
    "withdraw_request",
    "ask_project",
    "project_requests",
    "refuse_project",
    "create_allocation",
    "allocation",
    "change_allocation",
    "close_allocation",
    "default_allocation",
    "shares",
    "set_shares",
    "usage",
    "funding",
    "add_funding",
    "change_funding",
    "allocation_requests",
    "ask_allocation",
    "allocation_request",
    "comment",
    "decide",
    "withdraw_allocation",
    "differences",
    "dry_run",
    "my_allocation_requests",
    "open_allocation_requests",
    "resolve",
    "datasets",
    "register_dataset",
    "dataset",
    "change_dataset",
    "approve_dataset",
    "retire_dataset",
    "change_steward",
    "dataset_versions",
    "add_dataset_version",
    "withdraw_dataset_version",
    "dataset_terms",
    "change_terms",
    "accept_terms",
    "dataset_requests",
    "ask_dataset",
    "give_dataset",
    "turn_down_dataset",
    "withdraw_dataset_request",
    "dataset_permissions",
    "revoke_dataset",
    "dataset_uses",
    "agreements",
    "add_agreement",
    "agreement",
    "change_agreement",
    "end_agreement",
    "do_duty",
    "incidents",
    "open_incident",
    "incident",
    "change_incident",
    "notify_incident",
    "close_incident",
    "files",
    "file_entry",
    "files_room",
    "files_growth",
    "file_content",
    "files_tar",
    "begin_upload",
    "upload_piece",
    "finish_upload",
    "abandon_upload",
    "make_folder",
    "unpack_file",
    "rename_file",
    "delete_file",
)
BY_OPERATOR = {
    "open_project", "change_project", "archive_project", "reopen_project", "project_requests", "refuse_project", "create_allocation", "change_allocation", "close_allocation", "decide",
    "differences", "resolve", "incidents", "open_incident", "incident", "change_incident", "notify_incident",
    "close_incident", "audit_access", "audit_exports", "audit_export", "audit_export_ask", "audit_export_download",
}  # fmt: skip
EXAMPLES = int(os.environ.get("BANCADA_FUZZ_EXAMPLES", "12"))  # of each kind, for each operation
BOUNDED = settings(
    max_examples=EXAMPLES, database=None, derandomize=True, phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@cache
def description() -> Any:
    """What the API says of itself, as whoever writes a client gets it."""
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)


class AnyReader:
    """A log reader with a short file."""

    def read(self, _ticket: str, _stream: str, offset: int, limit: int, **_: object) -> Chunk:
        data = b"epoch 1\xff\n" * 100
        begin = max(0, len(data) + offset) if offset < 0 else offset
        return Chunk(data[begin : begin + limit], begin, len(data), "g", "open", 0.0)


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[World]:
    settings.SUBMISSIONS_PER_MINUTE = 0
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setattr(reading, "reader", AnyReader)
    monkeypatch.setattr(passes, "door", FakeDoor)
    monkeypatch.setattr(places.downloads, "most_of_one", 10**6)  # this client hangs up without a word
    monkeypatch.setattr(places.downloads, "most", 10**6)
    monkeypatch.setattr(admission, "person_by_id", lambda _id: make_user())
    monkeypatch.setattr(lookup, "search", lambda _words: [])
    monkeypatch.setattr(pace, "MOST", 10**6)
    world = make_world(gpus_at_once=None, gpu_minutes=None, longest_minutes=None)
    world.accepted()
    registering.register(  # of the project's code, so that one aim finds either
        project=world.project, steward=world.person("pi"), by=None, code=world.project.code, name="Atlas",
        description="Scans.", licence="CC0", retention="For ever.",
    )  # fmt: skip
    with signals_off():
        yield world


@contextlib.contextmanager
def signals_off() -> Iterator[None]:
    """As Django's own test client does: a request must not close the connection the test's transaction is on."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_it_says_is_what_it_does(world: World, roles: Roles, name: str) -> None:
    who = world.person("operator" if name in BY_OPERATOR else "pi")
    headers = {"Authorization": f"Bearer {issue(who)}", "Accept-Language": "en"}
    roles.use("web")
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):  # what it allows, and what it forbids
        with transaction.atomic():
            _ask(world, name, mode, headers)
            transaction.set_rollback(True)


def _ask(world: World, name: str, mode: GenerationMode, headers: dict[str, str]) -> None:
    operation = description().find_operation_by_id(name)

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode), known=strategies.booleans())
    def ask(case: Any, known: bool) -> None:
        checks = CHECKS
        if known:
            _aim(case, world)  # which may make right what was wrong
            checks = [check for check in CHECKS if check is not negative_data_rejection]
        case.call_and_validate(headers=headers, checks=checks)

    ask()


def _aim(case: Any, world: World) -> None:
    """At things that are there, so that more is tried than the gate."""
    theirs = {"pk": str(world.job.pk), "code": world.project.code, "allocation": "main"}
    for name in set(case.path_parameters or ()) & set(theirs):
        case.path_parameters[name] = theirs[name]
    if isinstance(case.body, dict) and "project" in case.body:
        case.body |= {"project": world.project.code, "partition": "gpu"}


def test_every_operation_is_asked(world: World) -> None:
    names = {result.ok().definition.raw["operationId"] for result in description().get_all_operations()}
    assert names == set(OPERATIONS)
