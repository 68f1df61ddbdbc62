"""The environment of the portal's processes, in one place: each is told only of the secrets it may read."""

from __future__ import annotations

from stack import ldif
from stack.layout import Stack

RUN, SECRETS = "/srv/var/run", "/srv/var/secrets"
ROLES = {
    "web": "web",
    "live": "web",
    "work": "work",
    "beat": "work",
    "slurm": "slurm",
    "follower": "slurm",
    "seal": "seal",
}
DIRECTORY = ("web", "slurm", "work", "owner")  # who searches people and groups
WATCHERS = ("web", "live", "slurm")  # who asks the log reader
CLUSTER = ("slurm", "follower")  # who asks the signer and slurmrestd
CONF = "/srv/var/slurm/slurm.conf"


def environment(stack: Stack, user: str) -> dict[str, str]:
    """`user` without its prefix: "web"; signer, reader and the root opener get no Django settings at all."""
    if user == "signer":
        return _plain() | {"BANCADA_JWT_KEY_FILE": f"{SECRETS}/signer-jwt", "SLURM_CONF": CONF} | _signer()
    if user in ("reader", "root"):
        return _plain() | _reader()
    if user == "beat":
        return _plain() | {"BANCADA_PROCESS": "beat", "BANCADA_BROKER_URL_FILE": f"{SECRETS}/redis-broker-url"}
    env = _plain() | _django(stack, user)
    env |= _directory(stack) if user in DIRECTORY else {}
    env |= _signer() | {"BANCADA_TICKET_PUBLIC_KEYS": "/srv/var/tickets"} if user in CLUSTER else {}
    env |= {"BANCADA_TICKET_KEY": f"{SECRETS}/ticket.pem"} if user == "slurm" else {}
    env |= _seals() if user == "seal" else {}
    env |= {"BANCADA_FILES_SOCKET": f"{RUN}/files/files.sock"} if user in ("web", "slurm") else {}
    env |= {"BANCADA_EXPORTS": "/srv/var/exports"} if user in ("web", "work") else {}
    env |= {"BANCADA_SEAL_PUBLIC_KEYS": "/srv/var/checkpoints/seal.pub.pem"} if user in ("web", "work") else {}
    env |= {"PROMETHEUS_MULTIPROC_DIR": f"{RUN}/web/metrics"} if user == "web" else {}  # its processes count together
    env |= dict(setting.split("=", 1) for setting in stack.settings)
    return env | (_reader() if user in WATCHERS else {})


def _plain() -> dict[str, str]:
    """Two malloc arenas instead of eight a core: threads here wait more than they compute, and memory counts."""
    return {
        "MALLOC_ARENA_MAX": "2",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "/srv/bancada",
    }


def _seals() -> dict[str, str]:
    return {"BANCADA_SEAL_KEY": f"{SECRETS}/seal.pem", "BANCADA_SEAL_FILE": "/srv/var/checkpoints/checkpoints.jsonl"}


def _signer() -> dict[str, str]:
    return {"BANCADA_SIGNER_SOCKET": f"{RUN}/signer/signer.sock"}


def _reader() -> dict[str, str]:
    return {
        "BANCADA_READER_SOCKET": f"{RUN}/reader/reader.sock",
        "BANCADA_OPENER_SOCKET": f"{RUN}/opener/opener.sock",
        "BANCADA_TICKET_PUBLIC_KEYS": "/srv/var/tickets",
    }


def _django(stack: Stack, user: str) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "CELERY_SKIP_CHECKS": "1",  # the checks load every page and form: 30 MB in each worker that serves none
        "BANCADA_SECRET_KEY_FILE": f"{SECRETS}/django",
        "BANCADA_METRICS_TOKEN_FILE": f"{SECRETS}/metrics",
        "DATABASE_URL": f"postgres://{ROLES.get(user, 'postgres')}@/bancada?host={RUN}/pg",
        "BANCADA_BROKER_URL_FILE": f"{SECRETS}/redis-broker-url",
        "BANCADA_HINTS_URL_FILE": f"{SECRETS}/redis-hints-url",
        "PROMETHEUS_URL_FILE": f"{SECRETS}/prometheus-url",
        "SLURM_URL": f"rest+unix://{RUN}/slurmrestd/rest.sock",
        "SLURM_CONF": CONF,
        "BANCADA_CLUSTER": "bancada",
        "BANCADA_PUBLIC_URL": stack.address,
        "BANCADA_ALLOW_PLAIN_HTTP": "1",
        "BANCADA_SIMULATED_GPUS": "1",
        "BANCADA_DEMO": "1",
        "BANCADA_DEMO_FILE": "/srv/var/demo.json",
        "BANCADA_STATIC_ROOT": "/srv/var/static",
        "BANCADA_LOG_DIR": "/srv/var/portal-log",
    }


def _directory(stack: Stack) -> dict[str, str]:
    return {
        "LDAP_URL": f"ldap://{stack.host('slapd')}:{stack.tcp('ldap')}",
        "LDAP_START_TLS": "1",
        "LDAP_CA_FILE": "/srv/var/etc/ca.pem",
        "LDAP_BIND_DN": ldif.PORTAL,
        "LDAP_BIND_PASSWORD_FILE": f"{SECRETS}/ldap",
        "LDAP_USER_BASE": ldif.PEOPLE,
        "LDAP_GROUP_BASE": ldif.GROUPS,
    }
