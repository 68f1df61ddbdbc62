"""`/api/v1`: the root of the API, who is let in where, and what becomes of errors."""

from __future__ import annotations

import math
from typing import Any, cast

import structlog
from django.core.exceptions import ValidationError as Impossible
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema

from access import fields
from access.errors import Denied, NotFound
from accounts.api import router as me
from accounts.models import TokenScope
from audit import trail
from audit.actions import Action, Outcome
from audit.api import router_over
from audit.api_exports import NotYet, exports_over
from cluster.api import router as cluster
from datasets import refusals as data_refusals
from datasets.api import router as datasets
from datasets.api_agreements import router as agreements
from datasets.api_incidents import router as incidents
from datasets.api_permissions import router as permissions
from datasets.services import NotPermitted
from files.answers import Refused as FileRefused
from jobs.api import router as jobs
from jobs.api_acts import router as job_acts
from jobs.api_advice import router as job_advice
from jobs.api_curves import router as job_curves
from jobs.api_environments import router as environments
from jobs.api_gpus import router as job_gpus
from jobs.api_importing import router as imports
from jobs.api_importing import words as dictionary
from jobs.api_report import router as job_report
from jobs.api_standing import router as standings
from jobs.api_tasks import router as job_tasks
from jobs.services import AlreadyOver, KeyReused, NotNow
from jobs.services.acts import NotPossible
from jobs.services.asking import FIELD_OF_LIMIT
from jobs.services.pace import TooFast
from jobs.services.reading import ReaderDown
from jobs.services.repeating import NotAgain
from jobs.specs import BadSpec
from portal import api_schema, denied
from portal.api_auth import WrongScope, door
from portal.problems import problem
from presets.api import presets, software
from projects.api import router as projects
from projects.api_people import directory
from projects.api_people import router as people
from projects.api_requests import joins
from projects.api_requests import router as requests
from projects.models import Project
from quotas.api import router as allocations
from quotas.api_differences import dry_run
from quotas.api_differences import router as differences
from quotas.api_reports import router as reports
from quotas.api_requests import own as own_requests
from quotas.api_requests import router as allocation_requests
from quotas.services import NotMember, OverAllocation
from quotas.services.drift import NothingToDo
from storage import words as file_words
from storage.api import router as project_files

log = structlog.get_logger(__name__)
CHALLENGE = 'Bearer realm="bancada"'


class Api(NinjaAPI):
    """The API with its own error shape in its description too."""

    described: OpenAPISchema | None = None

    def get_openapi_schema(self, **where: Any) -> OpenAPISchema:
        """As django-ninja makes it, with the errors every route may answer; made once, it is the same for everybody."""
        if self.described is None:
            self.described = api_schema.with_problems(super().get_openapi_schema(**where))
        return self.described


api = Api(title="Bancada", version="1", description=api_schema.ABOUT, docs_url=None, urls_namespace="api-v1")
api.add_router("/me", me, auth=door(read=None), tags=["me"])
manage = door(write=TokenScope.MANAGE)
for router in (projects, people, joins, standings):
    api.add_router("/projects", router, auth=manage, tags=["projects"])
api.add_router("/requests", requests, auth=manage, tags=["requests"])
api.add_router("/requests", own_requests, auth=manage, tags=["requests"])
api.add_router("/directory", directory, auth=manage, tags=["directory"])
for router in (allocations, reports, allocation_requests):
    api.add_router("/projects", router, auth=manage, tags=["allocations"])
for router in (datasets, permissions):
    api.add_router("/datasets", router, auth=manage, tags=["datasets"])
api.add_router("/projects", agreements, auth=manage, tags=["datasets"])
api.add_router("/projects", project_files, auth=door(), tags=["files"])
api.add_router("/projects", environments, auth=door(), tags=["jobs"])
api.add_router("/incidents", incidents, auth=manage, tags=["datasets"])
api.add_router("/differences", differences, auth=manage, tags=["allocations"])
api.add_router("/dry-run", dry_run, auth=manage, tags=["allocations"])
api.add_router("/jobs", jobs, auth=door(), tags=["jobs"])
api.add_router("/jobs", job_acts, auth=door(), tags=["jobs"])
api.add_router("/jobs", job_advice, auth=door(), tags=["jobs"])
api.add_router("/jobs", job_gpus, auth=door(), tags=["jobs"])
api.add_router("/jobs", job_report, auth=door(), tags=["jobs"])
api.add_router("/jobs", job_tasks, auth=door(), tags=["jobs"])
api.add_router("/jobs", job_curves, auth=door(), tags=["jobs"])
api.add_router("/jobs", imports, auth=door(), tags=["jobs"])
api.add_router("/dictionary", dictionary, auth=manage, tags=["jobs"])
api.add_router("/presets", presets, auth=door(), tags=["jobs"])
api.add_router("/software", software, auth=door(), tags=["jobs"])
api.add_router("/cluster", cluster, auth=door(), tags=["cluster"])
api.add_router("/audit", router_over(Project), auth=door(read=TokenScope.AUDIT), tags=["audit"])
auditing = door(read=TokenScope.AUDIT, write=TokenScope.AUDIT)
api.add_router("/audit", exports_over(Project), auth=auditing, tags=["audit"])


@csrf_exempt
def absent(request: HttpRequest, rest: str = "") -> HttpResponse:
    """An address below /api/ that is none."""
    return problem(404)


@api.exception_handler(Denied)
def _denied(request: HttpRequest, error: Denied) -> HttpResponse:
    denied.record(error, by=request.user)
    if isinstance(error, NotFound):
        return problem(404)
    said = getattr(error, "why", "") or _("Your role does not allow this.")
    return problem(403, said, permission=str(error.permission))


