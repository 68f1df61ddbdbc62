"""what happened: the append-only trail."""
