"""`doctor --user NAME`: why this person would be refused at sign-in, or could not submit."""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from datetime import timedelta

from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from accounts.directory import find, groups
from accounts.directory.conversation import conversation
from accounts.directory.entries import Entry
from accounts.directory.errors import DirectoryDown, Rejected
from accounts.directory.patience import Turns
from accounts.models import User
from accounts.throttle import cool_off
from audit.actions import Action
from audit.models import AuditEvent
from cluster import slurm_door
from portal.doctor import stores
from portal.doctor.finding import Finding, State
from portal.roles import SLURM, WEB
from projects.models import Membership, Project
from slurm.contract import SlurmError

LOWEST_UID = 1000


def explain(name: str) -> list[Finding]:
    """All there is to say about one login."""
    role, (entry, site_role, first) = stores.role(), _asked(name)
    user = _row(name, entry)
    findings = [*first, *_entry(entry), *_ours(name, entry, user), *_role(entry, user, site_role)]
    findings += [*_sessions(user), *_attempts(name)] if role == WEB else []
    findings += [*_projects(user), *_system(name, entry, user)]
    findings += [*_associations(user)] if role == SLURM else []
    return [*findings, *_history(name, user)]


def _ok(name: str, said: str) -> Finding:
    return Finding(name, State.OK, said)


def _bad(name: str, said: str, fix: str) -> Finding:
    return Finding(name, State.TROUBLE, said, fix)


def _asked(name: str) -> tuple[Entry | None, str, list[Finding]]:
    """Entry and site role from the directory."""
    try:
        with conversation(turns=Turns()) as talk:
            entry = find.by_login(talk, name)
            return entry, str(groups.site_role(talk, entry)), [_ok("directory", f"{entry.dn}, {entry.directory_id}")]
    except Rejected as error:
        fix = f"the search is {settings.LDAP_USER_FILTER} below {settings.LDAP_USER_BASE}; it must find exactly one"
        return None, "", [_bad("directory", str(error.reason), fix)]
    except DirectoryDown as error:
        return (
            None,
            "",
            [_bad("directory", error.cause, "run doctor without --user: nothing is known about anybody now")],
        )


def _entry(entry: Entry | None) -> Iterator[Finding]:
    if entry is None:
        return
    if entry.locked:
        yield _bad("locked", "an administrator of the directory locked it, or it is past its end", "unlock it there")
    if entry.locked_for_a_while:
        yield _bad("locked", "too many wrong passwords in the directory", "wait, or reset the lock there")
    if entry.must_change:
        yield _bad("password", "must be changed first", f"change it {settings.LDAP_PASSWORD_URL or 'in the directory'}")
    if not (entry.locked or entry.locked_for_a_while or entry.must_change):
        yield _ok("entry", "neither locked nor waiting for a new password, as far as the portal may see")


def _row(name: str, entry: Entry | None) -> User | None:
    key = {"directory_id": entry.directory_id} if entry else {"username": name}
    return User.objects.filter(**key).first()


def _ours(name: str, entry: Entry | None, user: User | None) -> Iterator[Finding]:
    login = entry.username if entry else name
    other = User.objects.filter(username=login).exclude(pk=user.pk if user else 0).first()
    if other:
        said = f"another person ({other.directory_id or 'of no directory id'}) has this login in the portal"
        yield _bad(
            "portal", said, "if they left, the row steps aside at the next sign-in; if not, one of them is renamed"
        )
    if user is None:
        yield _ok("portal", "not seen yet; the row is made at the first sign-in")
    elif user.is_active:
        yield _ok("portal", "open")
    else:
        since = f" since {user.directory_missing_at:%Y-%m-%d %H:%M}" if user.directory_missing_at else ""
        how = "it opens again by signing in" if user.directory_missing_at else "a cluster administrator closed it"
        yield _bad("portal", f"closed{since}", how)


