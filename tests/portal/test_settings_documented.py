"""Every setting stands in .env.example, and nothing stands there that no longer exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_setting_is_in_the_example_and_no_other() -> None:
    code = (ROOT / "portal" / "settings.py").read_text()
    read = set(re.findall(r"""\benv\.\w+\(\s*["']([A-Z_]+)["']""", code))
    shown = set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), flags=re.MULTILINE))
    assert read - shown == set()
    assert shown - read == set()


def test_the_example_holds_no_secret() -> None:
    for name in ("BANCADA_SECRET_KEY", "LDAP_BIND_PASSWORD", "BANCADA_METRICS_TOKEN", "BANCADA_TICKET_KEY"):
        assert re.search(rf"^{name}=$", (ROOT / ".env.example").read_text(), flags=re.MULTILINE)
