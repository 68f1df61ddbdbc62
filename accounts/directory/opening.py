"""Opening a connection to one server: encrypted with a checked certificate, and cut when its time is up."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import ldap
from django.conf import settings
from ldap.ldapobject import LDAPObject

from accounts.directory.errors import DirectoryDown
from accounts.directory.patience import Deadline
from accounts.directory.servers import Server, connect, handshake, trouble

SILENT = (ldap.SERVER_DOWN, ldap.TIMEOUT, ldap.CONNECT_ERROR, ldap.TIMELIMIT_EXCEEDED)


def down(error: ldap.LDAPError, doing: str) -> DirectoryDown:
    """The error as "no usable answer", with what we were doing and what the server said."""
    said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    text = " ".join(str(said[key]) for key in ("desc", "info") if said.get(key)) or type(error).__name__
    return DirectoryDown(f"{doing}: {text}", silent=isinstance(error, SILENT))


@contextmanager
def opened(server: Server, start: Deadline, whole: Deadline) -> Iterator[LDAPObject]:
    """A connection: encrypted by `start`, closed by `whole`. Raises DirectoryDown."""
    if not server.encrypted:
        raise DirectoryDown(f"{server.url} is not encrypted: use ldaps:// or LDAP_START_TLS=1")
    try:
        link, guard = _by_us(server, start) if server.scheme == "ldap" else (_by_library(server, start), None)
    except OSError as error:
        raise DirectoryDown(f"{server.url}: {error}", silent=True) from error
    try:
        if guard:
            with _cut_at(start, guard):
                _start_tls(link, server, start)
        with _cut_at(whole, guard):
            yield link
    finally:
        with contextlib.suppress(ldap.LDAPError):
            link.unbind_s()
        if guard:
            guard.close()


def _by_us(server: Server, start: Deadline) -> tuple[LDAPObject, socket.socket]:
    """The connection, and a second handle on its socket to cut it by: libldap's time-outs leave the handshake out."""
    tcp = connect(server, start.left())
    tcp.settimeout(None)
    guard = tcp.dup()
    return _configured(ldap.initialize(server.url, fileno=tcp.detach()), start), guard


def _by_library(server: Server, start: Deadline) -> LDAPObject:
    """ldaps: libldap connects and shakes hands in one call without a time limit, so a try of our own goes before it."""
    if server.scheme == "ldaps":
        handshake(server, start.left()).close()
    return _configured(ldap.initialize(server.url), start)


def _configured(link: LDAPObject, start: Deadline) -> LDAPObject:
    options = {
        ldap.OPT_PROTOCOL_VERSION: ldap.VERSION3,
        ldap.OPT_REFERRALS: 0,
        ldap.OPT_NETWORK_TIMEOUT: start.left(),
        ldap.OPT_TIMEOUT: start.left(),
        ldap.OPT_X_KEEPALIVE_IDLE: 5,
        ldap.OPT_X_KEEPALIVE_PROBES: 3,
        ldap.OPT_X_KEEPALIVE_INTERVAL: 2,
        ldap.OPT_X_TLS_REQUIRE_CERT: ldap.OPT_X_TLS_DEMAND,
        ldap.OPT_X_TLS_CACERTFILE: settings.LDAP_CA_FILE,
        ldap.OPT_X_TLS_NEWCTX: 0,  # last: makes the TLS settings count for this connection
    }
    for option, value in options.items():
        link.set_option(option, value)
    return link


def _start_tls(link: LDAPObject, server: Server, start: Deadline) -> None:
    try:
        link.start_tls_s()
    except ldap.LDAPError as error:
        cause = down(error, f"{server.url}: StartTLS")
        why = trouble(server, min(1.0, start.left())) if isinstance(error, ldap.CONNECT_ERROR) else ""
        raise DirectoryDown(f"{cause.cause} {why}".strip(), silent=cause.silent) from error


@contextmanager
def _cut_at(deadline: Deadline, guard: socket.socket | None) -> Iterator[None]:
    """Shut the socket down at the deadline, whoever is reading from it."""
    cut = threading.Timer(deadline.left(), _shut, [guard])
    cut.daemon = True
    cut.start()
    try:
        yield
    finally:
        cut.cancel()


def _shut(guard: socket.socket | None) -> None:
    if guard:
        with contextlib.suppress(OSError):
            guard.shutdown(socket.SHUT_RDWR)