def _role(entry: Entry | None, user: User | None, site_role: str) -> Iterator[Finding]:
    """Here and by the directory's groups."""
    if user and entry and user.site_role != site_role:
        said = f"{user.site_role or 'none'} here, {site_role or 'none'} by the directory's groups"
        yield _bad("site role", said, "signing in again (or the next comparison) sets it right")
    else:
        yield _ok("site role", (user.site_role if user else site_role) or "none")


def _sessions(user: User | None) -> Iterator[Finding]:
    if user:
        yield _ok("sessions", str(user.session_infos.count()))


def _attempts(name: str) -> Iterator[Finding]:
    since = timezone.now() - cool_off()
    rows = AccessAttempt.objects.filter(username__iexact=name, attempt_time__gte=since)
    count = rows.aggregate(n=Sum("failures_since_start"))["n"] or 0
    limits = settings.SIGN_IN_LIMITS
    if count >= limits["pair"]:
        sources = ", ".join(sorted({str(row.ip_address) for row in rows}))
        yield _bad(
            "attempts", f"{count} wrong passwords from {sources}", f"wait {cool_off()}, or `axes_reset_username`"
        )
    else:
        yield _ok("attempts", f"{count} wrong passwords lately")


def _projects(user: User | None) -> Iterator[Finding]:
    rows = list(Membership.objects.active().filter(user=user).select_related("project")) if user else []
    if not rows:
        yield _bad("projects", "member of none", "a PI or manager adds them to a project; without one nobody submits")
    for row in rows:
        allocation = row.project.allocations.filter(is_default=True).current().exists()
        said = f"{row.project.code}: {row.role}"
        if not row.project.takes_work:
            yield _bad("projects", f"{said}, archived", "it takes no new jobs")
        elif not allocation:
            yield _bad("projects", f"{said}, without a current allocation", "a cluster administrator gives it one")
        else:
            yield _ok("projects", said)


def _system(name: str, entry: Entry | None, user: User | None) -> Iterator[Finding]:
    login = entry.username if entry else name
    try:
        system: int | None = pwd.getpwnam(login).pw_uid
    except KeyError:
        yield _bad(
            "system", f"this machine does not know {login}", "SSSD (or /etc/passwd) must know the directory's people"
        )
        return
    numbers = {"system": system, "directory": entry.uid_number if entry else None}
    numbers |= {"portal": user.uid_number} if user else {}
    if len(set(numbers.values())) > 1 or system is None or system < LOWEST_UID:
        said = ", ".join(f"{where} {number}" for where, number in numbers.items())
        yield _bad("user number", said, f"all must be the same, and {LOWEST_UID} or more")
    else:
        yield _ok("user number", str(system))


def _associations(user: User | None) -> Iterator[Finding]:
    """Whether Slurm's accounting knows the person in each project's account."""
    for project in Project.objects.filter(memberships__in=Membership.objects.active().filter(user=user)):
        try:
            rows = slurm_door.accounts().books([project.slurm_account]).associations.values()
        except SlurmError as error:
            yield _bad("association", str(error), "run doctor without --user")
            return
        mine = [row for row in rows if user and row.user == user.username]
        said = f"{project.slurm_account}: {', '.join(row.partition or 'every partition' for row in mine) or 'none'}"
        fix = "the worker of queue slurm makes it within a minute; read its log"
        yield _ok("association", said) if mine else _bad("association", said, fix)


def _history(name: str, user: User | None) -> Iterator[Finding]:
    """The last refusals, with their true reasons."""
    refused = AuditEvent.objects.filter(action=Action.SIGN_IN_REFUSED, at__gte=timezone.now() - timedelta(days=7))
    mine = refused.filter(subject_id=str(user.pk)) if user else refused.filter(detail__login=name)
    for event in mine.order_by("-pk")[:5]:
        yield _ok("lately", f"{event.at:%Y-%m-%d %H:%M} refused: {event.detail.get('reason')} (from {event.address})")
