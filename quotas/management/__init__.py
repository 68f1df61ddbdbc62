"""Commands of the quotas app."""
