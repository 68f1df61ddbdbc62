"""Where a request comes from, as our own proxies tell it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from django.conf import settings


def source_address(meta: Mapping[str, Any]) -> str | None:
    """The caller's address: the entry that our outermost trusted proxy appended to X-Forwarded-For."""
    hops = [hop.strip() for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    ours = settings.TRUSTED_PROXIES
    text = hops[-ours] if ours and len(hops) >= ours else meta.get("REMOTE_ADDR", "")
    try:
        address = ipaddress.ip_address(text.partition("%")[0])  # without an interface's name
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def source_network(meta: Mapping[str, Any]) -> str | None:
    """What one caller can change at will counts as one source: an IPv4 address, or the /64 of an IPv6 address."""
    address = source_address(meta)
    if address is None or ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/64", strict=False).network_address)
