"""What an output shows of why its script failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from jobs import failures

LINES = {
    "dos_lines": "/bin/bash^M: bad interpreter: No such file or directory",
    "bad_interpreter": "/usr/bin/env: 'pyton3': No such file or directory",
    "gpu_memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
    "out_of_memory": "slurmstepd: error: Detected 1 oom_kill event in StepId=12.batch.",
    "no_gpu": "RuntimeError: No CUDA GPUs are available",
    "gpu_driver": "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "gpu_fault": "RuntimeError: CUDA error: an illegal memory access was encountered",
    "nccl_timeout": "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8)",
    "rendezvous": "RuntimeError: The server socket has failed to bind: errno: 98 - Address already in use",
    "disk_full": "OSError: [Errno 28] No space left on device: 'checkpoint.pt'",
    "quota": "cp: error writing 'out.bin': Disk quota exceeded",
    "shared_memory": "RuntimeError: unable to write to file </torch_12_1>: insufficient shared memory (shm)",
    "module_command": 'Lmod has detected the following error: The following module(s) are unknown: "cuda/99"',
    "conda": "EnvironmentNameNotFound: Could not find conda environment: treino",
    "command_missing": "/var/spool/slurm_script: line 7: pyton: command not found",
    "module_missing": "ModuleNotFoundError: No module named 'torch'",
    "import_failed": "ImportError: cannot import name 'soft_unicode' from 'markupsafe'",
    "library_missing": "./treina: error while loading shared libraries: libcudart.so.12: cannot open shared object file",
    "no_such_file": "python3: can't open file '/srv/x/treina.py': [Errno 2] No such file or directory",
    "permission_denied": "bash: ./treina.sh: Permission denied",
    "read_only": "OSError: [Errno 30] Read-only file system: '/opt/x'",
    "too_many_files": "OSError: [Errno 24] Too many open files",
    "time_limit": "slurmstepd: error: *** JOB 12 ON gpu01 CANCELLED AT 2026-12-02T10:00:00 DUE TO TIME LIMIT ***",
    "network": "requests.exceptions.ConnectionError: Max retries exceeded with url: /resolve",
    "syntax": "SyntaxError: invalid syntax",
    "unbound": "job.sh: line 3: DADOS: unbound variable",
    "arguments": "treina.py: error: unrecognized arguments: --epocs",
    "shapes": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x10 and 20x5)",
    "not_a_number": "epoch 3 loss=nan",
    "segfault": "slurm_script: line 4:   123 Segmentation fault      ./treina",
    "program_error": "ValueError: could not convert string to float: 'x'",
    "killed": "/var/spool/slurm_script: line 9: 1234 Killed                  python3 treina.py",
}


@pytest.mark.parametrize("key", failures.BY_KEY)
def test_each_kind_is_known_by_a_line(key: str) -> None:
    data = f"epoch 1\n{LINES[key]}\nlast line\n".encode()
    shown = failures.look(data)
    assert [one.key for one in shown] == [key]
    assert data[shown[0].offset :].startswith(LINES[key].encode())
    assert shown[0].text == LINES[key][: failures.KEPT]


def test_there_are_thirty_and_each_has_words() -> None:
    assert len(failures.CATALOGUE) >= 30
    assert all(str(one.sentence) and str(one.hint) for one in failures.CATALOGUE)


def test_the_most_telling_kind_is_told_first_and_three_at_most() -> None:
    data = "\n".join([LINES["program_error"], LINES["no_such_file"], LINES["gpu_memory"], LINES["killed"]]).encode()
    assert [one.key for one in failures.look(data)] == ["gpu_memory", "no_such_file", "program_error"]


def test_of_a_kind_the_last_line_counts_and_progress_bars_are_lines() -> None:
    data = b"\r10%\rKilled\r\nx\nKilled"
    assert [(one.key, one.offset) for one in failures.look(data)] == [("killed", data.rindex(b"Killed"))]


def test_an_ordinary_output_shows_nothing() -> None:
    assert failures.look(b"epoch 1 loss 0.5\nsaved model.pt\ndone\n") == []


@given(some.binary(max_size=2000))
def test_any_bytes_can_be_looked_at(data: bytes) -> None:
    assert len(failures.look(data)) <= failures.AT_MOST


def test_a_very_long_line_takes_no_time() -> None:
    assert failures.look(b"x: " * 400_000) == []
