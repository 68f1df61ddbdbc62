"""What can be done with presets and software environments."""

from presets.services.applying import NoPreset, NoSoftware, WrongFields, apply, find, software
from presets.services.editing import WrongRules, add, change, offer_again, retire
from presets.services.validated import add_software, change_software, offer_software_again, retire_software

__all__ = [
    "NoPreset", "NoSoftware", "WrongFields", "WrongRules", "add", "add_software", "apply", "change", "change_software",
    "find", "offer_again", "offer_software_again", "retire", "retire_software", "software",
]  # fmt: skip
