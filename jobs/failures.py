"""The commonest ways in which a job's script fails: how the output shows each, what it means, what to try."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

LONGEST = 4096  # bytes of a line that are looked at
KEPT = 300  # characters of a line that are kept
AT_MOST = 3  # failures told of one output


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """One kind. `shows` is looked for in each line of the output, after the line's end is taken off."""

    key: str
    shows: re.Pattern[bytes]
    sentence: Text
    hint: Text


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A kind, and the line of the output that shows it: `offset` in bytes from where the search began."""

    key: str
    offset: int
    text: str


def _of(key: str, shows: str, sentence: Text, hint: Text) -> Failure:
    return Failure(key, re.compile(shows.encode()), sentence, hint)


_LOADED = _("Check the name, and that the software environment it belongs to is loaded in the script.")
_SMALLER_BATCH = _("Use smaller batches or a smaller model, or ask for a GPU with more memory.")
_PATH = _(
    "Check how it is written: the job starts in the project's folder, and a path that does not begin with / "
    "counts from there."
)
_RIGHTS = _("Check who owns it and who may read, write and run it (ls -l).")
_ROOM = _("Delete or move what is not needed; the project's page shows how full its folder is.")
_NETWORK = _(
    "Nodes often have no way out to the internet: fetch it before the job, and read it from the project's folder."
)
_PYTHON = _("The line names the place in the program; what stands above it in the output says how it got there.")

# most telling first: what stands higher is told first where an output shows several
# fmt: off
CATALOGUE: tuple[Failure, ...] = (
    _of("dos_lines", r"\^M: bad interpreter|\$'\\r': command not found|/usr/bin/env: .{0,80}\\r'",
        _("The script has Windows line ends."),
        _("Convert the file (dos2unix), or set your editor to Unix line ends, and submit it again.")),
    _of("bad_interpreter", r"bad interpreter: |/usr/bin/env: .{0,200}: No such file or directory",
        _("The program in the script's first line (#!) does not exist on the node."),
        _("Correct the first line, for example #!/bin/bash.")),
    _of("gpu_memory", r"CUDA out of memory|OutOfMemoryError: (?:CUDA|HIP)|CUDA_ERROR_OUT_OF_MEMORY|"
        r"cudaErrorMemoryAllocation|"
        r"CUBLAS_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED: .{0,80}(?:OOM|[Oo]ut of memory)",
        _("The memory of the GPU was not enough."), _SMALLER_BATCH),
    _of("out_of_memory", r"oom-kill event|[Oo]ut [Oo]f [Mm]emory handler|Out of memory: Kill|oom_kill|Detected \d+ oom",
        _("The job's memory was not enough: the node ended a part of it."),
        _("Ask for more memory, or load less at a time.")),
    _of("no_gpu", r"No CUDA GPUs are available|no CUDA-capable device|CUDA_ERROR_NO_DEVICE|Found no NVIDIA driver|"
        r"Torch not compiled with CUDA|NVIDIA-SMI has failed",
        _("The program found no GPU it can use."),
        _("Check that the job asks for a GPU, and that the software was built for GPUs.")),
    _of("gpu_driver", r"CUDA driver version is insufficient|no kernel image is available|"
        r"forward compatibility was attempted|"
        r"The NVIDIA driver on your system is too old",
        _("The software was built for another driver or another kind of GPU."),
        _("Use an environment that was validated here, or another GPU type.")),
    _of("gpu_fault", r"CUDA error: (?:an illegal memory access|device-side assert|misaligned|unspecified launch)|"
        r"uncorrectable ECC|\bXid\b.{0,40}: \d+",
        _("A program failed on the GPU itself."),
        _("Run it once with CUDA_LAUNCH_BLOCKING=1 to see where. If it happens on one node only, tell a cluster "
          "administrator.")),
    _of("nccl_timeout", r"Watchdog caught collective operation timeout|NCCL.{0,60}[Tt]imed? ?out|"
        r"ncclRemoteError|ncclSystemError|ProcessGroupNCCL.{0,200}timeout",
        _("GPUs waited for each other too long (NCCL)."),
        _("Look for the first process that failed: the others only waited for it. Run it with NCCL_DEBUG=INFO to "
          "see more.")),
    _of("rendezvous", r"RendezvousTimeoutError|The client socket has timed out|DistStoreError|"
        r"EADDRINUSE|[Aa]ddress already in use",
        _("The processes of the job did not find each other."),
        _("Check the master's address and port; another job on the node may hold the same port.")),
    _of("disk_full", r"No space left on device|ENOSPC|\[Errno 28\]",
        _("The disk it wrote to is full."), _ROOM),
    _of("quota", r"Disk quota exceeded|EDQUOT|\[Errno 122\]",
        _("The storage that the folder may take is used up."), _ROOM),
    _of("shared_memory", r"[/]dev/shm|insufficient shared memory|[Bb]us error.{0,60}shared memory",
        _("The shared memory of the node (/dev/shm) was not enough."),
        _("Use fewer workers in the data loader.")),
    _of("module_command", r"module: command not found|Unable to locate a modulefile|"
        r"Lmod has detected the following error|"
        r"The following module\(s\) are unknown",
        _("A software module could not be loaded."), _LOADED),
    _of("conda", r"CondaError|EnvironmentNameNotFound|Could not find conda environment|conda: command not found|"
        r"Run 'conda init' before",
        _("The conda environment could not be activated."), _LOADED),
    _of("command_missing", r": (?:line \d+: )?.{1,120}: (?:command )?not found$",
        _("The script calls a command that does not exist on the node."), _LOADED),
    _of("module_missing", r"(?:ModuleNotFoundError|ImportError): No module named",
        _("A Python package is not installed in the environment that ran."), _LOADED),
    _of("import_failed", r"^ImportError: |cannot import name '",
        _("A Python package is there, in a version that does not fit."),
        _("Compare the versions with those of a run that worked, or use a validated environment.")),
    _of("library_missing", r"error while loading shared libraries|cannot open shared object file|"
        r"GLIBC(?:XX)?_[\d.]+' not found",
        _("A library that the program needs is not on the node, or in another version."), _LOADED),
    _of("no_such_file", r"No such file or directory|FileNotFoundError|cannot stat ",
        _("A file or folder does not exist."), _PATH),
    _of("permission_denied", r"[Pp]ermission denied|PermissionError|EACCES",
        _("It was not allowed to read, write or run a file."), _RIGHTS),
    _of("read_only", r"Read-only file system|\[Errno 30\]",
        _("It wrote to a place that can only be read."),
        _("Write into the project's folder.")),
    _of("too_many_files", r"Too many open files|\[Errno 24\]",
        _("It had too many files open at once."),
        _("Close files after use, use fewer workers, or raise the limit in the script (ulimit -n).")),
    _of("time_limit", r"DUE TO TIME LIMIT", _("It reached its time limit."),
        _("Ask for more time, or save the state now and then and go on from it.")),
    _of("network", r"Temporary failure in name resolution|Name or service not known|Network is unreachable|"
        r"Max retries exceeded with url|Could not resolve host|ConnectionRefusedError",
        _("It could not reach another computer over the network."), _NETWORK),
    _of("syntax", r"^\s*(?:SyntaxError|IndentationError|TabError): |syntax error near unexpected token|"
        r"unexpected end of file|"
        r"syntax error: ",
        _("The script or program has a mistake in its spelling."),
        _("The line names where.")),
    _of("unbound", r": unbound variable$|NameError: name '|UnboundLocalError",
        _("It uses a variable that was never set."), _PYTHON),
    _of("arguments", r": error: (?:unrecognized arguments|the following arguments are required|argument )|"
        r"(?:unrecognized|invalid|illegal) option",
        _("A command was called with options it does not know, or without one it needs."),
        _("Look at the command's help (--help).")),
    _of("shapes", r"(?:size mismatch|shapes? .{0,60}(?:cannot be multiplied|not aligned|mismatch)|"
        r"must match the size of tensor)",
        _("Two arrays do not fit each other."), _PYTHON),
    _of("not_a_number", r"\bloss(?: is|[:=]) *(?:nan|inf)\b|FloatingPointError|Input contains NaN",
        _("The numbers went out of bounds (NaN or infinity)."),
        _("Lower the learning rate, check the data for missing values, or clip gradients.")),
    _of("segfault", r"Segmentation fault|core dumped|Illegal instruction",
        _("A program in it broke off by itself."),
        _("Often a library was built for another processor or driver. Try it in a validated environment.")),
    _of("program_error", r"^(?:KeyError|AttributeError|TypeError|ValueError|"
        r"IndexError|AssertionError|RuntimeError|ZeroDivisionError): ?",
        _("The program ended with an error of its own."), _PYTHON),
    _of("killed", r"^Killed$|: +\d+ Killed\b|signal 9|exitcode: -9|SIGKILL",
        _("A part of it was killed, most often for lack of memory."),
        _("Compare the memory it used with what it asked for, and ask for more.")),
)
# fmt: on
BY_KEY = {one.key: one for one in CATALOGUE}


def look(data: bytes) -> list[Shown]:
    """What these lines show, most telling kind first, three at the most; of a kind its last line."""
    found: dict[str, Shown] = {}
    for offset, line in _lines(data):
        one = _kind(line)
        if one is not None:
            found[one] = Shown(one, offset, line.decode("utf-8", "replace").strip()[:KEPT])
    order = list(BY_KEY)
    return sorted(found.values(), key=lambda shown: order.index(shown.key))[:AT_MOST]


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(offset, line); a progress bar's carriage returns are line ends of their own."""
    for match in re.finditer(rb"[^\r\n]+", data):
        yield match.start(), match.group()[:LONGEST]


def _kind(line: bytes) -> str | None:
    """The most telling kind that the line shows: one line is told once."""
    return next((one.key for one in CATALOGUE if one.shows.search(line)), None)


def told(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Kept findings ({key, stream, line, offset, text}) with sentence and hint; kinds no longer known are left out."""
    return [
        one | {"sentence": BY_KEY[one["key"]].sentence, "hint": BY_KEY[one["key"]].hint}
        for one in findings
        if one.get("key") in BY_KEY
    ]
