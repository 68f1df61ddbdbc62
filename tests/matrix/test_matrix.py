"""Whose is what: every page and API operation × every kind of person × own, beside, other, absent."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.matrix import routes
from tests.matrix.asking import ask, call_for
from tests.matrix.expect import OWN
from tests.matrix.people import World
from tests.matrix.rules import API, PAGES, Kind, Rule
from tests.matrix.running import run, undeclared

pytestmark = pytest.mark.django_db
RULES = [*PAGES, *API]
ROUTES = sorted({(rule.kind, rule.route) for rule in RULES})


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_everybody_gets_what_is_theirs_and_nothing_else(
    world: World, rule: Rule, record_property: pytest.FixtureRequest
) -> None:
    result = run(world, rule)
    record_property("cells", result.cells)  # type: ignore[operator]
    record_property("leaks", len(result.wrong))  # type: ignore[operator]
    if result.wrong:
        pytest.fail("\n".join(result.wrong), pytrace=False)


@pytest.mark.parametrize(("kind", "route"), ROUTES, ids=lambda value: str(value))
def test_what_a_route_does_not_declare_it_refuses(
    world: World, kind: Kind, route: str, record_property: pytest.FixtureRequest
) -> None:
    result = undeclared(world, kind, route, [one for one in RULES if (one.kind, one.route) == (kind, route)])
    record_property("cells", result.cells)  # type: ignore[operator]
    record_property("leaks", len(result.wrong))  # type: ignore[operator]
    if result.wrong:
        pytest.fail("\n".join(result.wrong), pytrace=False)


def test_a_name_that_is_no_text_is_nobodys(world: World) -> None:
    wrong = {}
    for rule in API:
        for name in re.findall(r"{\w+}", rule.route):
            asked = dataclasses.replace(rule, route=rule.route.replace(name, "%00"))
            answer = ask(world, asked, "pi", call_for(world, asked, "pi", OWN))
            if answer.status not in (403, 404, 422):
                wrong[f"{rule.method} {asked.route}"] = answer.status, answer.error
    assert wrong == {}


def test_every_page_is_declared() -> None:
    assert {rule.route for rule in PAGES} == set(routes.pages())


def test_every_operation_is_declared() -> None:
    declared: dict[str, set[str]] = {}
    for rule in API:
        declared.setdefault(rule.route, set()).add(rule.method)
    assert declared == routes.operations()
