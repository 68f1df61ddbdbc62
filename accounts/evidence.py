"""What accounts answer to an auditor: who had which role on the site on a day, and what is held on a person."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Exists, FilteredRelation, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiToken, SessionInfo, Standing, User
from accounts.services import erasing
from audit import could, persons, things
from audit.could import Asked, Could, Rights
from audit.persons import Section


def register() -> None:
    """Called once, when the app is there."""
    things.register("person", lambda login: User.objects.filter(username=login))
    could.register("site roles", site_roles)
    could.register("tokens", tokens)
    persons.register("accounts", tell=told, erase=erasing.erase)


def open_at(asked: Asked) -> Exists:
    """Whether the person of a row (`user`) was open then. Who had no such row yet was as now, or open until closed."""
    rows = Standing.objects.filter(user=OuterRef("user"))
    then = rows.filter(Q(ends_at=None) | Q(ends_at__gt=asked.at), starts_at__lte=asked.at, is_open=True)
    known = Standing.objects.filter(user=OuterRef("pk"))
    older = User.objects.filter(pk=OuterRef("user")).filter(
        ~Exists(known.filter(starts_at__lte=asked.at)), Q(is_active=True) | Exists(known.filter(is_open=False))
    )
    return Exists(then) | Exists(older)  # type: ignore[return-value]


def site_roles(asked: Asked, rights: Rights) -> Iterator[Could]:
    """By a role on the whole site: it reaches every project and dataset. Older people than the rows are as now."""
    then = Q(standings__starts_at__lte=asked.at) & (Q(standings__ends_at=None) | Q(standings__ends_at__gt=asked.at))
    older = Q(~Exists(Standing.objects.filter(user=OuterRef("pk"))), is_active=True, date_joined__lte=asked.at)
    rows = User.objects.annotate(stood=FilteredRelation("standings", condition=then)).filter(
        Q(stood__is_open=True) & ~Q(stood__site_role="") | older & ~Q(site_role="")
    )
    rows = rows.filter(username=asked.person) if asked.person else rows
    facts = ("stood__site_role", "stood__starts_at", "stood__ends_at")
    for login, name, now, joined, role, since, until in rows.values_list(
        "username", "display_name", "site_role", "date_joined", *facts
    ):
        held = role or now
        yield Could("site", login, name or login, "", held, rights.of_site(held), since or joined, until)


def tokens(asked: Asked, _rights: Rights) -> Iterator[Could]:
    """A person's API tokens that counted then: each does what its scopes say and its owner may."""
    if not asked.person:
        return
    rows = ApiToken.objects.filter(user__username=asked.person, created_at__lte=asked.at, expires_at__gt=asked.at)
    rows = rows.filter(Q(revoked_at=None) | Q(revoked_at__gt=asked.at)).filter(open_at(asked)).select_related("user")
    for row in rows:
        until = min(row.expires_at, row.revoked_at or row.expires_at)
        yield Could("token", row.user.username, row.user.name, row.prefix, "", tuple(row.scopes), row.created_at, until)


def told(person: User) -> Iterator[Section]:
    """The account, its sessions and tokens."""
    yield Section(
        _("Person"), "accounts_user", _("to know who signs in; copied from the institutional directory"),
        (_("sign-in"), _("name"), _("mail"), _("user number"), _("directory id"), _("first seen"), _("open")),
        ((person.username, person.display_name, person.email, person.uid_number, str(person.directory_id or ""),
          person.date_joined, person.is_active),),
    )  # fmt: skip
    standing = Standing.objects.filter(user=person).order_by("starts_at")
    yield Section(
        _("Roles on the site"), "accounts_standing", _("to answer who could, on a date"),
        (_("role"), _("open"), _("from"), _("until")),
        tuple((row.site_role, row.is_open, row.starts_at, row.ends_at) for row in standing),
    )  # fmt: skip
    sessions = SessionInfo.objects.filter(user=person).order_by("-created_at")
    yield Section(
        _("Sessions"), "accounts_sessioninfo", _("to show where one is signed in; deleted when they are over"),
        (_("signed in"), _("last seen"), _("address"), _("browser")),
        tuple((row.created_at, row.seen_at, row.address, row.user_agent) for row in sessions),
    )  # fmt: skip
    held = ApiToken.objects.filter(user=person).order_by("-created_at")
    yield Section(
        _("Tokens"), "accounts_apitoken", _("to let a script act for the person; only a digest of the secret is kept"),
        (_("name"), _("prefix"), _("scopes"), _("created"), _("expires"), _("revoked"), _("last used")),
        tuple((row.name, row.prefix, ", ".join(row.scopes), row.created_at, row.expires_at, row.revoked_at,
               row.last_used_at) for row in held),
    )  # fmt: skip
