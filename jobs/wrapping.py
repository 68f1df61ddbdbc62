"""The line put into a job's script at the hand-over: it writes down on the node what the job runs on. Pure text.

It stands before the script's second line, in the same line, so that line numbers in messages stay what they are; it
runs in a process of its own, bounded in time and size, with no input and no output, and its failure is nobody's.
"""

from __future__ import annotations

import re
import shlex

SECONDS = 15  # the whole of it at the most; typically less than one
MOST = 256 * 1024  # bytes of the file
SHELL = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(?:ba|da|z|k|)sh(?:\s+-\S+)*\s*")
FOLDER = re.compile(r"^\s*cd\s+([\"']?)([A-Za-z0-9_./~@%+-]+)\1\s*(?:$|[;&|#])", re.M)

# No single quote may stand in these: they are the one argument of sh -c.
_WRITES = (
    'p() { printf "%s %s\\n" "$1" "$2"; }',
    "p bancada 1",
    'p time "$(date -u +%Y-%m-%dT%H:%M:%SZ)"',
    'p host "$(uname -n)"',
    'p kernel "$(uname -sr)"',
    'p os "$(. /etc/os-release; printf %s "$PRETTY_NAME")"',
    'p cpu "$(grep -m1 "^model name" /proc/cpuinfo | cut -d: -f2)"',
    "timeout 5 nvidia-smi --query-gpu=index,name,uuid,driver_version,memory.total --format=csv,noheader,nounits"
    ' | head -n 64 | sed "s/^/gpu /"',
    "for v in LOADEDMODULES CONDA_DEFAULT_ENV CONDA_PREFIX VIRTUAL_ENV CUDA_VISIBLE_DEVICES SLURM_JOB_NODELIST"
    ' SLURM_CPUS_ON_NODE SLURM_JOB_GPUS; do eval "x=\\${$v-}"; [ -z "$x" ] || p var "$v=$x"; done',
    'env | grep -i "^[A-Z_]*SEED[A-Z_]*=" | head -n 20 | sed "s/^/var /"',
    "timeout 8 python3 -c"
    ' "import importlib.metadata as m, sys; print(\\"python\\", sys.version.split()[0], sys.executable);'
    ' [print(\\"package\\", d.metadata[\\"Name\\"], d.version) for d in list(m.distributions())[:400]]"',
    '[ ! -f metrics.jsonl ] || p metrics "$(wc -c <metrics.jsonl)"',
    'g() { cd "$1" || return 0; d=$(git rev-parse --show-toplevel) ||'
    ' { [ ! -r .git/HEAD ] || { p git "$PWD"; p head "$(head -c 200 .git/HEAD)"; }; return 0; };'
    ' p git "$d"; p commit "$(git rev-parse HEAD)"; p branch "$(git rev-parse --abbrev-ref HEAD)";'
    ' git status --porcelain | head -n 200 | sed "s/^/dirty /";'
    ' timeout 5 git diff --no-ext-diff --no-textconv HEAD | head -c 65536 | sed "s/^/|/"; }',
    'export GIT_OPTIONAL_LOCKS=0; for d in "$@"; do ( g "$d" ); done',
    "p end 1",
)
_FIRST_TASK = '[ "${SLURM_ARRAY_TASK_ID-}" = "${SLURM_ARRAY_TASK_MIN-}" ]'


def is_shell(script: str) -> bool:
    """Whether the script's first line names a shell: into others nothing can be written."""
    return SHELL.fullmatch(script.split("\n", 1)[0]) is not None


def notes_path(folder: str, job: object) -> str:
    """Where the notes lie: "$n" is the job's number in Slurm, of an array the array's."""
    return f"{folder}/logs/{job}-$n.notes"


def metrics_path(folder: str, job: object) -> str:
    """Where a job may write its curves, one JSON object a line; it is told so by BANCADA_METRICS."""
    return f"{folder}/logs/{job}-metrics.jsonl"


def wrapped(script: str, path: str, then: str = "", before: str = "") -> str:
    """The script with the line that writes notes to `path` (as notes_path gives it), shell to run `before` that and
    some to run `then`; what is no shell's comes back as it is."""
    first, end, rest = script.partition("\n")
    if not end or not is_shell(script):
        return script
    parts = (before, _preamble(path, folders(script)), then)
    return f"{first}\n{''.join(f'{part}; ' for part in parts if part)}{rest}"


def folders(script: str) -> list[str]:
    """Where a repository is looked for: the working directory, and where the script goes first."""
    match = FOLDER.search(script)
    return [".", *([match[2]] if match else [])]


def _preamble(path: str, where: list[str]) -> str:
    writes = "; ".join(_WRITES)
    target, _, tail = path.partition("$n")
    into = f'{shlex.quote(target)}"${{SLURM_ARRAY_JOB_ID:-${{SLURM_JOB_ID-}}}}"{shlex.quote(tail)}'
    places = " ".join(shlex.quote(place) for place in where)
    run = f"timeout -k 1 {SECONDS} sh -c '{writes}' bancada {places} </dev/null 2>/dev/null"
    return f"{{ {_FIRST_TASK} && ( umask 077; {run} | head -c {MOST} > {into}; ) ; }} >/dev/null 2>&1 || :"
