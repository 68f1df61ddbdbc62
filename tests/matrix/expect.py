"""What each kind of person must get, from tables written out here by hand: access/roles.py is not asked, it is tried."""

from __future__ import annotations

from tests.matrix.rules import ANYBODY, LISTED, MINE, SIGNED_IN, Kind, Rule

# Whose the address is. `mixed` and `gone` name the own project, and in it a row of the other tenant's, or none at all.
OWN, BESIDE, OTHER, ABSENT, MIXED, GONE = "own", "beside", "other", "absent", "mixed", "gone"
PLACES = (OWN, BESIDE, OTHER)

# person: role in own, beside, other ("-": none). `owner` asked for the jobs; who is removed or expired was PI before.
ROLES = {
    "nobody": "- - -",
    "outsider": "- - -",
    "viewer": "viewer researcher -",
    "researcher": "researcher viewer -",
    "owner": "researcher viewer -",
    "manager": "manager viewer -",
    "pi": "pi viewer -",
    "other_pi": "- - pi",
    "removed": "- viewer -",
    "expired": "- viewer -",
    "disabled": "- - -",
    "operator": "operator operator operator",
    "auditor": "auditor auditor auditor",
    "guest": "- - -",  # a guest auditor of the own project: reads its events, and nothing else
    "reader": "pi viewer -",  # the PI's token with the scope `read`; at a page it is nobody's
    "browser": "pi viewer -",  # the PI's session at the API, which reads with it and changes nothing
}
TENANT = (
    "viewer",
    "researcher",
    "owner",
    "manager",
    "pi",
    "removed",
    "expired",
    "disabled",
)  # who are in own or beside

COLUMNS = ("viewer", "researcher", "manager", "pi", "operator", "auditor")
HOLDS = {
    # permission          viewer researcher manager pi operator auditor
    "project_view":       "yes   yes        yes     yes yes     yes",
    "project_lead":       "-     -          -       yes yes     -",
    "member_manage":      "-     -          yes     yes yes     -",
    "allocation_request": "-     -          yes     yes -       -",
    "job_view":           "yes   yes        yes     yes yes     yes",
    "job_submit":         "-     yes        yes     yes -       -",
    "job_cancel":         "-     own        yes     yes yes     -",
    "log_read":           "yes   yes        yes     yes yes     -",
    "trail_read":         "-     -          yes     yes yes     yes",
    "preset_manage":      "-     -          yes     yes yes     -",
    "software_manage":    "-     -          -       -   yes     -",
    "cluster_view":       "-     -          -       -   yes     yes",
    "cluster_operate":    "-     -          -       -   yes     -",
    "dataset_find":       "yes   yes        yes     yes yes     yes",
    "dataset_view":       "yes   yes        yes     yes yes     yes",
    "dataset_steward":    "-     -          -       yes -       -",  # of each place's dataset: its PI
    "incident_view":      "-     -          -       -   yes     yes",
    "incident_manage":    "-     -          -       -   yes     -",
    "project_manage":     "-     -          -       -   yes     -",
    "trail_govern":       "-     -          -       -   yes     -",
}  # fmt: skip
SITE = ("operator", "auditor")
PAGES_PEOPLE = tuple(name for name in ROLES if name != "browser")
ASKS_TO_SIGN_IN = ("nobody", "disabled", "reader")  # of whom a page knows nothing


def role(person: str, place: str) -> str:
    """The role in one of PLACES, or "-"; "-" anywhere else."""
    return ROLES[person].split()[PLACES.index(place)] if place in PLACES else "-"


def holds(person: str, place: str, permission: str) -> bool:
    """Whether the person has this on the rows of that place; `own` ones are those of `owner`, in the own project."""
    if "|" in permission:
        return any(holds(person, place, one) for one in permission.split("|"))
    held = role(person, place)
    cell = HOLDS[permission].split()[COLUMNS.index(held)] if held != "-" else "-"
    return cell == "yes" or (cell == "own" and person == "owner" and place == OWN)


def on_the_site(person: str, permission: str) -> bool:
    """Whether a role on the site brings it."""
    return person in SITE and holds(person, OWN, permission)


def anywhere(person: str, permission: str) -> bool:
    """Whether the person has it in some project."""
    return any(holds(person, place, permission) for place in PLACES)


def expected(rule: Rule, person: str, place: str) -> int | None:
    """The status; None where it is enough that it is a refusal, the same as for a row that is not there."""
    shut = _door(rule, person)
    if shut:
        return shut
    if place in (MIXED, GONE) and not rule.alike:
        whole = _inside(rule, person, OWN)
        return whole if whole == 404 else None
    return _inside(rule, person, place)


def wrong_method(rule_needs_person: bool, kind: Kind, person: str) -> int:
    """A method that the route does not declare."""
    return 302 if kind is Kind.PAGE and rule_needs_person and person in ASKS_TO_SIGN_IN else 405


def _door(rule: Rule, person: str) -> int:
    """Who is turned away before anybody looks whose it is; 0: let in."""
    if rule.see == ANYBODY:
        return 0
    if rule.kind is Kind.PAGE:
        return 302 if person in ASKS_TO_SIGN_IN else 0
    if person in ("nobody", "disabled") or (person == "browser" and rule.method != "GET"):
        return 401
    lacks = rule.scope not in ("", "read")
    return 403 if person == "reader" and lacks else 0


def _inside(rule: Rule, person: str, place: str) -> int:
    if rule.otherwise:
        said = rule.otherwise(person, place)
        if said:
            return said
    if rule.see in (ANYBODY, SIGNED_IN) or rule.alike:
        return rule.ok
    if rule.see == LISTED:
        return rule.ok if place == OWN else 404
    if rule.see == MINE:
        return rule.ok if place == OWN else 404
    if rule.see.startswith("site:"):
        if not on_the_site(person, rule.see.removeprefix("site:")):
            return 403 if rule.kind is Kind.API else 404
        return 404 if place == ABSENT and rule.is_somebodys else rule.ok
    if rule.see.startswith("anywhere:"):
        return rule.ok if anywhere(person, rule.see.removeprefix("anywhere:")) else 403
    if not holds(person, place, rule.see):
        return 404
    return rule.ok if holds(person, place, rule.act or rule.see) else 403
