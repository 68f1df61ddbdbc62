"""What people type: sign-in, a new token, their preferences."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from access import gate
from access.permissions import Permission
from accounts.models import TokenScope, User

TERMS = [(7, _("a week")), (30, _("30 days")), (90, _("90 days")), (365, _("a year"))]


class SignInForm(forms.Form):
    """Only that both are there; everything else is for the directory to say."""

    username = forms.CharField(label=_("Login"))
    password = forms.CharField(label=_("Password"), strip=False, widget=forms.PasswordInput)


class TokenForm(forms.Form):
    """A new token. Reading the audit trail is offered to whoever may read it."""

    name = forms.CharField(label=_("Name"), max_length=60, help_text=_("What it is for, to find it again here."))
    scopes = forms.MultipleChoiceField(
        label=_("May"), choices=TokenScope.choices, widget=forms.CheckboxSelectMultiple, initial=[TokenScope.READ]
    )
    days = forms.TypedChoiceField(label=_("Good for"), choices=TERMS, coerce=int, initial=30)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not gate.site_can(user, Permission.TRAIL_READ):
            scopes = [pair for pair in TokenScope.choices if pair[0] != TokenScope.AUDIT]
            self.fields["scopes"].choices = scopes  # type: ignore[attr-defined]


class PreferencesForm(forms.ModelForm):
    """Language, theme and single-key shortcuts; nothing else of a person is theirs to write."""

    class Meta:
        model = User
        fields = ("language", "theme", "single_keys")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, nothing in (("language", _("as the browser says")), ("theme", _("as the system says"))):
            choices = [pair for pair in self.fields[name].choices if pair[0]]  # type: ignore[attr-defined]
            self.fields[name].choices = [("", nothing), *choices]  # type: ignore[attr-defined]
