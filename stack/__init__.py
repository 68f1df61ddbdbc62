"""A private cluster and portal in one command, for trying and for testing: everything it owns lies under one var folder."""
