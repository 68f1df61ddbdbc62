"""What an answer of slurmrestd means: done, refused, never arrived, or unknown. Its status code alone says little."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slurm.contract import Refused, SlurmError, Unanswered, Unreachable

Json = Mapping[str, Any]

UNKNOWN_JOB = 2017
NOTHING_FOUND = 9003  # a query that was answered, with nothing
# connect failures, and "full, try later": nothing was done
NOT_DONE = frozenset({11, 1001, 1800, 2018, 7000})
# Slurm's own no: job and node errors, slurmd, authority, accounting, parsing
REFUSALS = (range(2000, 5000), range(6000, 10000))
# what 22.05 answers where the JSON itself was not accepted
_NOT_LET_IN = frozenset({401, 403})


def read(status: int, content: bytes) -> Json:
    """The JSON object of an answer, whatever its status. Names come as their owners typed them, UTF-8 or not."""
    try:
        body = json.loads(content.decode("utf-8", "replace"), strict=False)
    except ValueError:
        body = None
    if isinstance(body, dict):
        return body
    words = content[:200].decode(errors="replace").strip() or f"status {status}"
    if status in _NOT_LET_IN:
        raise Unreachable(f"slurmrestd did not let us in: {words}")
    if status in (400, 404):
        raise Refused(words)
    raise Unanswered(f"slurmrestd answered {status} without JSON: {words}")


def faults(body: Json) -> Iterator[tuple[int, str]]:
    """(errno, words) of each error. Its name is error_number, error_code or errno, by version and by call."""
    for entry in [*_objects(body.get("errors")), *_per_job(body)]:
        code = next((entry[key] for key in ("error_number", "error_code", "errno") if entry.get(key)), 0)
        words = [str(entry[key]) for key in ("error", "description") if entry.get(key)]
        yield code if isinstance(code, int) else 0, ": ".join(words) or "no words given"


def _per_job(body: Json) -> Iterator[Json]:
    """New versions answer a cancel with 200 and what came of it per job."""
    for one in _objects(body.get("status")):
        for error in _objects([one.get("error")]):
            if error.get("code"):
                yield {"error_number": error["code"], "error": error.get("string") or error.get("message")}


def _objects(entries: object) -> list[Json]:
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def check(status: int, body: Json) -> None:
    """Raise what the errors of an answer mean; return if there are none."""
    found = list(faults(body))
    if found:
        raise verdict(status, found)
    if status >= 400:
        raise Unanswered(f"slurmrestd answered {status} and named no error")


def verdict(status: int, found: list[tuple[int, str]]) -> SlurmError:
    """The one error that stands for all: doubt outweighs a refusal, except that a 400 was never passed on."""
    words = "; ".join(text for _, text in found)
    codes = [code for code, _ in found if code]
    if codes and all(code in NOT_DONE for code in codes):
        return Unreachable(words)
    if status == 400 or (codes and all(_is_refusal(code) for code in codes)):
        return Refused(words, code=codes[0] if codes else 0)
    return Unanswered(words)


def _is_refusal(code: int) -> bool:
    return any(code in known for known in REFUSALS) and code not in NOT_DONE
