"""Every option of sbatch (22.05 to 26.05) in one table: how it is spelled, and what becomes of it here."""

from __future__ import annotations

import dataclasses
import enum


class Fate(enum.Enum):
    """What becomes of a directive."""

    MAPPED = "mapped"  # a field of the request says the same
    SWAPPED = "swapped"  # the project's own stands in its place
    KEPT = "kept"  # stays in the script as a comment, and has no effect
    REFUSED = "refused"


class Takes(enum.Enum):
    """Whether a value follows."""

    NOTHING = 0
    VALUE = 1
    MAYBE = 2  # only as --name=value


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """`why` names the reason for what is not mapped; jobs.services.importing has the words for it."""

    name: str
    short: str
    takes: Takes
    fate: Fate
    why: str = ""


_N, _V, _M = Takes.NOTHING, Takes.VALUE, Takes.MAYBE
_MAP, _SWAP, _KEEP, _NO = Fate.MAPPED, Fate.SWAPPED, Fate.KEPT, Fate.REFUSED

_TABLE: tuple[tuple[str, str, Takes, Fate, str], ...] = (
    ("account", "A", _V, _SWAP, "account"),
    ("acctg-freq", "", _V, _KEEP, "site"),
    ("array", "a", _V, _MAP, ""),
    ("autocomplete", "", _V, _NO, "prints"),
    ("batch", "", _V, _KEEP, "placing"),
    ("bb", "", _V, _NO, "burst_buffer"),
    ("bbf", "", _V, _NO, "burst_buffer"),
    ("begin", "b", _V, _MAP, ""),
    ("chdir", "D", _V, _MAP, ""),
    ("cluster-constraint", "", _V, _KEEP, "one_cluster"),
    ("clusters", "M", _V, _KEEP, "one_cluster"),
    ("comment", "", _V, _KEEP, "comment"),
    ("consolidate-segments", "", _N, _KEEP, "placing"),
    ("constraint", "C", _V, _MAP, ""),
    ("container", "", _V, _NO, "container"),
    ("container-id", "", _V, _NO, "container"),
    ("container-type", "", _V, _NO, "container"),
    ("contiguous", "", _N, _KEEP, "placing"),
    ("core-spec", "S", _V, _KEEP, "placing"),
    ("cores-per-socket", "", _V, _KEEP, "placing"),
    ("cpu-freq", "", _V, _KEEP, "binding"),
    ("cpus-per-gpu", "", _V, _MAP, ""),
    ("cpus-per-task", "c", _V, _MAP, ""),
    ("deadline", "", _V, _KEEP, "deadline"),
    ("delay-boot", "", _V, _KEEP, "site"),
    ("dependency", "d", _V, _MAP, ""),
    ("distribution", "m", _V, _KEEP, "binding"),
    ("error", "e", _V, _SWAP, "output"),
    ("exclude", "x", _V, _KEEP, "placing"),
    ("exclusive", "", _M, _MAP, ""),
    ("export", "", _V, _MAP, ""),
    ("export-file", "", _V, _NO, "export_file"),
    ("external-launcher", "", _N, _KEEP, "site"),
    ("extra", "", _V, _KEEP, "site"),
    ("extra-node-info", "B", _V, _KEEP, "placing"),
    ("get-user-env", "", _M, _KEEP, "environment"),
    ("gid", "", _V, _NO, "identity"),
    ("gpu-bind", "", _V, _KEEP, "binding"),
    ("gpu-freq", "", _V, _KEEP, "binding"),
    ("gpus", "G", _V, _MAP, ""),
    ("gpus-per-node", "", _V, _MAP, ""),
    ("gpus-per-socket", "", _V, _NO, "per_node"),
    ("gpus-per-task", "", _V, _MAP, ""),
    ("gres", "", _V, _MAP, ""),
    ("gres-flags", "", _V, _KEEP, "binding"),
    ("help", "h", _N, _NO, "prints"),
    ("hint", "", _V, _KEEP, "binding"),
    ("hold", "H", _N, _KEEP, "hold"),
    ("ignore-pbs", "", _N, _KEEP, "no_effect"),
    ("input", "i", _V, _NO, "input"),
    ("job-name", "J", _V, _MAP, ""),
    ("kill-on-invalid-dep", "", _V, _KEEP, "site"),
    ("licenses", "L", _V, _KEEP, "licenses"),
    ("mail-type", "", _V, _SWAP, "mail"),
    ("mail-user", "", _V, _SWAP, "mail"),
    ("mcs-label", "", _V, _KEEP, "site"),
    ("mem", "", _V, _MAP, ""),
    ("mem-bind", "", _V, _KEEP, "binding"),
    ("mem-per-cpu", "", _V, _MAP, ""),
    ("mem-per-gpu", "", _V, _MAP, ""),
    ("mem-update", "", _V, _KEEP, "site"),
    ("mincpus", "", _V, _KEEP, "placing"),
    ("network", "", _V, _KEEP, "site"),
    ("nice", "", _M, _KEEP, "priority"),
    ("no-kill", "k", _M, _KEEP, "site"),
    ("no-requeue", "", _N, _MAP, ""),
    ("nodefile", "F", _V, _NO, "nodefile"),
    ("nodelist", "w", _V, _KEEP, "placing"),
    ("nodes", "N", _V, _MAP, ""),
    ("ntasks", "n", _V, _MAP, ""),
    ("ntasks-per-core", "", _V, _KEEP, "binding"),
    ("ntasks-per-gpu", "", _V, _MAP, ""),
    ("ntasks-per-node", "", _V, _MAP, ""),
    ("ntasks-per-socket", "", _V, _KEEP, "binding"),
    ("oom-kill-step", "", _M, _KEEP, "site"),
    ("open-mode", "", _V, _KEEP, "open_mode"),
    ("output", "o", _V, _SWAP, "output"),
    ("overcommit", "O", _N, _KEEP, "binding"),
    ("oversubscribe", "s", _N, _KEEP, "placing"),
    ("parsable", "", _N, _KEEP, "no_effect"),
    ("partition", "p", _V, _MAP, ""),
    ("power", "", _V, _KEEP, "site"),
    ("prefer", "", _V, _KEEP, "placing"),
    ("priority", "", _V, _KEEP, "priority"),
    ("profile", "", _V, _KEEP, "site"),
    ("propagate", "", _M, _KEEP, "environment"),
    ("qos", "q", _V, _SWAP, "qos"),
    ("quiet", "Q", _N, _KEEP, "no_effect"),
    ("reboot", "", _N, _NO, "reboot"),
    ("requeue", "", _N, _MAP, ""),
    ("reservation", "", _V, _MAP, ""),
    ("resources", "", _V, _KEEP, "site"),
    ("resv-ports", "", _M, _KEEP, "site"),
    ("segment", "", _V, _KEEP, "placing"),
    ("share", "", _N, _KEEP, "placing"),
    ("signal", "", _V, _MAP, ""),
    ("sockets-per-node", "", _V, _KEEP, "placing"),
    ("spread-job", "", _N, _KEEP, "placing"),
    ("spread-segments", "", _N, _KEEP, "placing"),
    ("stepmgr", "", _N, _KEEP, "site"),
    ("switches", "", _V, _KEEP, "placing"),
    ("tasks-per-node", "", _V, _MAP, ""),
    ("test-only", "", _N, _NO, "prints"),
    ("thread-spec", "", _V, _KEEP, "placing"),
    ("threads-per-core", "", _V, _KEEP, "binding"),
    ("time", "t", _V, _MAP, ""),
    ("time-min", "", _V, _KEEP, "deadline"),
    ("tmp", "", _V, _KEEP, "placing"),
    ("tres-bind", "", _V, _KEEP, "binding"),
    ("tres-per-task", "", _V, _NO, "per_node"),
    ("uid", "", _V, _NO, "identity"),
    ("usage", "", _N, _NO, "prints"),
    ("use-min-nodes", "", _N, _KEEP, "placing"),
    ("verbose", "v", _N, _KEEP, "no_effect"),
    ("version", "V", _N, _NO, "prints"),
    ("wait", "W", _N, _KEEP, "no_effect"),
    ("wait-all-nodes", "", _V, _KEEP, "site"),
    ("wckey", "", _V, _KEEP, "site"),
    ("wrap", "", _V, _NO, "wrap"),
)

OPTIONS: dict[str, Option] = {row[0]: Option(*row) for row in _TABLE}
SHORT: dict[str, Option] = {one.short: one for one in OPTIONS.values() if one.short}
SAME = {"tasks-per-node": "ntasks-per-node", "share": "oversubscribe"}  # another spelling of


def long(name: str) -> Option | None:
    """By its name or a beginning that fits one only, as getopt takes it; None: unknown or ambiguous."""
    if name in OPTIONS:
        return OPTIONS[name]
    found = [one for known, one in OPTIONS.items() if known.startswith(name)]
    same = {SAME.get(one.name, one.name) for one in found}
    return found[0] if name and len(same) == 1 else None
