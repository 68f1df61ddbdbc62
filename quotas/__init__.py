"""how much a project may use."""
