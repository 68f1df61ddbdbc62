"""Whose is what: every route × every kind of person × every method × own, beside, other, absent; `make matrix`."""
