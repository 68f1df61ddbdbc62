"""Why a file operation was not done, in words and as a status of HTTP; one table for pages and API."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from files.answers import Refused
from files.client import DoorDown
from storage.services.pace import TooMany
from storage.services.passes import NoPass, NotReady

FAILURES = (Refused, DoorDown, NoPass, NotReady, TooMany)
TABLE: dict[str, tuple[int, object]] = {
    "bad-ticket": (503, gettext_lazy("Your access to these files is being renewed. Try again in a moment.")),
    "bad-request": (400, gettext_lazy("This is not a request the portal knows.")),
    "bad-name": (422, gettext_lazy("This is not a name a file can have here: 1 to 255 bytes, no / and no characters "
                                   "that cannot be seen, no space at its ends.")),
    "read-only": (403, gettext_lazy("You may look at these files and not change them.")),
    "missing": (404, gettext_lazy("There is nothing at this place (any more).")),
    "denied": (403, gettext_lazy("The file system does not let your login do this. The owner of the file or folder "
                                 "can change its permissions.")),
    "not-regular": (422, gettext_lazy("This is a link, or no ordinary file. The portal follows no links and opens only "
                                      "ordinary files.")),
    "not-folder": (422, gettext_lazy("This is not a folder.")),
    "is-folder": (422, gettext_lazy("This is a folder.")),
    "linked": (403, gettext_lazy("This file belongs to somebody else and has several names, so the portal does not "
                                 "open it.")),
    "exists": (409, gettext_lazy("Something with this name is there already.")),
    "not-empty": (409, gettext_lazy("The folder is not empty.")),
    "full": (507, gettext_lazy("There is not enough room on the file system. Nothing was stored.")),
    "quota": (507, gettext_lazy("What the file system allows you or the project is used up. Nothing was stored.")),
    "too-large": (413, gettext_lazy("This is larger than the file system takes.")),
    "too-many": (422, gettext_lazy("There is more in this folder than one step takes. What is left is still there.")),
    "changed": (409, gettext_lazy("The file became another while this was done. Nothing half-done was kept.")),
    "offset": (409, gettext_lazy("The upload stands at another place.")),
    "digest": (422, gettext_lazy("What arrived is not what was sent. Nothing was stored.")),
    "busy": (503, gettext_lazy("Too many of your requests for files run at this moment. Try again in a moment.")),
    "bad-archive": (422, gettext_lazy("This is no zip, or a damaged one. Nothing was unpacked.")),
    "bad-entry": (422, gettext_lazy("The zip holds something the portal does not unpack: a link, something encrypted, "
                                    "two of one name, or a name that leads elsewhere or cannot be read. Nothing was "
                                    "unpacked.")),
    "too-much": (422, gettext_lazy("The zip holds more than is unpacked at once: 20,000 files and folders, 64 GB, a "
                                   "hundred times its own size, or what takes a minute. Nothing was unpacked.")),
    "failed": (502, gettext_lazy("The file system gave an error. Try again in a moment.")),
}  # fmt: skip


def of(error: Exception) -> tuple[int, str, str]:
    """(status, one word for programs, one sentence for people)."""
    if isinstance(error, Refused):
        status, said = TABLE.get(error.answer, TABLE["failed"])
        name = error.facts.get("entry")
        return status, error.answer, f"{said} ({name})" if name else str(said)
    if isinstance(error, NoPass):
        return 403, "no-pass", _(str(error)) if str(error) else str(TABLE["denied"][1])
    if isinstance(error, NotReady):
        return 503, "not-ready", _("Your access to these files is being prepared. Try again in a moment.")
    if isinstance(error, TooMany):
        return 503, "too-many-downloads", _("Too many downloads run at this moment. Try again in a minute.")
    return 503, "door-down", _("The files cannot be reached at the moment.")
