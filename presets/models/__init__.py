"""Presets with their versions, and software environments."""

from presets.models.preset import Preset, PresetVersion
from presets.models.software import Software

__all__ = ["Preset", "PresetVersion", "Software"]
