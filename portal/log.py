"""One shape for all log lines: one JSON object a line on standard error, secrets struck out."""

from __future__ import annotations

import logging.config
import re
from typing import Any

import structlog

_SECRET = re.compile(
    r"(password|passwd|secret|token|authorization|cookie|slurm_jwt|csrfmiddlewaretoken)", re.IGNORECASE
)


def strike_out(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Replace the values of fields whose name says they are secret."""
    return {key: ("[struck out]" if _SECRET.search(key) else value) for key, value in event.items()}


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    strike_out,
]


def configure(_config: Any = None) -> None:
    """Set up structlog and the standard library's logging alike."""
    from django.conf import settings

    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "processor": structlog.processors.JSONRenderer(),
        "foreign_pre_chain": SHARED,
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"handlers": ["stderr"], "level": settings.LOG_LEVEL},
            "loggers": {"httpx": {"level": "WARNING"}, "django_structlog": {"level": "WARNING"}},
        }
    )
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
