"""A terminal's way to a Bancada portal."""
