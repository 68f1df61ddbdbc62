"""who may do what: permissions, roles, the gate."""
