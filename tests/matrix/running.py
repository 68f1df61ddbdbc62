"""The run of one rule: everybody, everywhere, compared with what is expected; what is wrong is told in words."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

from tests.matrix import routes
from tests.matrix.asking import Alike, Answer, Call, ask, asked_in, call_for, names_in
from tests.matrix.expect import (
    ABSENT,
    BESIDE,
    GONE,
    HOLDS,
    MIXED,
    OTHER,
    OWN,
    PAGES_PEOPLE,
    ROLES,
    anywhere,
    expected,
    holds,
    wrong_method,
)
from tests.matrix.people import World
from tests.matrix.rules import ANYBODY, MINE, Kind, Rule

FULL = os.environ.get("FULL", "") not in ("", "0")
STRANGERS = ("outsider", "other_pi", "removed", "expired", "operator", "auditor")  # of the first tenant, too
COMPARING = ("outsider", "viewer", "pi", "other_pi", "removed", "expired", "reader")


@dataclasses.dataclass
class Result:
    """How many cells were tried and what was wrong in them."""

    cells: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)

    def __iadd__(self, other: Result) -> Result:
        self.cells += other.cells
        self.wrong += other.wrong
        return self


def people_of(rule: Rule) -> tuple[str, ...]:
    """Who tries it: the browser at the API is somebody else than at the pages.

    In the small run `owner` comes where it matters who asked for the job; else they are one researcher of two.
    """
    people = PAGES_PEOPLE if rule.kind is Kind.PAGE else tuple(ROLES)
    if FULL or "job_cancel" in rule.act or rule.otherwise:
        return people
    return tuple(person for person in people if person != "owner")


def places_of(rule: Rule, person: str) -> Iterator[str]:
    """Where they try it. An address that names nothing of a place is tried once.

    The small run takes everybody to their own and to another tenant's (to STRANGERS the first is another's already),
    and compares with what is not there for those of whom each stands for others.
    """
    yield OWN
    names = names_in(rule)
    if not names:
        return
    if FULL and rule.see != MINE and not rule.is_asked:
        yield BESIDE
    if not rule.is_asked and (FULL or person not in STRANGERS):
        yield OTHER
    if FULL or person in COMPARING or rule.see.startswith("site:"):
        yield ABSENT
    if "code" in names and len(names) > 1 and rule.see != MINE and (FULL or person in ("pi", "operator")):
        yield MIXED
        yield GONE


def run(world: World, rule: Rule) -> Result:
    """All cells of one rule."""
    result = Result()
    for person in people_of(rule):
        answers: dict[str, tuple[Call, Answer]] = {}
        for place in places_of(rule, person):
            call = call_for(world, rule, person, place)
            answer = ask(world, rule, person, call, watched=FULL)
            answers[place] = (call, answer)
            result.cells += 1
            result.wrong += [
                f"{rule} · {person} · {place}: {said}" for said in _wrong(world, rule, person, place, call, answer)
            ]
        result.wrong += [f"{rule} · {person}: {said}" for said in _tellable(rule, person, answers)]
    return result


def _wrong(world: World, rule: Rule, person: str, place: str, call: Call, answer: Answer) -> Iterator[str]:
    wanted = expected(rule, person, place)
    refusals = (403, 404, 422, rule.ok) if rule.query else (403, 404, 422)  # a filter that finds nothing is none
    if answer.status != wanted and not (wanted is None and answer.status in refusals):
        yield f"{answer.status} instead of {wanted or 'a refusal'} {answer.error}"
    leaked = world.canaries.leaked(person, answer.whole, call.sent)
    if leaked:
        yield f"LEAK of {', '.join(sorted(leaked))}"
    refused = answer.status in (403, 404) and answer.status != rule.ok
    if FULL and refused and rule.see not in (ANYBODY, MINE) and not _is_recorded(answer):
        yield "a refusal that is not recorded"


def _is_recorded(answer: Answer) -> bool:
    return any(one.startswith('INSERT INTO "audit_auditevent"') for one in answer.queries)


def _tellable(rule: Rule, person: str, answers: dict[str, tuple[Call, Answer]]) -> Iterator[str]:
    """Whether what is not theirs can be told from what is not there."""
    for place, (call, answer) in answers.items():
        absent = GONE if place == MIXED else ABSENT
        if absent not in answers or place in (ABSENT, GONE) or not _hidden(rule, person, place, answer):
            continue
        other_call, other = answers[absent]
        asked = asked_in(call, other_call)
        if answer.alike(asked) != other.alike(asked):
            yield f"{place} can be told from {absent}: {_difference(answer.alike(asked), other.alike(asked))}"
        if answer.queries != other.queries:
            yield f"{place} is looked for otherwise than {absent}: {_queries(answer.queries, other.queries)}"


def _hidden(rule: Rule, person: str, place: str, answer: Answer) -> bool:
    if place == MIXED:
        return True
    if rule.alike:
        return not holds(person, place, rule.alike)
    return answer.status == 404 and not (rule.see in HOLDS and holds(person, place, rule.see))


def _difference(one: Alike, two: Alike) -> str:
    if one[0] != two[0]:
        return f"{one[0]} and {two[0]}"
    if one[1] != two[1]:
        return str(set(one[1].items()) ^ set(two[1].items()))
    at = next(
        (n for n, (a, b) in enumerate(zip(one[2], two[2], strict=False)) if a != b), min(len(one[2]), len(two[2]))
    )
    return f"{one[2][max(0, at - 60) : at + 60]!r} and {two[2][max(0, at - 60) : at + 60]!r}"


def _queries(one: tuple[str, ...], two: tuple[str, ...]) -> str:
    for a, b in zip(one, two, strict=False):
        if a != b:
            return f"{a[:300]} / {b[:300]}"
    return f"{len(one)} and {len(two)} statements"


def undeclared(world: World, kind: Kind, route: str, rules: list[Rule]) -> Result:
    """Every method that no rule of this route names is refused, whoever asks."""
    declared, result = {rule.method for rule in rules}, Result()
    people = [person for person in people_of(rules[0]) if FULL or person == "pi"]
    for method in routes.METHODS:
        if method in declared or (method == "GET" and "HEAD" in declared):
            continue
        for person in people:
            rule = dataclasses.replace(rules[0], method=method, query="", body=None)
            call = dataclasses.replace(call_for(world, rules[0], person, OWN), method=method, body=b"", content_type="")
            answer = ask(world, rule, person, call)
            wanted = wrong_method(rules[0].see != ANYBODY, kind, person)
            result.cells += 1
            if answer.status != wanted:
                result.wrong.append(f"{method} {route} · {person}: {answer.status} instead of {wanted} {answer.error}")
            leaked = world.canaries.leaked(person, answer.whole, call.sent)
            if leaked:
                result.wrong.append(f"{method} {route} · {person}: LEAK of {', '.join(sorted(leaked))}")
    return result


__all__ = ["FULL", "Result", "anywhere", "run", "undeclared"]
