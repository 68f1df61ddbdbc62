"""what runs."""
