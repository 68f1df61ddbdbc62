"""A job's output over plain HTTP: a range, a search, the whole file. The same reading as the API and the socket."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from accounts.http import SignedInRequest
from jobs.services import reading

STREAMS = ("stdout", "stderr")
FIRST, MOST = 64 * 1024, 1024 * 1024


def _asked(request: SignedInRequest, pk: str) -> tuple[reading.Job, str]:
    return reading.fetch(request.user, pk), _stream(request)


def _stream(request: SignedInRequest) -> str:
    stream = request.GET.get("stream", "stdout")
    return stream if stream in STREAMS else "stdout"


def _number(request: SignedInRequest, name: str, default: int) -> int:
    """A whole number of the query; what is none counts as the default."""
    text = request.GET.get(name, "")
    return int(text) if text.removeprefix("-").isdigit() and text.isascii() and len(text) < 18 else default


@login_required
@require_safe
def log(request: SignedInRequest, pk: str, number: int | None = None) -> HttpResponse:
    """Bytes from an offset (negative: from the end); what is known of the file stands in the headers."""
    job, stream = _asked(request, pk)
    offset, limit = _number(request, "offset", -FIRST), min(_number(request, "limit", FIRST), MOST)
    generation = request.GET.get("generation", "")[:100]
    try:
        chunk = reading.read(
            job=job, by=request.user, stream=stream, offset=offset, limit=max(1, limit), generation=generation,
            task=number,
        )  # fmt: skip
    except reading.ReaderDown:
        return _down()
    response = HttpResponse(chunk.data, content_type="text/plain; charset=utf-8")
    _describe(response, chunk)
    if chunk.data and (offset < 0 or "numbered" in request.GET):
        response["X-Log-Line"] = _line(request, job, stream, chunk.offset, number)
    return response


def _line(request: SignedInRequest, job: reading.Job, stream: str, offset: int, task: int | None) -> str:
    """Which line these bytes begin in; "" where the file is too long to count at once."""
    try:
        place = reading.line(job=job, by=request.user, stream=stream, offset=offset, task=task)
    except reading.ReaderDown:
        return ""
    return str(place.line) if place.complete else ""


def _describe(response: HttpResponse | StreamingHttpResponse, chunk: reading.Chunk) -> None:
    response["X-Log-Size"], response["X-Log-Offset"] = str(chunk.size), str(chunk.offset)
    response["X-Log-Generation"], response["X-Log-State"] = chunk.generation, chunk.state
    response["X-Log-Age"] = f"{chunk.age:.1f}"


def _down() -> HttpResponse:
    response = HttpResponse(status=503, content_type="text/plain; charset=utf-8")
    response["X-Log-State"], response["Retry-After"] = "reader-down", "2"
    return response


@login_required
@require_safe
def find(request: SignedInRequest, pk: str, number: int | None = None) -> HttpResponse:
    """Lines of the whole file that hold the text."""
    job, stream = _asked(request, pk)
    try:
        found = reading.find(
            job=job, by=request.user, stream=stream, query=request.GET.get("q", ""), after=_number(request, "after", 0),
            task=number,
        )  # fmt: skip
    except ValueError:
        return HttpResponseBadRequest()
    except reading.ReaderDown:
        return _down()
    matches = [{"line": line, "offset": offset} for line, offset in found.matches]
    return JsonResponse({"matches": matches, "count": len(matches), "capped": not found.complete, "next": found.next})


@login_required
@require_safe
def download(request: SignedInRequest, pk: str, number: int | None = None) -> HttpResponse | StreamingHttpResponse:
    """The whole file, streamed, as an attachment that no browser renders."""
    job, stream = reading.fetch_to_take(request.user, pk), _stream(request)
    try:
        whole = reading.download(job=job, by=request.user, stream=stream, task=number)
    except reading.NotReadable as error:
        response = HttpResponse(status=404, content_type="text/plain; charset=utf-8")
        response["X-Log-State"] = error.state
        return response
    except reading.ReaderDown:
        return _down()
    streaming = StreamingHttpResponse(whole, content_type="text/plain; charset=utf-8")
    _describe(streaming, whole.chunk)
    name = f"{job.slurm_job_id or job.pk}{'' if number is None else f'_{number}'}-{stream}.txt"
    streaming["Content-Disposition"] = f'attachment; filename="{name}"'
    streaming["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return streaming
