"""What the agent serves of eight GPUs, scene by scene, through the real pynvml and the stand-in driver."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable

from gpu.series import BY_NAME
from tests.clock import within
from tests.gpu.conftest import Agent


def test_eight_idle_cards(agent: Agent) -> None:
    agent.scene("")
    agent.until(lambda: agent.value("bancada_gpu_power_watts", gpu="0") == 55)
    found = agent.readings()
    assert sum(value for (name, _), value in found.items() if name == "bancada_gpu_info") == 8
    for gpu in map(str, range(8)):
        assert agent.value("bancada_gpu_utilization_ratio", gpu=gpu) == 0
        assert agent.value("bancada_gpu_state", gpu=gpu, state="ok") == 1
    assert agent.value("bancada_agent_driver_up") == 1
    assert agent.value("bancada_agent_info", simulated="1") == 1


def test_a_busy_card_in_si_units(agent: Agent) -> None:
    agent.scene("gpu 2 util 92 memory 30000 power 311 temp 64 sm 1410 mem 1215\n")
    agent.until(lambda: agent.value("bancada_gpu_utilization_ratio", gpu="2") == 0.92)
    assert agent.value("bancada_gpu_memory_used_bytes", gpu="2") == 30000 * 2**20
    assert agent.value("bancada_gpu_memory_total_bytes", gpu="2") == 40960 * 2**20
    assert agent.value("bancada_gpu_power_watts", gpu="2") == 311
    assert agent.value("bancada_gpu_power_limit_watts", gpu="2") == 400
    assert agent.value("bancada_gpu_clock_hertz", gpu="2", domain="sm") == 1410e6
    assert agent.value("bancada_gpu_temperature_celsius", gpu="2", sensor="core") == 64
    assert agent.value("bancada_gpu_temperature_celsius", gpu="2", sensor="memory") == 72
    assert agent.value("bancada_gpu_utilization_ratio", gpu="3") == 0


def test_traffic_is_a_rate(agent: Agent) -> None:
    agent.scene("gpu 0 util 50\n")
    agent.until(lambda: agent.value("bancada_gpu_pcie_bytes_per_second", gpu="0", direction="sent"))
    sent = agent.value("bancada_gpu_pcie_bytes_per_second", gpu="0", direction="sent")
    link = agent.value("bancada_gpu_nvlink_bytes_per_second", gpu="0", direction="received")
    assert sent is not None and 2.5e8 < sent < 3.5e8
    assert link is not None and 1.7e9 < link < 2.4e9


def test_counters_that_go_back_give_no_rate(agent: Agent) -> None:
    agent.scene("gpu 1 util 50\n")
    agent.until(lambda: agent.value("bancada_gpu_pcie_bytes_per_second", gpu="1", direction="sent"))
    agent.scene("gpu 1 util 50 back 1\n")
    agent.until(lambda: (agent.value("bancada_gpu_pcie_bytes_per_second", gpu="1", direction="sent") or 0) > 1e12)
    time.sleep(1.2)
    assert agent.value("bancada_gpu_pcie_bytes_per_second", gpu="1", direction="sent") is None
    assert agent.value("bancada_gpu_utilization_ratio", gpu="1") == 0.5


def test_throttled_by_heat_and_by_power(agent: Agent) -> None:
    agent.scene("gpu 0 throttle 0x20\ngpu 1 throttle 0x4\ngpu 2 throttle 0x1\n")
    agent.until(lambda: agent.value("bancada_gpu_throttled", gpu="0", reason="thermal") == 1)
    assert agent.value("bancada_gpu_throttled", gpu="0", reason="power") == 0
    assert agent.value("bancada_gpu_throttled", gpu="1", reason="power") == 1
    assert [
        agent.value("bancada_gpu_throttled", gpu="2", reason=r) for r in ("power", "thermal", "hardware", "other")
    ] == [0] * 4


def test_memory_errors_and_xids(agent: Agent) -> None:
    agent.scene("gpu 5 ecc 12 dbe 1 xid 94 remap 1\n")
    agent.until(lambda: agent.value("bancada_gpu_xid_errors_total", gpu="5", xid="94") == 1)
    assert agent.value("bancada_gpu_ecc_errors_total", gpu="5", kind="corrected") == 12
    assert agent.value("bancada_gpu_ecc_errors_total", gpu="5", kind="uncorrected") == 1
    assert agent.value("bancada_gpu_row_remap_failed", gpu="5") == 1
    agent.scene("gpu 5 xid 48\n")
    agent.until(lambda: agent.value("bancada_gpu_xid_errors_total", gpu="5", xid="48") == 1)
    assert agent.value("bancada_gpu_xid_errors_total", gpu="5", xid="94") == 1


def test_sixteen_slices_have_memory_and_no_utilisation(start: Callable[..., Agent]) -> None:
    mine = start(f"gpu 0 mig 16\nprocess 0 {os.getpid()} 2000 15\n")
    found = mine.readings()
    slices = {dict(own)["mig"] for (name, own) in found if name == "bancada_gpu_mig_memory_total_bytes"}
    assert slices == {str(number) for number in range(16)}
    assert mine.value("bancada_gpu_mig_enabled", gpu="0") == 1
    assert mine.value("bancada_gpu_utilization_ratio", gpu="0") is None
    assert mine.value("bancada_gpu_utilization_ratio", gpu="1") == 0
    assert mine.value("bancada_gpu_mig_memory_used_bytes", gpu="0", mig="15") == 2000 * 2**20
    assert mine.value("bancada_gpu_mig_memory_used_bytes", gpu="0", mig="3") == 0


def test_a_card_lost_in_mid_flight_and_back(start: Callable[..., Agent]) -> None:
    mine = start("gpu 3 util 70\n")
    assert mine.value("bancada_gpu_state", gpu="3", state="ok") == 1
    mine.scene("gpu 3 lost 1\ngpu 4 util 20\n")
    mine.until(lambda: mine.value("bancada_gpu_state", gpu="3", state="lost") == 1)
    assert mine.value("bancada_gpu_utilization_ratio", gpu="3") is None
    assert mine.value("bancada_gpu_utilization_ratio", gpu="4") == 0.2
    assert mine.value("bancada_gpu_state", gpu="3", state="ok") is None


def test_a_call_that_hangs_costs_its_own_card_only(start: Callable[..., Agent]) -> None:
    mine = start("gpu 6 hang 30\ngpu 7 util 33\n")
    begun = time.monotonic()
    mine.until(lambda: mine.value("bancada_gpu_state", gpu="6", state="hung") == 1)
    assert mine.value("bancada_gpu_utilization_ratio", gpu="7") == 0.33
    assert mine.value("bancada_agent_hung_calls_total") == 1
    assert mine.value("bancada_gpu_utilization_ratio", gpu="6") is None
    for _ in range(3):
        within(1, mine.get)
    assert time.monotonic() - begun < 30


def test_a_process_of_no_job_is_told_by_pid_and_uid(agent: Agent) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        time.sleep(0.05)
        try:
            agent.scene(f"process 4 {stranger.pid} 9000\nprocess 5 999999999 10\n")
            agent.until(lambda: agent.value("bancada_gpu_outside_memory_bytes", gpu="4", pid=str(stranger.pid)), 12)
            uid = str(os.getuid())
            assert agent.value("bancada_gpu_outside_memory_bytes", gpu="4", uid=uid) == 9000 * 2**20
            assert agent.value("bancada_gpu_unknown_processes", gpu="5") == 1
            assert agent.value("bancada_gpu_outside_memory_bytes", gpu="5") is None
        finally:
            stranger.kill()


def test_without_a_driver_the_rest_is_served(start: Callable[..., Agent]) -> None:
    mine = start(None)
    names = {name for name, _ in mine.readings()}
    assert mine.value("bancada_agent_driver_up") == 0
    assert mine.value("bancada_agent_info", driver="", simulated="0") == 1
    assert not any(name.startswith("bancada_gpu") for name in names)
    assert "bancada_network_bytes_total" in names or "bancada_node_pressure_ratio" in names


def test_all_it_serves_is_in_the_table_and_is_typed(agent: Agent) -> None:
    text = agent.get()
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            assert BY_NAME[name].kind == kind
    assert {name for name, _ in agent.readings()} <= set(BY_NAME)


def test_it_is_small(agent: Agent) -> None:
    """40 MB resident at the most; its time is measured by the benches."""
    from pathlib import Path

    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert resident < 40_000, f"{resident} kB"
