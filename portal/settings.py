"""All settings, read from the environment once; secrets may come from files (NAME_FILE). Safe by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.FileAwareEnv()
if (BASE_DIR / ".env").exists():
    env.read_env(str(BASE_DIR / ".env"))

# --- what an operator decides -----------------------------------------------------------------------------------
SECRET_KEY: str = env.str("BANCADA_SECRET_KEY")
DEBUG = False
PUBLIC_URL: str = env.str("BANCADA_PUBLIC_URL", default="https://localhost").rstrip("/")
ALLOW_PLAIN_HTTP: bool = env.bool("BANCADA_ALLOW_PLAIN_HTTP", default=False)
SIMULATED_GPUS: bool = env.bool("BANCADA_SIMULATED_GPUS", default=False)
DEMO: bool = env.bool("BANCADA_DEMO", default=False)
TRUSTED_PROXIES: int = env.int("BANCADA_TRUSTED_PROXIES", default=1)  # how many of ours stand in front
METRICS_TOKEN: str = env.str("BANCADA_METRICS_TOKEN", default="")
SUBMISSIONS_PER_MINUTE: int = env.int("BANCADA_SUBMISSIONS_PER_MINUTE", default=60)  # per person, API; 0: no limit
MAX_ARRAY_SIZE: int = env.int("BANCADA_MAX_ARRAY_SIZE", default=1001)  # Slurm's: tasks are numbered below it
# addresses beneath which jobs may fetch code with git; none: it is off
GIT_PREFIXES: list[str] = env.list("BANCADA_GIT_PREFIXES", default=[])
# what the list of everybody's jobs shows of those one may not see, of jobs.services.others.FACTS; empty: no such list
OTHERS_JOBS: list[str] = env.list("BANCADA_OTHERS_JOBS", default=["state", "gpus", "partition", "times"])
CLUSTER_NAME: str = env.str("BANCADA_CLUSTER", default="cluster")
_public = urlsplit(PUBLIC_URL)
SECURE = _public.scheme == "https"
if not SECURE and not (ALLOW_PLAIN_HTTP and _public.hostname in {"127.0.0.1", "localhost", "::1"}):
    raise ImproperlyConfigured(
        "BANCADA_PUBLIC_URL is plain http. That is possible on loopback only, with BANCADA_ALLOW_PLAIN_HTTP=1."
    )

# --- Django -----------------------------------------------------------------------------------------------------
ALLOWED_HOSTS: list[str] = env.list("BANCADA_ALLOWED_HOSTS", default=[_public.hostname or "localhost"])
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"
ASGI_APPLICATION = "portal.asgi.application"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "django_htmx",
    "django_filters",
    "csp",
    "axes",
    "guardian",
    "pgtrigger",
    "channels",
    "django_structlog",
    "access",
    "audit",
    "cluster",
    "accounts",
    "projects",
    "quotas",
    "datasets",
    "presets",
    "storage",
    "jobs",
    "portal",
]
MIDDLEWARE = [
    "portal.metrics.timed",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "portal.middleware.headers",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "portal.middleware.origin",
    "portal.problems.for_api",
    "accounts.middleware.session_limits",
    "portal.middleware.person_language",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.middleware.denials",
    "axes.middleware.AxesMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "csp.context_processors.nonce",
                "portal.context.frame",
            ],
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- PostgreSQL: the role comes with the process (docs/operate.md) ------------------------------------------------
DATABASES: dict[str, Any] = {"default": env.db("DATABASE_URL", default="postgres:///bancada")}
DATABASES["default"]["CONN_MAX_AGE"] = env.int("BANCADA_DB_KEEP_SECONDS", default=300)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# statements that are the same each time are kept by the server; a pooler that cannot keep them needs this off
_keeps = env.bool("BANCADA_DB_PREPARE", default=True)
DATABASES["default"].setdefault("OPTIONS", {})["prepare_threshold"] = 1_000_000 if _keeps else None  # only those asked
DATABASES["default"]["OPTIONS"]["options"] = (
    "-c statement_timeout=30000 -c lock_timeout=10000 -c idle_in_transaction_session_timeout=60000"
)

# --- Redis: bells and hints only; JSON, no results, no remote control ---------------------------------------------
CELERY_BROKER_URL: str = env.str("BANCADA_BROKER_URL", default="memory://")
HINTS_URL: str = env.str("BANCADA_HINTS_URL", default="")
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "portal.hints.PatientLayer",
        "CONFIG": {"hosts": [HINTS_URL], "prefix": "bancada", "capacity": 1000, "expiry": 30},
    }
    if HINTS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# --- Slurm and the log reader -------------------------------------------------------------------------------------
SLURM_URL: str = env.str("SLURM_URL", default="fake:default")
SLURM_CONF: str = env.str("SLURM_CONF", default="/etc/slurm/slurm.conf")
SIGNER_SOCKET: str = env.str("BANCADA_SIGNER_SOCKET", default="/run/bancada/signer.sock")
READER_SOCKET: str = env.str("BANCADA_READER_SOCKET", default="/run/bancada/reader.sock")
SOCKETS_PER_PERSON: int = env.int("BANCADA_SOCKETS_PER_PERSON", default=100)  # outputs watched at once, a process
TICKET_KEY_FILE: str = env.str("BANCADA_TICKET_KEY", default="")
TICKET_DAYS: int = env.int("BANCADA_TICKET_DAYS", default=90)
FILES_SOCKET: str = env.str("BANCADA_FILES_SOCKET", default="/run/bancada/files.sock")
FILE_TICKET_SECONDS: int = env.int("BANCADA_FILE_TICKET_SECONDS", default=900)  # 3600 at most: the door refuses longer
PROMETHEUS_URL: str = env.str("PROMETHEUS_URL", default="")
METRICS_NAMES: str = env.str("BANCADA_METRICS_NAMES", default="bancada")  # or dcgm: whose exporters the nodes have

# --- people -------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
ANONYMOUS_USER_NAME = None  # django-guardian: no row for nobody
SILENCED_SYSTEM_CHECKS = ["guardian.W001"]  # grants are read by access.gate, not by an authentication backend
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "accounts.directory.backend.DirectoryBackend"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = []
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "accounts:sign_in", "home", "accounts:sign_in"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
SESSION_ENGINE = "accounts.sessions"
SESSION_IDLE_SECONDS: int = env.int("BANCADA_SESSION_IDLE_SECONDS", default=8 * 3600)  # without an act of the person
SESSION_ABSOLUTE_SECONDS: int = env.int("BANCADA_SESSION_ABSOLUTE_SECONDS", default=7 * 24 * 3600)
SESSION_COOKIE_AGE = SESSION_ABSOLUTE_SECONDS  # idle time is kept on our side: accounts.activity
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "__Host-session" if SECURE else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if SECURE else "csrf"


def _groups(text: str) -> list[str]:
    """Names with commas between them, or DNs (which hold commas) with semicolons."""
    return [part.strip() for part in text.split(";" if "=" in text else ",") if part.strip()]


# --- the institutional directory: OpenLDAP by default, Active Directory by these settings (docs/directory.md) -------
AUTH_LDAP_SERVER_URI: str = env.str("LDAP_URL", default="")  # several, separated by spaces, are tried in order
AUTH_LDAP_START_TLS: bool = env.bool("LDAP_START_TLS", default=True)  # for ldap:// only
AUTH_LDAP_BIND_DN: str = env.str("LDAP_BIND_DN", default="")
AUTH_LDAP_BIND_PASSWORD: str = env.str("LDAP_BIND_PASSWORD", default="")
AUTH_LDAP_ALWAYS_UPDATE_USER = False  # accounts.services writes the person, in one transaction with the trail
LDAP_CA_FILE: str = env.str("LDAP_CA_FILE", default="/etc/ssl/certs/ca-certificates.crt")
LDAP_USER_BASE: str = env.str("LDAP_USER_BASE", default="")
LDAP_USER_FILTER: str = env.str("LDAP_USER_FILTER", default="(uid=%(user)s)")
LDAP_GROUP_BASE: str = env.str("LDAP_GROUP_BASE", default="")
LDAP_ID_ATTRIBUTE: str = env.str("LDAP_ID_ATTRIBUTE", default="entryUUID")  # objectGUID for Active Directory
LDAP_LOGIN_ATTRIBUTE: str = env.str("LDAP_LOGIN_ATTRIBUTE", default="uid")  # sAMAccountName for Active Directory
LDAP_NAME_ATTRIBUTE: str = env.str("LDAP_NAME_ATTRIBUTE", default="cn")
LDAP_NESTED_GROUPS: bool = env.bool("LDAP_NESTED_GROUPS", default=True)
# who follows groups within groups: we ("walk"), or Active Directory itself ("in-chain")
LDAP_NESTED_RULE: str = env.str(
    "LDAP_NESTED_RULE", default="in-chain" if LDAP_ID_ATTRIBUTE.lower() == "objectguid" else "walk"
)
LDAP_OPERATOR_GROUPS: list[str] = _groups(env.str("LDAP_OPERATOR_GROUPS", default="bancada-operators"))
LDAP_AUDITOR_GROUPS: list[str] = _groups(env.str("LDAP_AUDITOR_GROUPS", default="bancada-auditors"))
LDAP_DEADLINE_SECONDS: float = env.float("LDAP_DEADLINE_SECONDS", default=4.0)
LDAP_PASSWORD_URL: str = env.str("LDAP_PASSWORD_URL", default="")  # where the institution lets people change it

# --- Slurm's accounting -------------------------------------------------------------------------------------------
# what another hand changed in it: "report" shows it, "restore" puts it back; "observe": nothing is written there at all
RECONCILE: str = env.str("BANCADA_RECONCILE", default="report")
REMOVALS_PER_PASS: int = env.int("BANCADA_REMOVALS_PER_PASS", default=50)  # what one comparison may take away at most
SITE_HOOK: str = env.str("BANCADA_SITE_HOOK", default="")  # makes a project's missing group or folder (docs/operate.md)

# --- mail: off until it says where, e.g. smtp+tls://login:password@mail.example.org:587 -----------------------------
MAIL_IS_ON = bool(env.str("EMAIL_URL", default=""))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = f"bancada@{_public.hostname or 'localhost'}"
if MAIL_IS_ON:
    _mail = env.email_url("EMAIL_URL")
    DEFAULT_FROM_EMAIL = _mail.pop("OPTIONS", {}).get("FROM") or DEFAULT_FROM_EMAIL
    vars().update({name: value for name, value in _mail.items() if value})

# --- the sealer of the trail (manage.py seal) ---------------------------------------------------------------------
SEAL_KEY: str = env.str("BANCADA_SEAL_KEY", default="")  # Ed25519, PEM; readable by the sealer alone
SEAL_FILE: str = env.str("BANCADA_SEAL_FILE", default="")  # checkpoints are appended here: a mount of another host
# PEM files: the public half of this key, and of earlier ones
SEAL_PUBLIC_KEYS: list[str] = env.list("BANCADA_SEAL_PUBLIC_KEYS", default=[])
# between asking for a pseudonym and the names beside the trail being gone: time to stop it
PSEUDONYM_AFTER_HOURS: int = env.int("BANCADA_PSEUDONYM_AFTER_HOURS", default=24)
SEAL_SYSLOG: str = env.str("BANCADA_SEAL_SYSLOG", default="")  # tls://host:6514
SEAL_SYSLOG_CA: str = env.str("BANCADA_SEAL_SYSLOG_CA", default="")
DPO_MAIL: list[str] = env.list("BANCADA_DPO_MAIL", default=[])  # whom the worker mails each day's checkpoints to
# exports of the trail: written by the worker, read by the web process
EXPORTS_FOLDER: str = env.str("BANCADA_EXPORTS", default=str(BASE_DIR / "var" / "exports"))

# --- sign-in throttling: failures within the cool-off of a login from one source, of a login, of a source -----------
SIGN_IN_LIMITS: dict[str, int] = {
    "pair": env.int("BANCADA_SIGN_IN_PAIR", default=5),
    "login": env.int("BANCADA_SIGN_IN_LOGIN", default=8),  # keep it below the directory's own pwdMaxFailure
    "source": env.int("BANCADA_SIGN_IN_SOURCE", default=40),
}
SIGN_IN_COOL_OFF_SECONDS: int = env.int("BANCADA_SIGN_IN_COOL_OFF_SECONDS", default=15 * 60)
AXES_HANDLER = "accounts.throttle.Handler"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "username", "ip_address"]
AXES_FAILURE_LIMIT = "accounts.throttle.limit"
AXES_COOLOFF_TIME = "accounts.throttle.cool_off"
AXES_LOCKOUT_CALLABLE = "accounts.throttle.locked_out"
AXES_CLIENT_IP_CALLABLE = "accounts.throttle.source"
AXES_USERNAME_CALLABLE = "accounts.throttle.username"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ACCESS_FAILURE_LOG = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "csrfmiddlewaretoken"]
AXES_VERBOSE = False

# --- headers ------------------------------------------------------------------------------------------------------
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
SECURE_SSL_REDIRECT = SECURE
SECURE_HSTS_SECONDS = 63072000 if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {
    name: [] for name in ("camera", "geolocation", "microphone", "payment", "usb", "display-capture")
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024  # a script of 4 MiB and its form
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
DATA_UPLOAD_MAX_NUMBER_FILES = 1000  # more than any page of ours takes, so that the page says how many it does

# --- languages ----------------------------------------------------------------------------------------------------
LANGUAGE_CODE = env.str("BANCADA_LANGUAGE", default="pt-br")
LANGUAGES = [("pt-br", _("Portuguese (Brazil)")), ("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_SECURE, LANGUAGE_COOKIE_SAMESITE, LANGUAGE_COOKIE_HTTPONLY = SECURE, "Lax", True
TIME_ZONE = env.str("BANCADA_TIME_ZONE", default="America/Sao_Paulo")
USE_TZ = USE_I18N = USE_THOUSAND_SEPARATOR = True
FORMAT_MODULE_PATH = ["portal.formats"]

# --- files and logs -----------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]  # ours only: no app brings its own
STATIC_ROOT = env.str("BANCADA_STATIC_ROOT", default=str(BASE_DIR / "var" / "static"))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": env.str("BANCADA_STATIC_STORAGE", default="portal.static.HashedFiles")},
}
LOGGING_CONFIG, LOGGING = "portal.log.configure", {"version": 1}  # Django calls it only where LOGGING is not empty
LOG_LEVEL: str = env.str("BANCADA_LOG_LEVEL", default="INFO")
DJANGO_STRUCTLOG_CELERY_ENABLED = False
