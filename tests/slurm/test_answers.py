"""What slurmrestd's answers mean: recorded from 22.05.8 and 24.11.5."""

import json

import pytest

from slurm import answers
from slurm.contract import Refused, SlurmError, Unanswered, Unreachable


def verdict(status: int, body: dict[str, object]) -> SlurmError | None:
    try:
        answers.check(status, answers.read(status, json.dumps(body).encode()))
    except SlurmError as error:
        return error
    return None


def test_good() -> None:
    assert verdict(200, {"errors": []}) is None
    assert verdict(200, {"errors": [], "warnings": [{"description": "held"}]}) is None


@pytest.mark.parametrize("name", ["error_code", "error_number", "errno"])
@pytest.mark.parametrize("code", [2000, 2014, 2017, 2045, 2050, 2066, 2084, 7004, 9001])
def test_slurm_says_no_with_500(name: str, code: int) -> None:
    found = verdict(500, {"errors": [{name: code, "error": "no"}]})
    assert isinstance(found, Refused) and found.code == code and found.message == "no"


@pytest.mark.parametrize("code", [1800, 1001, 7000, 11, 2018])
def test_nothing_was_done(code: int) -> None:
    assert isinstance(verdict(500, {"errors": [{"error_code": code, "error": "later"}]}), Unreachable)


@pytest.mark.parametrize("code", [-1, 1000, 1007, 1801, 1802, 5004, 5005, 0])
def test_nobody_knows(code: int) -> None:
    assert isinstance(verdict(500, {"errors": [{"error_number": code, "error": "?"}]}), Unanswered)


def test_doubt_outweighs_a_refusal() -> None:
    errors = [{"error_number": 2045, "error": "no"}, {"error_number": 5004, "error": "timed out"}]
    assert isinstance(verdict(500, {"errors": errors}), Unanswered)


def test_what_was_not_even_parsed_was_refused() -> None:
    errors = [{"description": 'Unknown key "foo"', "source": "hsearch_r"}, {"error_code": 9001, "error": "parsing"}]
    found = verdict(400, {"errors": errors})
    assert isinstance(found, Refused) and found.code == 9001 and "foo" in found.message


def test_200_with_an_error_is_an_error() -> None:
    """22.05's slurmdb says 200 when slurmdbd is down."""
    body = {"errors": [{"error_number": 7000, "error": "Unable to connect to database"}], "jobs": []}
    assert isinstance(verdict(200, body), Unreachable)


def test_a_cancel_of_24_11_hides_its_error_in_status() -> None:
    body = {"status": [{"error": {"code": 2002, "string": "Access/permission denied"}}], "errors": []}
    found = verdict(200, body)
    assert isinstance(found, Refused) and found.code == 2002
    assert verdict(200, {"status": [{"error": {"code": 0, "string": "No error"}}], "errors": []}) is None


def test_500_without_errors_is_unknown() -> None:
    assert isinstance(verdict(500, {"errors": []}), Unanswered)


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (401, b"Authentication failure", Unreachable),
        (404, b"Unable find requested URL.", Refused),
        (400, b"Unable to parse query.", Refused),
        (502, b"<html>", Unanswered),
        (200, b"", Unanswered),
        (200, b"[1, 2]", Unanswered),
        (200, b'{"jobs": [', Unanswered),
        (500, b"\xff\xfe", Unanswered),
    ],
)
def test_without_json(status: int, content: bytes, kind: type[SlurmError]) -> None:
    with pytest.raises(kind):
        answers.read(status, content)


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\x1bb\nc"])
def test_a_name_that_is_no_text_spoils_no_answer(name: bytes) -> None:
    assert answers.read(200, b'{"jobs": [{"name": "' + name + b'"}]}')["jobs"][0]["name"]


@pytest.mark.parametrize("odd", [None, 7, "x", [], [None], ["x"], [{}], {"a": 1}])
def test_odd_errors_never_break_the_reader(odd: object) -> None:
    found = verdict(500, {"errors": odd, "status": odd})
    assert isinstance(found, Unanswered)
