"""From the directory's groups to a site role: groups within groups, in circles too; no role where it is not sure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import ldap.dn
import structlog
from django.conf import settings
from ldap.filter import escape_filter_chars

from access.roles import SiteRole
from accounts.directory.conversation import Conversation
from accounts.directory.entries import Entry

log = structlog.get_logger(__name__)

DEEPEST = 10  # groups within groups
MOST = 500  # groups of one person
_AT_ONCE = 40  # names in one filter
IN_CHAIN = "1.2.840.113556.1.4.1941"  # Active Directory follows the groups itself
CLASSES = ("groupOfNames", "groupOfUniqueNames", "groupOfMembers", "posixGroup", "group")
_IS_GROUP = f"(|{''.join(f'(objectClass={name})' for name in CLASSES)})"


def site_role(talk: Conversation, entry: Entry) -> SiteRole:
    """The site role that the person's groups bring. Raises DirectoryDown where the groups cannot be read."""
    if not settings.LDAP_GROUP_BASE:
        return SiteRole.NONE
    roles = _site_groups(talk)
    held = _in_chain(talk, entry, roles) if settings.LDAP_NESTED_RULE == "in-chain" else _walk(talk, entry, roles)
    found = {roles[dn] for dn in held}
    return SiteRole.OPERATOR if SiteRole.OPERATOR in found else next(iter(found), SiteRole.NONE)


def plain_dn(dn: str) -> str:
    """A DN in a form that can be compared."""
    try:
        return ldap.dn.dn2str(ldap.dn.str2dn(dn)).lower()
    except ldap.DECODING_ERROR:
        return dn.lower()


def _site_groups(talk: Conversation) -> dict[str, SiteRole]:
    """DN -> role of the configured groups. A name two groups share brings nobody a role."""
    wanted = dict.fromkeys(settings.LDAP_AUDITOR_GROUPS, SiteRole.AUDITOR)
    wanted |= dict.fromkeys(settings.LDAP_OPERATOR_GROUPS, SiteRole.OPERATOR)
    roles = {plain_dn(name): role for name, role in wanted.items() if "=" in name}
    names = [name for name in wanted if name and "=" not in name]
    if names:
        rows = _search(talk, "(|%s)", [f"(cn={escape_filter_chars(name)})" for name in names])
        for name in names:
            found = [dn for dn, cns in rows if name.casefold() in cns]
            if len(found) > 1:
                log.error("two groups share a name", group=name, found=found)
            elif found:
                roles[found[0]] = wanted[name]
    return roles


def _walk(talk: Conversation, entry: Entry, roles: dict[str, SiteRole]) -> set[str]:
    """The site groups reached from the person upwards."""
    seen: set[str] = set()
    wave = _search(talk, "(|%s)", [*_holds([entry.dn]), f"(memberUid={escape_filter_chars(entry.username)})"])
    for _step in range(DEEPEST):
        fresh = {dn for dn, _names in wave} - seen
        seen |= fresh
        if not fresh or not settings.LDAP_NESTED_GROUPS:
            break
        if len(seen) > MOST:
            log.warning("too many groups", person=entry.username)
            break
        wave = [row for part in _parts(sorted(fresh)) for row in _search(talk, "(|%s)", _holds(part))]
    else:
        log.warning("groups nested too deep", person=entry.username)
    return seen & roles.keys()


def _in_chain(talk: Conversation, entry: Entry, roles: dict[str, SiteRole]) -> set[str]:
    """The site groups of the person, as Active Directory itself follows them."""
    if not roles:
        return set()
    rule = f":{IN_CHAIN}:" if settings.LDAP_NESTED_GROUPS else ""
    me = f"(member{rule}={escape_filter_chars(entry.dn)})"
    names = [f"(distinguishedName={escape_filter_chars(dn)})" for dn in roles]
    return {dn for dn, _names in _search(talk, f"(&(|%s){me})", names)} & roles.keys()


def _holds(dns: Iterable[str]) -> list[str]:
    escaped = [escape_filter_chars(dn) for dn in dns]
    return [f"({name}={dn})" for dn in escaped for name in ("member", "uniqueMember")]


def _search(talk: Conversation, shape: str, parts: Sequence[str]) -> list[tuple[str, set[str]]]:
    """Comparable DNs and lower-case names of the groups that match."""
    rows = talk.search(settings.LDAP_GROUP_BASE, f"(&{_IS_GROUP}{shape.replace('%s', ''.join(parts))})", ["cn"])
    return [(plain_dn(dn), {_folded(name) for name in found.get("cn", [])}) for dn, found in rows]


def _folded(name: bytes) -> str:
    return name.decode("utf-8", "replace").casefold()


def _parts(dns: Sequence[str]) -> Iterable[Sequence[str]]:
    return (dns[at : at + _AT_ONCE] for at in range(0, len(dns), _AT_ONCE))
