"""Connections to a site's own servers: which certificates are good."""

from __future__ import annotations

import ssl


def context(authorities: str = "") -> ssl.SSLContext:
    """Chain, dates and name are checked; `authorities`: a file of the site's own, else the system's.

    As libldap and mail servers check, whatever the release of Python: from 3.13 on it refuses by itself what many an
    authority of a university lacks (key identifiers), and says so of a directory that everybody else signs in by.
    """
    made = ssl.create_default_context(cafile=authorities or None)
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made
