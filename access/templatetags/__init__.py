"""Template tags of the gate."""
