"""A private cluster and portal in one command, to try and to test: all it owns lies under one var folder."""
