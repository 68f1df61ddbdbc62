"""Pages of projects: which are mine, asking to join or for one, opening and changing them."""