@api.exception_handler(AuthenticationError)
def _nobody(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    detail = _("Send a valid token: Authorization: Bearer …")
    return problem(401, detail, headers={"WWW-Authenticate": CHALLENGE})


@api.exception_handler(WrongScope)
def _wrong_scope(request: HttpRequest, error: WrongScope) -> HttpResponse:
    trail.record(Action.TOKEN_REFUSED, by=request.user, about=error.token, outcome=Outcome.REFUSED, needed=error.needed)
    challenge = f'{CHALLENGE}, error="insufficient_scope", scope="{error.needed}"'
    detail = _("The token lacks the scope “%(scope)s”.") % {"scope": error.needed}
    return problem(403, detail, kind="scope", scope=error.needed, headers={"WWW-Authenticate": challenge})


@api.exception_handler(ValidationError)
def _malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return problem(422, errors=fields.messages(error.errors))


@api.exception_handler(Impossible)
def _impossible(request: HttpRequest, error: Impossible) -> HttpResponse:
    """What the rows themselves refuse; the Slurm account is the code."""
    said = error.message_dict if hasattr(error, "error_dict") else {"body": error.messages}
    renamed = {"slurm_account": "code", "__all__": "body"}
    return problem(422, errors={renamed.get(name, name): words for name, words in said.items()})


@api.exception_handler(NotYet)
def _not_yet(request: HttpRequest, error: NotYet) -> HttpResponse:
    return problem(409, str(error))


def _refusal(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Why people or projects were not changed, at the field it belongs to."""
    why = data_refusals.of(cast(Exception, error))
    errors = {why.field: [str(why.words)]} if why.field else None
    headers = {"Retry-After": "60"} if why.status in (429, 503) else None
    return problem(why.status, str(why.words), kind=why.kind, errors=errors, headers=headers)


for refusal in data_refusals.REFUSALS:  # those of projects among them
    api.add_exception_handler(refusal, _refusal)


@api.exception_handler(NotMember)
def _not_member(request: HttpRequest, error: NotMember) -> HttpResponse:
    said = _("Nobody of the project: %(names)s.") % {"names": str(error)}
    return problem(422, said, kind="no-such-member", errors={"login": [said]})


@api.exception_handler(NothingToDo)
def _nothing_to_do(request: HttpRequest, error: NothingToDo) -> HttpResponse:
    return problem(409, _("There is no such difference any more."), kind="nothing-to-do")


@api.exception_handler(BadSpec)
def _bad_spec(request: HttpRequest, error: BadSpec) -> HttpResponse:
    return problem(422, errors=error.errors)


@api.exception_handler(OverAllocation)
def _over_allocation(request: HttpRequest, error: OverAllocation) -> HttpResponse:
    field = FIELD_OF_LIMIT.get(error.limit, "allocation")
    said = {field if error.place is None else f"jobs.{error.place}.{field}": [str(error)]}
    return problem(422, str(error), kind="over-allocation", errors=said, limit=error.limit, over=error.as_dict())


@api.exception_handler(NotPermitted)
def _not_permitted(request: HttpRequest, error: NotPermitted) -> HttpResponse:
    field = "datasets" if error.place is None else f"jobs.{error.place}.datasets"
    return problem(422, str(error), kind="not-permitted", errors={field: error.reasons})


@api.exception_handler(NotNow)
def _not_now(request: HttpRequest, error: NotNow) -> HttpResponse:
    return problem(422, str(error), kind="not-now", errors={"project": [str(error)]})


@api.exception_handler(KeyReused)
def _key_reused(request: HttpRequest, error: KeyReused) -> HttpResponse:
    said = _("This key came with another request before.")
    return problem(409, said, kind="key-reused", errors={"Idempotency-Key": [said]})


@api.exception_handler(NotPossible)
@api.exception_handler(NotAgain)
def _not_possible(request: HttpRequest, error: Exception) -> HttpResponse:
    return problem(409, str(error))


@api.exception_handler(AlreadyOver)
def _already_over(request: HttpRequest, error: AlreadyOver) -> HttpResponse:
    return problem(409, str(error), kind="already-over")


@api.exception_handler(TooFast)
def _too_fast(request: HttpRequest, error: TooFast) -> HttpResponse:
    wait = max(1, math.ceil(error.wait))
    detail = _("At most %(n)d jobs a minute; try again in %(s)d s.") % {"n": error.most, "s": wait}
    return problem(429, detail, headers={"Retry-After": str(wait)})


def _file_refused(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """What the file system, the files' door or the worker said."""
    status, word, said = file_words.of(cast(Exception, error))
    facts: dict[str, Any] = dict(error.facts) if isinstance(error, FileRefused) else {}
    headers = {"Retry-After": "3"} if status == 503 else None
    return problem(status, said, kind=word, headers=headers, **facts)


for failure in file_words.FAILURES:
    api.add_exception_handler(failure, _file_refused)


@api.exception_handler(ReaderDown)
def _reader_down(request: HttpRequest, error: ReaderDown) -> HttpResponse:
    log.warning("log reader down", error=str(error))
    return problem(503, _("The outputs of jobs cannot be read at the moment."), headers={"Retry-After": "5"})


@api.exception_handler(OperationalError)
@api.exception_handler(InterfaceError)
def _database_away(request: HttpRequest, error: Exception) -> HttpResponse:
    """Whether a change was made is not known now: with its Idempotency-Key it can be asked for again."""
    log.error("database away", error=type(error).__name__)
    return problem(503, _("The portal cannot reach its own records. Try again."), headers={"Retry-After": "5"})


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return problem(error.status_code)
