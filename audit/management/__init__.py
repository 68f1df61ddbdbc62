"""Commands of the audit app."""
