"""Commands of the presets app."""
