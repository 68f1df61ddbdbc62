"""A slapd of a test's own: temporary folder, loopback ports, TLS demanded, password policy; stopped by its pid."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ldap
import ldap.modlist

from tests.accounts import people
from tests.accounts.people import SUFFIX

BINARY = shutil.which("slapd") or "/usr/sbin/slapd"
CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath {modules}
moduleload back_mdb
moduleload ppolicy
pidfile {folder}/pid
{tls}
localSSF 256
{security}
sizelimit {sizelimit}
threads 4
database mdb
suffix "{suffix}"
rootdn "{root}"
rootpw {root_password}
directory {folder}/data
maxsize 33554432
dbnosync
index objectClass,entryUUID,uid,uidNumber,member eq
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{portal}" read by anonymous auth by * none
overlay ppolicy
ppolicy_default "cn=default,{suffix}"
ppolicy_hash_cleartext
"""


class Slapd:
    """One server; `certificate` is None for a server that knows no TLS."""

    def __init__(self, folder: Path, certificate: tuple[Path, Path] | None, *, sizelimit: int = 500) -> None:
        self.folder, self.log = folder, folder / "log"
        self.plain, self.tls = _free_port(), _free_port()
        (folder / "data").mkdir(parents=True)
        (folder / "conf").write_text(_conf(folder, certificate, sizelimit))
        listen = f"ldap://127.0.0.1:{self.plain}/ {self.local}"
        self.urls = f"{listen} ldaps://127.0.0.1:{self.tls}/" if certificate else listen

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.plain}"

    @property
    def ldaps(self) -> str:
        return f"ldaps://127.0.0.1:{self.tls}"

    @property
    def local(self) -> str:
        return f"ldapi://{str(self.folder / 'sock').replace('/', '%2F')}"

    def fill(self) -> None:
        """Load the people."""
        argv = [BINARY, "-T", "add", "-q", "-f", str(self.folder / "conf")]
        subprocess.run(argv, input=people.everything(), text=True, check=True, capture_output=True)

    def start(self) -> None:
        """Start and wait until it listens."""
        argv = [BINARY, "-f", str(self.folder / "conf"), "-h", self.urls, "-d", "stats"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log)
        end = time.monotonic() + 10
        while not _listens(self.plain):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(self.log.read_text()[-2000:])
            time.sleep(0.01)

    def stop(self) -> None:
        """End it by its pid."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stopped in its tracks: it accepts connections (the kernel does) and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @property
    def admin(self) -> ldap.ldapobject.LDAPObject:
        """A connection that may change everything."""
        link = ldap.initialize(self.local)
        link.simple_bind_s(people.ROOT, people.ROOT_PASSWORD)
        return link

    def add(self, row: dict[str, object]) -> None:
        """Add one entry (tests.accounts.people.entry)."""
        values = {
            name: [str(one).encode() for one in (value if isinstance(value, list) else [value])]
            for name, value in row.items()
            if name != "dn"
        }
        self.admin.add_s(str(row["dn"]), ldap.modlist.addModlist(values))

    def change(self, dn: str, **values: str | list[str] | None) -> None:
        """Replace attributes; None removes one."""
        rows = [
            (ldap.MOD_REPLACE, name, None if value is None else [v.encode() for v in _list(value)])
            for name, value in values.items()
        ]
        self.admin.modify_s(dn, rows)

    def delete(self, dn: str) -> None:
        """Remove one entry."""
        self.admin.delete_s(dn)

    def binds(self) -> list[str]:
        """What its log says of binds by name so far: a password was sent for each."""
        return [
            line
            for line in self.log.read_text(errors="replace").splitlines()
            if 'BIND dn="' in line and "method=128" in line
        ]


def _list(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def _conf(folder: Path, certificate: tuple[Path, Path] | None, sizelimit: int) -> str:
    tls = ""
    if certificate:
        tls = f"TLSCertificateFile {certificate[0]}\nTLSCertificateKeyFile {certificate[1]}\nTLSVerifyClient never"
    return CONF.format(
        modules=_modules(),
        folder=folder,
        tls=tls,
        security="security ssf=128" if certificate else "",
        sizelimit=sizelimit,
        suffix=SUFFIX,
        root=people.ROOT,
        root_password=people.ROOT_PASSWORD,
        portal=people.PORTAL,
    )


def _modules() -> Path:
    folders = [Path("/usr/lib/ldap"), Path("/usr/lib/openldap"), *Path("/usr/lib").glob("*/ldap")]
    return next(folder for folder in folders if (folder / "ppolicy.so").exists())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
