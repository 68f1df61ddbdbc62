"""The demo directory as LDIF: people, their Unix groups, the portal's site groups, password policies."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator

from stack import demo
from stack.demo import SUFFIX

PEOPLE, GROUPS, SERVICES, POLICIES = (f"ou={ou},{SUFFIX}" for ou in ("people", "groups", "services", "policies"))
PORTAL = f"cn=portal,{SERVICES}"
FOREVER = "000001010000Z"  # pwdAccountLockedTime: until an administrator unlocks


def everything(portal_password: str) -> str:
    entries = [*_frame(), _portal(portal_password), *map(_person, demo.PEOPLE), *_unix_groups(), *_site_groups()]
    return "\n\n".join("\n".join(_lines(entry)) for entry in entries) + "\n"


def _lines(entry: dict[str, object]) -> Iterator[str]:
    for name, value in entry.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            text = str(one)
            yield f"{name}: {text}" if text.isascii() else f"{name}:: {base64.b64encode(text.encode()).decode()}"


def _frame() -> Iterator[dict[str, object]]:
    yield {"dn": SUFFIX, "objectClass": ["dcObject", "organization"], "dc": "bancada", "o": "Bancada Demo"}
    for dn in (PEOPLE, GROUPS, SERVICES, POLICIES):
        yield {"dn": dn, "objectClass": "organizationalUnit", "ou": dn.split(",")[0].removeprefix("ou=")}
    yield _policy("default", pwdLockout="TRUE", pwdMaxFailure=10, pwdLockoutDuration=300, pwdMustChange="TRUE")
    yield _policy("services", pwdLockout="FALSE", pwdMustChange="FALSE")


def _policy(name: str, **rules: object) -> dict[str, object]:
    classes = ["device", "pwdPolicy"]
    fixed = {"pwdAttribute": "userPassword", "pwdMinLength": 10, "pwdCheckQuality": 1, "pwdAllowUserChange": "TRUE"}
    return {"dn": f"cn={name},{POLICIES}", "objectClass": classes, "cn": name, **fixed, **rules}


def _portal(password: str) -> dict[str, object]:
    return {
        "dn": PORTAL,
        "objectClass": ["applicationProcess", "simpleSecurityObject"],
        "cn": "portal",
        "description": "searches people and groups for the portal",
        "userPassword": _hash(password),
        "pwdPolicySubentry": f"cn=services,{POLICIES}",
    }


def _person(person: demo.Person) -> dict[str, object]:
    entry: dict[str, object] = {
        "dn": f"uid={person.user},{PEOPLE}",
        "objectClass": ["inetOrgPerson", "posixAccount"],
        "uid": person.user,
        "cn": person.name,
        "givenName": person.given,
        "sn": "Demo",
        "mail": person.mail,
        "uidNumber": person.uid,
        "gidNumber": person.uid,
        "homeDirectory": f"/srv/var/home/{person.user}",
        "loginShell": "/bin/bash",
        "userPassword": _hash(person.password),
    }
    return entry | _state(person)


def _state(person: demo.Person) -> dict[str, object]:
    """What a running slapd would have written: memberOf of the overlay, ppolicy's marks."""
    state: dict[str, object] = {}
    if person.site_role:
        state["memberOf"] = f"cn={_direct_group(person.site_role)},{GROUPS}"
    if person.must_change:
        state["pwdReset"] = "TRUE"
    if person.locked:
        state["pwdAccountLockedTime"] = FOREVER
    return state


def _direct_group(site_role: str) -> str:
    """The group people are put in: for the outer group of the nested pair, the inner one."""
    outer, inner = demo.NESTED
    group = demo.SITE_GROUPS[site_role]
    return inner if group == outer else group


def _unix_groups() -> Iterator[dict[str, object]]:
    for person in demo.PEOPLE:
        yield _unix_group(person.user, person.uid, [])
    for project in demo.PROJECTS:
        yield _unix_group(project.unix_group, project.gid, [member.user for member in project.members()])


def _unix_group(name: str, gid: int, members: list[str]) -> dict[str, object]:
    entry: dict[str, object] = {"dn": f"cn={name},{GROUPS}", "objectClass": "posixGroup", "cn": name, "gidNumber": gid}
    return entry | ({"memberUid": members} if members else {})


def _site_groups() -> Iterator[dict[str, object]]:
    """Site roles by directory group; the operators are members through a group inside the group."""
    for role in demo.SITE_GROUPS:
        people = [f"uid={person.user},{PEOPLE}" for person in demo.PEOPLE if person.site_role == role]
        yield _names(_direct_group(role), people)
    outer, inner = demo.NESTED
    yield _names(outer, [f"cn={inner},{GROUPS}"])


def _names(name: str, members: list[str]) -> dict[str, object]:
    return {"dn": f"cn={name},{GROUPS}", "objectClass": "groupOfNames", "cn": name, "member": members}


def _hash(password: str) -> str:
    salt = os.urandom(8)
    return "{SSHA}" + base64.b64encode(hashlib.sha1(password.encode() + salt).digest() + salt).decode()
