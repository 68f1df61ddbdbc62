"""who works together: projects and memberships."""
