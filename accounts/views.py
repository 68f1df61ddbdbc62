"""Sign-in and sign-out, my sessions, my tokens, my preferences."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.sessions.models import Session
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.errors import NotFound
from access.permissions import Permission
from accounts import services
from accounts.directory.errors import DirectoryDown, NotAdmitted, Reason
from accounts.forms import PreferencesForm, SignInForm, TokenForm
from accounts.models import ApiToken, SessionInfo, User

STEPS = "next_step"  # in the session of nobody: which next step to explain


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Login and password, checked by the institutional directory."""
    if request.user.is_authenticated and request.method != "POST":
        return redirect(_after(request))
    form = SignInForm(request.POST or None)
    if not form.is_valid():
        return _sign_in_page(request, form)
    try:
        user = services.identify(request, **form.cleaned_data)
    except services.WrongPassword:
        return _sign_in_page(request, form, _("Login or password is wrong."))
    except NotAdmitted as error:
        request.session[STEPS] = error.reason.name
        return redirect("accounts:must_change")
    except DirectoryDown:
        return directory_down(request)
    services.sign_in(request, user=user)
    request.session.pop(STEPS, None)
    _warn_of_end(request)
    return redirect(_after(request))


def _warn_of_end(request: HttpRequest) -> None:
    """The directory's own warning that the password will expire."""
    seconds = getattr(request, "password_expires_in", None)
    if seconds is not None:
        days = int(seconds // 86400)
        text = ngettext("Your password expires in %(n)s day.", "Your password expires in %(n)s days.", days)
        messages.warning(request, text % {"n": days})


def _sign_in_page(request: HttpRequest, form: SignInForm, trouble: str = "") -> HttpResponse:
    context = {"form": form, "trouble": trouble, "next": _asked_for(request)}
    return render(request, "accounts/sign_in.html", context)


def _asked_for(request: HttpRequest) -> str:
    """Where to go after signing in, if that is on this site."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    allowed = {request.get_host()}
    return url if url_has_allowed_host_and_scheme(url, allowed, require_https=request.is_secure()) else ""


def _after(request: HttpRequest) -> str:
    return _asked_for(request) or resolve_url(settings.LOGIN_REDIRECT_URL)


def directory_down(request: HttpRequest) -> HttpResponse:
    """503: it is not the person's fault, and nothing was counted."""
    response = render(request, "accounts/directory_down.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
    response["Retry-After"] = "30"
    return response


@never_cache
@require_safe
def must_change(request: HttpRequest) -> HttpResponse:
    """The password was right and there is no session: what to do next."""
    reason = Reason.__members__.get(str(request.session.get(STEPS)))
    if reason is None:
        return redirect("accounts:sign_in")
    change = reason in {Reason.MUST_CHANGE, Reason.GRACE}
    context = {"change": change, "closed": reason is Reason.INACTIVE, "password_url": settings.LDAP_PASSWORD_URL}
    return render(request, "accounts/must_change.html", context, status=HTTPStatus.FORBIDDEN)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session."""
    services.sign_out(request)
    return redirect("accounts:sign_in")


@never_cache
@login_required
@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """Where I am signed in."""
    rows = SessionInfo.objects.filter(user=_me(request)).order_by("-seen_at")
    alive = Session.objects.filter(
        session_key__in=[row.session_key for row in rows], expire_date__gt=timezone.now()
    ).values_list("session_key", flat=True)
    keys = set(alive)
    return render(request, "accounts/sessions.html", {"sessions": [row for row in rows if row.session_key in keys]})


@login_required
@require_POST
def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of my sessions."""
    info = SessionInfo.objects.filter(user=_me(request), pk=pk).first()
    if info is None:
        raise _not_mine("accounts.sessioninfo", pk)
    if info.session_key == request.session.session_key:
        return sign_out(request)
    services.end_session(info=info, by=_me(request))
    messages.success(request, _("That session has ended."))
    return redirect("accounts:sessions")


@login_required
@require_POST
def end_sessions(request: HttpRequest) -> HttpResponse:
    """End all my sessions, this one too."""
    services.end_all_sessions(user=_me(request), by=_me(request))
    request.session.flush()
    messages.success(request, _("All your sessions have ended."))
    return redirect("accounts:sign_in")


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """My tokens; a new one is shown once, in the answer that made it."""
    form, secret = TokenForm(request.POST or None, user=_me(request)), ""
    if form.is_valid():
        try:
            _token, secret = services.issue_token(user=_me(request), by=_me(request), **form.cleaned_data)
            form = TokenForm(user=_me(request))
        except services.TooManyTokens:
            form.add_error(None, _("You have too many tokens. Revoke one that you do not need."))
    mine = ApiToken.objects.filter(user=_me(request)).order_by("-created_at")[:50]
    return render(request, "accounts/tokens.html", {"form": form, "secret": secret, "tokens": mine})


@login_required
@require_POST
def revoke_token(request: HttpRequest, pk: Any) -> HttpResponse:
    """Stop one of my tokens."""
    token = ApiToken.objects.filter(user=_me(request), pk=pk).first()
    if token is None:
        raise _not_mine("accounts.apitoken", pk)
    services.revoke_token(token=token, by=_me(request))
    messages.success(request, _("The token works no more."))
    return redirect("accounts:tokens")


@login_required
@require_http_methods(["GET", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Language, theme, single-key shortcuts."""
    form = PreferencesForm(request.POST or None, instance=_me(request))
    if request.method == "POST" and form.is_valid():
        form.save(commit=False).save(update_fields=list(form.Meta.fields))  # never what changed beside it meanwhile
        messages.success(request, _("Saved."))
        return redirect(_asked_for(request) or "accounts:preferences")
    return render(request, "accounts/preferences.html", {"form": form})


def _not_mine(subject: str, pk: Any) -> NotFound:
    """Somebody else's, or none at all: the same answer, and an event like every other denial."""
    return NotFound(Permission.SELF_MANAGE, subject, {"pk": pk})


def _me(request: HttpRequest) -> User:
    """The signed-in person; `login_required` stands before every caller."""
    if not isinstance(request.user, User):
        raise Http404
    return request.user
