"""Every series the agent serves: its name, kind, unit, labels and where its value comes from."""

from __future__ import annotations

import dataclasses

GAUGE, COUNTER = "gauge", "counter"
CARD = ("gpu", "uuid")
SLICE = ("gpu", "uuid", "mig")


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """One series: `source` is the call or file it is read from, `absent` when it is not served."""

    name: str
    kind: str
    unit: str
    labels: tuple[str, ...]
    help: str
    source: str
    absent: str = ""


def _gpu(name: str, unit: str, help_: str, source: str, *labels: str, kind: str = GAUGE, absent: str = "") -> Series:
    return Series(f"bancada_gpu_{name}", kind, unit, (*CARD, *labels), help_, source, absent)


def _job(name: str, unit: str, help_: str, source: str, *labels: str, kind: str = GAUGE, absent: str = "") -> Series:
    return Series(f"bancada_job_{name}", kind, unit, ("slurm_job", *labels), help_, source, absent)


FIELDS = "nvmlDeviceGetFieldValues"
MIG = "on a card split by MIG: NVML has no such reading there"
ALL = (
    _gpu("info", "1", "Model of a card.", "nvmlDeviceGetName", "model"),
    _gpu("state", "1", "1 for the state a card is in: ok, lost, hung, error.", "how its last pass ended", "state"),
    _gpu("utilization_ratio", "0-1", "Share of time a kernel ran.", "nvmlDeviceGetUtilizationRates", absent=MIG),
    _gpu(
        "memory_busy_ratio", "0-1", "Share of time memory was read or written.", "nvmlDeviceGetUtilizationRates",
        absent=MIG,
    ),
    _gpu("memory_used_bytes", "bytes", "Memory in use.", "nvmlDeviceGetMemoryInfo"),
    _gpu("memory_total_bytes", "bytes", "All memory.", "nvmlDeviceGetMemoryInfo"),
    _gpu("power_watts", "watts", "Power drawn.", f"{FIELDS}: POWER_INSTANT, else nvmlDeviceGetPowerUsage"),
    _gpu("power_limit_watts", "watts", "Power cap in force.", "nvmlDeviceGetEnforcedPowerLimit"),
    _gpu("energy_joules_total", "joules", "Energy used.", f"{FIELDS}: TOTAL_ENERGY_CONSUMPTION", kind=COUNTER),
    _gpu("clock_hertz", "hertz", "Clock: sm, memory.", "nvmlDeviceGetClockInfo", "domain"),
    _gpu(
        "temperature_celsius", "degrees Celsius", "Temperature: core, memory.",
        f"nvmlDeviceGetTemperature; {FIELDS}: MEMORY_TEMP", "sensor",
    ),
    _gpu(
        "throttled", "0 or 1", "Whether clocks are held down: power, thermal, hardware, other.",
        "nvmlDeviceGetCurrentClocksThrottleReasons", "reason",
    ),
    _gpu(
        "pcie_bytes_per_second", "bytes/s", "PCIe traffic: sent, received.",
        f"{FIELDS}: PCIE_COUNT_TX_BYTES and RX, else nvmlDeviceGetPcieThroughput on one card a second", "direction",
        absent="until two passes were made, and after a counter went back",
    ),
    _gpu(
        "nvlink_bytes_per_second", "bytes/s", "NVLink traffic of all links: sent, received.",
        f"{FIELDS}: NVLINK_THROUGHPUT_DATA_TX and RX", "direction",
        absent="without NVLink, until two passes were made, and after a counter went back",
    ),
    _gpu(
        "ecc_errors_total", "errors", "Memory errors since the driver began: corrected, uncorrected.",
        f"{FIELDS}: ECC_SBE_VOL_TOTAL, ECC_DBE_VOL_TOTAL", "kind", kind=COUNTER,
    ),
    _gpu("row_remap_pending", "0 or 1", "A row of memory waits for a reset.", f"{FIELDS}: REMAPPED_PENDING"),
    _gpu("row_remap_failed", "0 or 1", "A row of memory could not be replaced.", f"{FIELDS}: REMAPPED_FAILURE"),
    _gpu("xid_errors_total", "errors", "Xid errors since the agent began.", "nvmlEventSetWait_v2", "xid", kind=COUNTER),
    _gpu("mig_enabled", "0 or 1", "Whether the card is split by MIG.", "nvmlDeviceGetMigMode"),
    Series(
        "bancada_gpu_mig_memory_used_bytes", GAUGE, "bytes", SLICE, "Memory in use of a MIG slice.",
        "nvmlDeviceGetMemoryInfo of the slice",
    ),
    Series(
        "bancada_gpu_mig_memory_total_bytes", GAUGE, "bytes", SLICE, "Memory of a MIG slice.",
        "nvmlDeviceGetMemoryInfo of the slice",
    ),
    _gpu("processes", "processes", "Processes on the card.", "nvmlDeviceGetComputeRunningProcesses_v3"),
    _gpu(
        "allocated", "1", "1 for the job a card is allotted to.",
        "files of the prolog (--job-mapping-dir), else SLURM_JOB_GPUS of the job's own first processes", "slurm_job",
    ),
    _gpu(
        "job_memory_bytes", "bytes", "Memory the processes of a job have on the card.",
        "nvmlDeviceGetComputeRunningProcesses_v3", "slurm_job",
    ),
    _gpu(
        "outside_memory_bytes", "bytes", "Memory of a process that belongs to no Slurm job.",
        "nvmlDeviceGetComputeRunningProcesses_v3, /proc", "pid", "uid",
    ),
    _gpu(
        "unknown_processes", "processes", "Processes of which nobody can say whose they are.",
        "nvmlDeviceGetComputeRunningProcesses_v3, /proc",
    ),
    _job("cpu_seconds_total", "seconds", "CPU time used.", "cpu.stat, cpuacct.usage, else /proc", kind=COUNTER),
    _job("memory_bytes", "bytes", "Memory in use, without the file cache.", "memory.stat, else /proc/PID/stat"),
    _job(
        "read_bytes_total", "bytes", "Bytes its processes read.", "/proc/PID/io, else its io.stat", kind=COUNTER,
        absent="without CAP_DAC_READ_SEARCH and cgroup v2",
    ),
    _job(
        "written_bytes_total", "bytes", "Bytes its processes wrote.", "/proc/PID/io, else its io.stat", kind=COUNTER,
        absent="without CAP_DAC_READ_SEARCH and cgroup v2",
    ),
    _job("processes", "processes", "Processes of the job on this node.", "/proc"),
    _job(
        "pressure_ratio", "0-1", "Share of the last 10 s some process waited: cpu, memory, io.",
        "cpu.pressure, memory.pressure, io.pressure of its cgroup", "resource", absent="without cgroup v2",
    ),
    Series(
        "bancada_node_pressure_ratio", GAUGE, "0-1", ("resource",),
        "Share of the last 10 s some process of the node waited: cpu, memory, io.", "/proc/pressure",
    ),
    Series(
        "bancada_storage_bytes_total", COUNTER, "bytes", ("mount", "direction"),
        "Bytes of a shared file system: read, written.", "/proc/self/mountstats (NFS), llite/*/stats (Lustre)",
    ),
    Series(
        "bancada_network_bytes_total", COUNTER, "bytes", ("device", "direction"),
        "Bytes of a network card or InfiniBand port: sent, received.", "/sys/class/net, /sys/class/infiniband",
    ),
    Series(
        "bancada_agent_info", GAUGE, "1", ("version", "driver", "simulated"),
        "The agent and the driver it found; driver is empty where there is none.", "nvmlSystemGetDriverVersion",
    ),
    Series(
        "bancada_agent_driver_up", GAUGE, "0 or 1", (), "Whether the driver answers.", "nvmlInitWithFlags",
    ),
    Series(
        "bancada_agent_sample_age_seconds", GAUGE, "seconds", (), "Age of what is served.", "the agent's clock",
    ),
    Series("bancada_agent_pass_seconds", GAUGE, "seconds", (), "How long the last pass took.", "the agent's clock"),
    Series(
        "bancada_agent_hung_calls_total", COUNTER, "calls", (), "Calls of the driver that did not answer in time.",
        "the agent's deadline",
    ),
)  # fmt: skip
BY_NAME = {series.name: series for series in ALL}


def table() -> str:
    """All of them as the table of docs/metrics.md."""
    rows = ["| series | kind | unit | labels | what it is | source | not served |", "|---|---|---|---|---|---|---|"]
    for s in ALL:
        labels = " ".join(f"`{label}`" for label in s.labels)
        rows.append(f"| `{s.name}` | {s.kind} | {s.unit} | {labels} | {s.help} | {s.source} | {s.absent} |")
    return "\n".join(rows) + "\n"
