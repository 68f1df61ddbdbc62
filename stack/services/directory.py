"""slapd: the institution's directory of the demo, with TLS from an authority of its own and a password policy."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

from stack import keys, ldif, shell
from stack.demo import SUFFIX
from stack.layout import Stack
from stack.service import Service

HOME = Path("/srv/var/slapd")
CA = Path("/srv/var/etc/ca.pem")
USER = "bancada-slapd"
LDAPI = "ldapi://%2Fsrv%2Fvar%2Frun%2Fslapd%2Fldapi"
CONF = "/srv/var/slapd/slapd.conf"


def services(stack: Stack) -> list[Service]:
    urls = f"ldap://{stack.listen}:{stack.tcp('ldap')} ldaps://{stack.listen}:{stack.tcp('ldaps')} {LDAPI}"
    return [
        Service(
            name="slapd",
            argv=["slapd", "-f", CONF, "-h", urls, "-d", "stats"],
            user=USER,
            prepare=prepare,
            ready=lambda: shell.works(["ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", LDAPI]),
            port="ldap",
            stop=signal.SIGINT,
        )
    ]


def prepare() -> None:
    certificates()
    shell.render("slapd.conf", CONF, {"suffix": SUFFIX, "modules": _modules()}, user=USER, mode=0o600)
    data = HOME / "data"
    if not (data / ".filled").exists():
        data.mkdir(mode=0o700, exist_ok=True)
        shell.clear(data)
        shutil.chown(data, USER, USER)
        shell.run(["slapadd", "-q", "-f", CONF], user=USER, text=ldif.everything(keys.word("ldap")))
        (data / ".filled").touch()


def _modules() -> str:
    return next(
        str(path.parent)
        for path in (Path("/usr/lib/ldap"), *Path("/usr/lib").glob("*/ldap"))
        for path in path.glob("ppolicy.so")
    )


def certificates() -> None:
    """An authority and a server certificate for slapd's names, for ten years."""
    if (HOME / "server.pem").exists() and CA.exists():
        return
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"]
    authority = ["-addext", "keyUsage=critical,keyCertSign,cRLSign", "-subj", "/CN=Bancada stack authority"]
    shell.run([*new, *authority, "-keyout", str(HOME / "ca.key"), "-out", str(CA)])
    request = [
        "openssl",
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=localhost",
    ]
    shell.run([*request, "-keyout", str(HOME / "server.key"), "-out", str(HOME / "server.csr")])
    names = "subjectAltName=DNS:localhost,DNS:slapd,IP:127.0.0.1"
    (HOME / "server.ext").write_text(f"{names}\nextendedKeyUsage=serverAuth\n")
    sign = ["openssl", "x509", "-req", "-in", str(HOME / "server.csr"), "-CA", str(CA), "-CAkey", str(HOME / "ca.key")]
    sign += ["-days", "3650", "-extfile", str(HOME / "server.ext"), "-out", str(HOME / "server.pem")]
    shell.run([*sign, "-CAcreateserial", "-CAserial", str(HOME / "ca.srl")])
    shutil.chown(HOME / "server.key", USER, USER)
    CA.chmod(0o644)
