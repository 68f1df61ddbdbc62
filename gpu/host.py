"""What the node itself does: its pressure, the shared storage it mounts, its network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpu.text import Reading
from gpu.usage import pressures

NFS = ("nfs", "nfs4")


def readings(root: Path = Path("/")) -> Iterator[Reading]:
    """All of it; nothing of what this node does not have. `root` is where /proc and /sys are."""
    for resource, value in pressures(root / "proc/pressure", "{}"):
        yield Reading("bancada_node_pressure_ratio", (resource,), value)
    yield from _storage(nfs(_text(root / "proc/self/mountstats")))
    yield from _storage(lustre(root))
    yield from _network(root)


def _storage(found: dict[str, tuple[int, int]]) -> Iterator[Reading]:
    for mount, (done, written) in found.items():
        yield Reading("bancada_storage_bytes_total", (mount, "read"), done)
        yield Reading("bancada_storage_bytes_total", (mount, "written"), written)


def nfs(mountstats: str) -> dict[str, tuple[int, int]]:
    """{mount: bytes read and written over the network} of /proc/self/mountstats."""
    found: dict[str, tuple[int, int]] = {}
    mount = ""
    for line in mountstats.splitlines():
        words = line.split()
        if line.startswith("device "):
            mount = words[4] if len(words) > 7 and words[7] in NFS else ""
        elif mount and words[:1] == ["bytes:"] and len(words) >= 7:
            found[mount] = (int(words[5]), int(words[6]))  # what the server sent and took
    return found


def lustre(root: Path) -> dict[str, tuple[int, int]]:
    """{file system: bytes read and written} of each Lustre mount."""
    found: dict[str, tuple[int, int]] = {}
    for folder in ("proc/fs/lustre/llite", "sys/kernel/debug/lustre/llite"):
        for path in _glob(root / folder, "*/stats"):
            rows = {words[0]: words for line in _text(path).splitlines() if (words := line.split())}
            found[path.parent.name.split("-")[0]] = (_sum(rows, "read_bytes"), _sum(rows, "write_bytes"))
    return found


def _sum(rows: dict[str, list[str]], name: str) -> int:
    words = rows.get(name, [])
    return int(words[6]) if len(words) > 6 else 0


def _network(root: Path) -> Iterator[Reading]:
    for path in _glob(root / "sys/class/net", "*/statistics"):
        if path.parent.name != "lo":
            yield from _card(path.parent.name, path / "tx_bytes", path / "rx_bytes", 1)
    for path in _glob(root / "sys/class/infiniband", "*/ports/*/counters"):
        name = f"{path.parts[-4]}:{path.parts[-2]}"
        yield from _card(name, path / "port_xmit_data", path / "port_rcv_data", 4)  # these count words of 4 bytes


def _card(name: str, sent: Path, received: Path, unit: int) -> Iterator[Reading]:
    for direction, path in (("sent", sent), ("received", received)):
        value = _text(path).strip()
        if value.isdigit():
            yield Reading("bancada_network_bytes_total", (name, direction), int(value) * unit)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []
