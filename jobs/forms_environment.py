"""The form for a new environment of a project: a name, and the text of a file of packages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from presets.models import Kind
from presets.models.environment import LONGEST


class EnvironmentForm(forms.Form):
    """What is wrong with the values is said by the service, which the API asks too."""

    name = forms.CharField(
        label=_("Name"), max_length=31,
        help_text=_("Jobs and presets name it so: a lower-case letter, then letters, digits, _ and -."),
    )  # fmt: skip
    kind = forms.ChoiceField(label=_("Built from"), choices=Kind.choices, initial=Kind.PIP)
    text = forms.CharField(
        label=_("The file's text"), required=False, strip=False, max_length=LONGEST,
        help_text=_("One package a line. Left empty, it is Python and nothing else. Paths count from the project's "
                    "folder."),
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "mono"}),
    )  # fmt: skip
    file = forms.FileField(label=_("Or the file itself"), required=False)
    python = forms.CharField(
        label=_("Version of Python"), required=False, max_length=8,
        help_text=_("As 3.11; left empty, the node's own. It must be on the node."),
    )  # fmt: skip

    def clean_text(self) -> str:
        """Browsers send line ends of their own."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")

    def clean(self) -> dict[str, Any]:
        """A file that came is the text."""
        data = super().clean() or self.cleaned_data
        sent = data.get("file")
        if sent is not None:
            try:
                data["text"] = sent.read(LONGEST + 1).decode()
            except UnicodeDecodeError:
                self.add_error("file", _("This is not a text file."))
        return data

    def asked(self) -> dict[str, str]:
        """What the service is asked for."""
        return {name: str(self.cleaned_data[name]) for name in ("name", "kind", "text", "python")}
