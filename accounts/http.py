"""The request of somebody who has signed in: what views behind @login_required receive."""

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from accounts.models import User


class SignedInRequest(HttpRequest):
    """Says to the reader and the type checker that `user` is a person."""

    user: User
    htmx: HtmxDetails
