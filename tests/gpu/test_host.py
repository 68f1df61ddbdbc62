"""Shared storage, network and pressure of a node, from files."""

from __future__ import annotations

from pathlib import Path

from gpu import host

MOUNTSTATS = """device proc mounted on /proc with fstype proc
device server:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tbytes:\t10 20 0 0 3000 4000 1 1
device server:/data mounted on /data with fstype nfs statvers=1.1
\tbytes:\t1 2 0 0 5 6 0 0
"""


def test_all_of_a_node(tmp_path: Path) -> None:
    files = {
        "proc/self/mountstats": MOUNTSTATS,
        "proc/pressure/cpu": "some avg10=50.00 avg60=1 avg300=1 total=9\n",
        "proc/fs/lustre/llite/work-ffff0/stats": "snapshot_time 1\nread_bytes 5 samples [bytes] 1 9 700\n",
        "sys/class/net/eth0/statistics/tx_bytes": "100\n",
        "sys/class/net/eth0/statistics/rx_bytes": "200\n",
        "sys/class/net/lo/statistics/rx_bytes": "1\n",
        "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "10\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {(name.removeprefix("bancada_"), *labels): value for name, labels, value in host.readings(tmp_path)}
    assert found == {
        ("node_pressure_ratio", "cpu"): 0.5,
        ("storage_bytes_total", "/home", "read"): 3000,
        ("storage_bytes_total", "/home", "written"): 4000,
        ("storage_bytes_total", "/data", "read"): 5,
        ("storage_bytes_total", "/data", "written"): 6,
        ("storage_bytes_total", "work", "read"): 700,
        ("storage_bytes_total", "work", "written"): 0,
        ("network_bytes_total", "eth0", "sent"): 100,
        ("network_bytes_total", "eth0", "received"): 200,
        ("network_bytes_total", "mlx5_0:1", "sent"): 40,
    }


def test_of_an_empty_machine_nothing(tmp_path: Path) -> None:
    assert list(host.readings(tmp_path)) == []
