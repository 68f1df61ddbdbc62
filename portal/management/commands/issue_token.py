"""`manage.py issue_token USER`: a personal token for a script; prints the token and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import services
from accounts.models import TokenScope, User
from audit import context


class Command(BaseCommand):
    """The secret is shown here once and kept nowhere."""

    help = "Issue a personal API token for somebody who has signed in (or was added) before."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, what for, how long."""
        parser.add_argument("user", help="login")
        parser.add_argument("--scopes", default="read,submit", help=f"of {', '.join(TokenScope.values)}, with commas")
        parser.add_argument("--days", type=int, default=30, help="1 to 365")
        parser.add_argument("--name", default="command line", help="to find it again in the person's list")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print only the token, so that a script can take it."""
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"the portal has no open person of the login {options['user']}")
        scopes = [scope.strip() for scope in options["scopes"].split(",") if scope.strip()]
        try:
            with context.coming_from("command"):
                _token, secret = services.issue_token(
                    user=user, name=options["name"], scopes=scopes, days=options["days"], by=None
                )
        except (ValueError, services.TooManyTokens) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(secret)
