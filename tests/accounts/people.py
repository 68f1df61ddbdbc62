"""The small directory of these tests: people in every state a password policy knows, groups nested and in a circle."""

from __future__ import annotations

import base64

SUFFIX = "dc=unit,dc=example"
PEOPLE, GUESTS, GROUPS = (f"ou={ou},{SUFFIX}" for ou in ("people", "guests", "groups"))
PORTAL, PORTAL_PASSWORD = f"cn=portal,{SUFFIX}", "portal-unit-password"
ROOT, ROOT_PASSWORD = f"cn=root,{SUFFIX}", "root-unit-password"
OLD = "20200101000000Z"
FOREVER = "000001010000Z"

# login -> what else the entry has
STATES: dict[str, dict[str, str]] = {
    "ana": {},
    "bruno": {},
    "carla": {"pwdReset": "TRUE"},
    "davi": {"pwdAccountLockedTime": FOREVER},
    "elisa": {"pwdChangedTime": OLD, "pwdPolicySubentry": f"cn=expires,{SUFFIX}"},
    "felipe": {"pwdChangedTime": OLD, "pwdPolicySubentry": f"cn=grace,{SUFFIX}"},
    "gabi": {},
    "hugo": {},
    "iara": {},
}
# group -> members; gabi is an operator through two groups, and the inner ones hold each other
MEMBERS: dict[str, list[str]] = {
    "bancada-operators": [f"cn=hpc-team,{GROUPS}"],
    "hpc-team": [f"cn=night-shift,{GROUPS}"],
    "night-shift": [f"uid=gabi,{PEOPLE}", f"cn=hpc-team,{GROUPS}"],
    "bancada-auditors": [f"uid=hugo,{PEOPLE}"],
}


def password(user: str) -> str:
    """What this person types."""
    return f"{user}-unit-2026"


def uid(user: str) -> int:
    """This person's uid number."""
    return 20101 + list(STATES).index(user)


def entry(user: str, *, base: str = PEOPLE, number: int | None = None, **more: str) -> dict[str, object]:
    """An entry as it is added to the directory."""
    number = uid(user) if number is None else number
    return {
        "dn": f"uid={user},{base}",
        "objectClass": ["inetOrgPerson", "posixAccount"],
        "uid": user,
        "cn": f"{user.title()} Demo",
        "sn": "Demo",
        "mail": f"{user}@unit.example",
        "uidNumber": str(number),
        "gidNumber": str(number),
        "homeDirectory": f"/home/{user}",
        "userPassword": password(user),
        **more,
    }


def everything() -> str:
    """The whole directory as LDIF."""
    rows: list[dict[str, object]] = [
        {"dn": SUFFIX, "objectClass": ["dcObject", "organization"], "dc": "unit", "o": "Unit Demo"},
        *(
            {"dn": dn, "objectClass": "organizationalUnit", "ou": dn[3:].split(",")[0]}
            for dn in (PEOPLE, GUESTS, GROUPS)
        ),
        _policy("default", pwdLockout="TRUE", pwdMaxFailure="30000", pwdMustChange="TRUE"),
        _policy("expires", pwdMaxAge="86400"),
        _policy("grace", pwdMaxAge="86400", pwdGraceAuthNLimit="50"),
        {
            "dn": PORTAL,
            "objectClass": ["applicationProcess", "simpleSecurityObject"],
            "cn": "portal",
            "userPassword": PORTAL_PASSWORD,
        },
        *(entry(user, **state) for user, state in STATES.items()),
        entry("iara", base=GUESTS, number=20999),
        *(
            {"dn": f"cn={name},{GROUPS}", "objectClass": "groupOfNames", "cn": name, "member": members}
            for name, members in MEMBERS.items()
        ),
    ]
    return "\n\n".join("\n".join(_lines(row)) for row in rows) + "\n"


def _policy(name: str, **rules: str) -> dict[str, object]:
    return {
        "dn": f"cn={name},{SUFFIX}",
        "objectClass": ["device", "pwdPolicy"],
        "cn": name,
        "pwdAttribute": "userPassword",
        **rules,
    }


def _lines(row: dict[str, object]) -> list[str]:
    pairs = [(name, one) for name, value in row.items() for one in (value if isinstance(value, list) else [value])]
    return [f"{name}:: {base64.b64encode(str(one).encode()).decode()}" for name, one in pairs]
