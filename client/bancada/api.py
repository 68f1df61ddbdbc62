"""What the portal's API can do, as methods; every error is a Trouble with the portal's own words."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

TRIES = 5  # of one submission
LONGEST_WAIT = 120.0  # seconds to wait because the portal asks for it
PIECE = 1024 * 1024  # bytes of output asked for at a time
_HERE = {"127.0.0.1", "localhost", "::1"}


class Trouble(Exception):
    """The portal refused, or cannot be reached; `status` is 0 where there was no answer."""

    def __init__(self, said: str, status: int = 0, errors: Mapping[str, list[str]] | None = None) -> None:
        super().__init__(said)
        self.status, self.errors = status, dict(errors or {})


@dataclass(frozen=True)
class Piece:
    """Bytes of an output from `offset` on, and what is known of it; `generation` names one writing of the file."""

    data: bytes
    offset: int
    size: int
    state: str
    generation: str


class Portal:
    """One portal, spoken to with one token."""

    def __init__(
        self, url: str, token: str, *, language: str = "", transport: httpx.BaseTransport | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
            raise Trouble("BANCADA_URL must begin with https:// (http:// is possible to this host only).")
        spoken = {"Accept-Language": language} if language else {}
        self._http = httpx.Client(
            base_url=url.rstrip("/") + "/api/v1",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"} | spoken,
            timeout=30.0,
            follow_redirects=False,
            transport=transport,
        )

    def get(self, path: str, /, **query: Any) -> Any:
        """GET; the JSON of the answer."""
        return self._ask("GET", path, params={name: value for name, value in query.items() if value is not None}).json()

    def submit(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for a job. Sent again after a lost connection or when asked to wait, with the same key: one job."""
        key = str(uuid.uuid4())
        for attempt in range(1, TRIES + 1):
            try:
                answer = self._ask("POST", "/jobs", json=request, headers={"Idempotency-Key": key})
            except _Again as again:
                if attempt == TRIES:
                    raise again.trouble from again
                time.sleep(again.wait)
            else:
                return dict(answer.json())
        raise AssertionError

    def read_script(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the portal makes of an sbatch script: fields, and what became of each line. Nothing is asked for."""
        return dict(self._ask("POST", "/jobs/import", json=asked).json())

    def job(self, name: str) -> dict[str, Any]:
        """One job, by its id or by Slurm's number among the last ones."""
        return dict(self.get(f"/jobs/{self.job_id(name)}"))

    def job_id(self, name: str) -> str:
        """The portal's id of what was typed."""
        if not name.isdigit():
            return name
        for row in self.get("/jobs", limit=200)["items"]:
            if row["slurm_job_id"] == int(name):
                return str(row["id"])
        raise Trouble(f"No job with the number {name} among your last 200.")

    def task_of(self, name: str) -> tuple[str, int | None]:
        """The portal's id, and which task of the array is meant: 4711_3, or the id with _3 behind it."""
        job, sign, task = name.rpartition("_")
        return (self.job_id(job), int(task)) if sign and task.isdigit() else (self.job_id(name), None)

    def task(self, job_id: str, task: int) -> dict[str, Any]:
        """One task of an array: its state, exit code, parameters, values."""
        for row in self.get(f"/jobs/{job_id}/tasks")["items"]:
            if row["task"] == task:
                return dict(row)
        raise Trouble(f"There is no task {task}.")

    def act_on_tasks(self, job_id: str, **asked: Any) -> dict[str, Any]:
        """Run the failed ones again, change how many run at once, or end some."""
        return dict(self._ask("POST", f"/jobs/{job_id}/tasks", json=asked).json())

    def cancel(self, name: str) -> dict[str, Any]:
        """Ask for a job's end; of an array, of one task alone where it is named."""
        job_id, task = self.task_of(name)
        if task is not None:
            return self.act_on_tasks(job_id, act="end", tasks=str(task))
        return dict(self._ask("POST", f"/jobs/{job_id}/cancel").json())

    def log(self, job_id: str, stream: str, offset: int, generation: str = "", task: int | None = None) -> Piece:
        """Up to 1 MiB of output at `offset`, of a `task` of an array its own; a negative one counts from the end."""
        query: dict[str, Any] = {"stream": stream, "offset": offset, "limit": PIECE, "generation": generation}
        query |= {} if task is None else {"task": task}
        answer = self._ask("GET", f"/jobs/{job_id}/log", params=query)
        told = answer.headers
        return Piece(
            answer.content, int(told["X-Log-Offset"]), int(told["X-Log-Size"]), told["X-Log-State"],
            told["X-Log-Generation"],
        )  # fmt: skip

    def pages(self, path: str, most: int, **query: Any) -> Iterator[dict[str, Any]]:
        """Items of a list, page after page, `most` in all."""
        cursor, left = None, most
        while left > 0:
            page = self.get(path, cursor=cursor, limit=min(left, 200), **query)
            yield from page["items"]
            cursor, left = page["next"], left - len(page["items"])
            if cursor is None:
                return

    def call(self, method: str, path: str, **what: Any) -> httpx.Response:
        """One request as httpx takes it; asked again a few times where the portal says to wait."""
        for attempt in range(1, TRIES + 1):
            try:
                return self._ask(method, path, **what)
            except _Again as again:
                if attempt == TRIES:
                    raise again.trouble from again
                time.sleep(again.wait)
        raise AssertionError

    def stream(self, path: str, /, **query: str) -> Iterator[bytes]:
        """GET, piece by piece; Trouble where it ends before it should."""
        try:
            with self._http.stream("GET", path, params=query) as answer:
                if not answer.is_success:
                    answer.read()
                    raise _trouble(answer)
                yield from answer.iter_bytes(PIECE)
        except httpx.TransportError as error:
            raise Trouble(f"The portal cannot be reached: {error or type(error).__name__}") from error

    def _ask(self, method: str, path: str, **what: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **what)
        except httpx.TransportError as error:
            trouble = Trouble(f"The portal cannot be reached: {error or type(error).__name__}")
            raise _Again(trouble, 1.0) if method == "POST" else trouble from error
        if answer.is_success:
            return answer
        trouble = _trouble(answer)
        wait = _wait(answer)
        raise _Again(trouble, wait) if method == "POST" and wait is not None else trouble


class _Again(Trouble):
    """Trouble that may pass: worth another try after `wait` seconds."""

    def __init__(self, trouble: Trouble, wait: float) -> None:
        super().__init__(str(trouble), trouble.status, trouble.errors)
        self.trouble, self.wait = trouble, wait


def _wait(answer: httpx.Response) -> float | None:
    if answer.status_code not in (429, 502, 503, 504):
        return None
    asked = answer.headers.get("Retry-After", "")
    return min(LONGEST_WAIT, float(asked)) if asked.isdigit() else 2.0


def _trouble(answer: httpx.Response) -> Trouble:
    try:
        body = answer.json()
    except ValueError:
        body = {}
    body = body if isinstance(body, dict) else {}
    said = str(body.get("detail") or f"The portal answered {answer.status_code}.")
    return Trouble(said, answer.status_code, body.get("errors"))
