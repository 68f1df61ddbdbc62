"""Presets with their versions, and software environments: the site's and the projects'."""

from presets.models.environment import Environment, EnvironmentState, Kind
from presets.models.preset import Preset, PresetVersion
from presets.models.software import Software

__all__ = ["Environment", "EnvironmentState", "Kind", "Preset", "PresetVersion", "Software"]
