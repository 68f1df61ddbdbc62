"""Code from git: which addresses may be named, and what a job's line of shell really fetches from a server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.utils import translation

from jobs import code, services, wrapping
from jobs.models import Handover, Job
from jobs.services import attaching, handing, recalling, tickets
from jobs.services.importing import scripts
from jobs.specs import BadSpec
from portal.checks import git_prefixes
from slurm import fake
from slurm.sbatch import read
from storage.services.bringing import Sent
from tests.api import caller
from tests.jobs.conftest import RAW, Bench
from tests.jobs.git_server import git, repository, serving
from tests.pages import signed_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GOOD = f"https://git.example.org/lab/code.git@{COMMIT}"
LAB = ["https://git.example.org/lab"]


@pytest.fixture(autouse=True)
def in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


@pytest.mark.parametrize(
    "text",
    [
        f"ext::sh -c id@{COMMIT}", f"file:///srv/x@{COMMIT}", f"/srv/x@{COMMIT}", f"-u./x@{COMMIT}", "https://git.example.org/lab/x@main",
        f"git.example.org:lab/x@{COMMIT}", f"https://u:p@git.example.org/lab/x@{COMMIT}", f"https://git.example.org/lab/../x@{COMMIT}",
        f"https://git.example.org/lab//x@{COMMIT}", f"https://git.example.org/lab/x y@{COMMIT}", f"https://git.example.org/lab/$(id)@{COMMIT}",
        f"https://git.example.org/lab/x'@{COMMIT}", f"https://git.example.org/lab/x\n@{COMMIT}", f"https://git.example.org/lab/x@{COMMIT}\n",
        f"https://git.example.org/lab/x@{COMMIT[:-1]}", f"https://git.example.org/lab/x@{COMMIT.upper()}", f"https://-x/lab/x@{COMMIT}",
        f"https://git.example.org/lab/--upload-pack=id@{COMMIT}", f"https://git.example.org/lab/.hidden@{COMMIT}", f"git://h/x@{COMMIT}",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    assert code.parsed(text) is None
    with pytest.raises(ValueError):
        code.line("/srv/p", "j", text)


def test_prefixes_end_where_a_folder_ends() -> None:
    address = "https://git.example.org/lab/code.git"
    assert code.parsed(GOOD) == (address, COMMIT)
    assert code.allowed(address, ["https://git.example.org/lab"]) and code.allowed(
        address, ["https://git.example.org/"]
    )
    for other in (
        "https://git.example.org/la",
        "https://git.example.or",
        "ssh://git.example.org/lab",
        "https://git.example.org/lab/code",
    ):
        assert not code.allowed(address, [other])
    assert code.bad_prefixes(["https://git.example.org", "ssh://git@h/a/"]) == []
    assert code.bad_prefixes(["file:///srv", "https://", "ext::x", "*", ""]) == [
        "file:///srv",
        "https://",
        "ext::x",
        "*",
        "",
    ]


def test_a_setting_that_cannot_be_is_said_at_the_start(settings: LazySettings) -> None:
    settings.GIT_PREFIXES = ["file:///srv"]
    assert [one.id for one in git_prefixes()] == ["bancada.E003"]
    settings.GIT_PREFIXES = LAB
    assert git_prefixes() == []


def refused(bench: Bench, **changes: str) -> str:
    with pytest.raises(BadSpec) as bad:
        services.prepare(RAW | {"git": GOOD} | changes, project=bench.project)
    assert set(bad.value.errors) == {"git"}
    return bad.value.errors["git"][0]


def test_it_is_off_until_the_site_turns_it_on(bench: Bench, settings: LazySettings) -> None:
    assert "not turned it on" in refused(bench)
    form = f"/jobs/new?project={bench.project.code}"
    assert "Code from git" not in signed_in(bench.user).get(form, headers={"Accept-Language": "en"}).content.decode()
    settings.GIT_PREFIXES = LAB
    assert "Code from git" in signed_in(bench.user).get(form, headers={"Accept-Language": "en"}).content.decode()
    assert "begin with" in refused(bench, git=f"https://elsewhere.example/x@{COMMIT}")
    assert "40 digits" in refused(bench, git="https://git.example.org/lab/code.git@main")
    assert "folder of its own" in refused(bench, folder="runs/a")
    assert "for a shell" in refused(bench, script="#!/usr/bin/env python3\n")
    assert not Job.objects.exists()


def test_it_is_kept_with_the_job_and_sent(bench: Bench, cluster: fake.Cluster, settings: LazySettings) -> None:
    settings.GIT_PREFIXES = LAB
    body = {"project": bench.project.code, **RAW, "git": GOOD}
    answer = caller(bench.user).post("/jobs", body)
    assert answer.status_code == 201 and answer.json()["options"]["git"] == GOOD
    job = Job.objects.get()
    assert {one.key: one.value for one in recalling.told(job).lines}["option.git"] == GOOD
    handing.hand_over()
    sent = cluster.every_job[-1].asked
    second = sent.script.splitlines()[1]
    assert COMMIT in second and second.index("git init") < second.index("bancada 1")  # notes see what was fetched
    assert sent.working_directory == bench.project.folder
    assert tickets._start(Handover.objects.get()) == f"{bench.project.folder}/runs/git-{job.pk}"
    spec, allocation = services.prepare(RAW | {"git": GOOD}, project=bench.project)
    with pytest.raises(services.NotNow, match="either files or a git address"):
        attaching.submit(
            project=bench.project, spec=spec, allocation=allocation, by=bench.user, files=[Sent("a.py", 1, [b"x"])]
        )


def run(folder: Path, text: str, script: str = "#!/bin/bash\npwd\npython3 train.py\n", **more: str) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """As a node runs it, in the project's folder."""
    whole = wrapping.wrapped(script, f"{folder}/$n.notes", before=code.line(str(folder), "j1", text))
    (folder / "job.sh").write_text(whole)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **more}
    return subprocess.run(["/bin/bash", "job.sh"], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a project"
    folder.mkdir()
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    root = tmp_path / "served"
    root.mkdir()
    with serving(root) as address:
        yield root, address


def test_the_commit_and_nothing_else_is_fetched(project: Path, served: tuple[Path, str]) -> None:
    root, address = served
    first, second = repository(root)
    done = run(project, f"{address}/code.git@{first}")
    assert done.stdout == f"{project}/runs/git-j1\nversion 1\n", done.stderr
    assert git(project / "runs/git-j1", "rev-parse", "HEAD") == first
    assert second not in git(project / "runs/git-j1", "rev-list", "--all", "HEAD")
    (project / "runs/git-j1/checkpoint").write_text("x")
    again = run(project, f"{address}/code.git@{first}")  # as a requeue does: what was written is still there
    assert again.returncode == 0 and (project / "runs/git-j1/checkpoint").exists()
    task = run(project, f"{address}/code.git@{second}", SLURM_ARRAY_TASK_ID="7")
    assert task.stdout == f"{project}/runs/git-j1-7\nversion 2\n"


def test_what_cannot_be_fetched_ends_the_job_and_says_so(project: Path, served: tuple[Path, str]) -> None:
    root, address = served
    first, _second = repository(root)
    for text, said in (
        (f"{address}/code.git@{COMMIT}", f"git could not fetch {COMMIT}"),
        (f"{address}/none.git@{first}", "git could not fetch"),
        (f"{address}/moved/code.git@{first}", "git could not fetch"),  # a redirect leads out of what is allowed
    ):
        done = run(project, text)
        assert done.returncode == 1 and said in done.stderr and "version" not in done.stdout


def test_hooks_submodules_and_the_persons_settings_do_not_count(project: Path, served: tuple[Path, str]) -> None:
    root, address = served
    repository(root, "other.git")
    repository(root)
    work = root / "work-code.git"
    git(work, "submodule", "add", "-q", str(root / "other.git"), "sub")
    git(work, "commit", "-q", "-m", "A submodule.")
    git(work, "push", "-q", str(root / "code.git"), "main")
    commit = git(work, "rev-parse", "HEAD")
    hooks = project / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{project}/owned'\n")
        (hooks / name).chmod(0o755)
    (project / ".gitconfig").write_text(
        f"[core]\nhooksPath = {hooks}\n[submodule]\nrecurse = true\n[url \"file:///srv/\"]\ninsteadOf = {address}/\n"
    )  # fmt: skip
    done = run(project, f"{address}/code.git@{commit}")
    assert done.returncode == 0 and "version 2" in done.stdout, done.stderr
    assert not (project / "owned").exists() and not list((project / "runs/git-j1/sub").iterdir())


def test_a_link_in_place_of_the_folder_is_taken_away(project: Path, served: tuple[Path, str], tmp_path: Path) -> None:
    root, address = served
    first, _second = repository(root)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    (project / "runs").mkdir()
    (project / "runs/git-j1").symlink_to(elsewhere)
    assert run(project, f"{address}/code.git@{first}").returncode == 0
    assert [one.name for one in elsewhere.iterdir()] == ["kept"] and not (project / "runs/git-j1").is_symlink()


def test_a_script_says_it_and_an_import_reads_it() -> None:
    whole = scripts.to_script({"name": "x", "script": "#!/bin/bash\npython3 train.py\n", "git": GOOD})
    assert f'#BANCADA git="{GOOD}"' in whole.splitlines() and scripts.ours(read(whole)) == {"git": GOOD}
