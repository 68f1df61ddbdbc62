"""The script that builds an environment, run for real and without a network, and what is read of its output."""

from __future__ import annotations

import base64
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from presets import building

WHEEL = "hello_bancada-1.0-py3-none-any.whl"
HOSTILE = "# $(touch owned) `touch owned`\nBANCADA_DATA\n'; touch owned #\n\"; touch owned\n"


def run(folder: Path, text: str, **more: str) -> subprocess.CompletedProcess[str]:
    facts = {"title": "seg/torch@1", "name": "torch", "kind": building.PIP} | more
    whole = building.script(number=1, text=text, **facts)
    (folder / "build.sh").write_text(whole)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        ["/bin/bash", "build.sh"], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def wheel(folder: Path) -> None:
    info = "hello_bancada-1.0.dist-info"
    with zipfile.ZipFile(folder / WHEEL, "w") as file:
        file.writestr("hello_bancada.py", "print('hello from the wheel')\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: hello-bancada\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: us\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


def test_a_local_wheel_is_built_locked_and_used(tmp_path: Path) -> None:
    wheel(tmp_path)
    done = run(tmp_path, f"--no-index\n./{WHEEL}\n")
    assert done.returncode == 0, done.stderr
    found = building.read(done.stdout)
    assert found is not None and found.size > 100_000 and found.python.startswith("3.")
    place = tmp_path / building.folder_of("torch", 1)
    assert found.lock == (place / "bancada.lock").read_text()
    assert "hello-bancada" in [name for name, _version in building.packages(found.lock)]
    line = building.line("seg/torch@1", str(place), building.PIP)
    said = subprocess.run(["/bin/sh", "-c", f"{line}; python -c 'import hello_bancada'"], capture_output=True, text=True, check=True)  # fmt: skip
    assert said.stdout == "hello from the wheel\n"


def test_text_is_data_whatever_is_in_it(tmp_path: Path) -> None:
    done = run(tmp_path, f"--no-index\n{HOSTILE}")
    assert done.returncode == 1 and not list(tmp_path.glob("**/owned"))
    assert "pip could not install what was asked for" in done.stderr
    assert not (tmp_path / building.folder_of("torch", 1)).exists()  # nothing half-built stays
    assert building.read(done.stdout) is None


@pytest.mark.parametrize("text", ["", HOSTILE, "numpy==2.1.0\n" * 500])
def test_no_byte_of_the_text_stands_in_the_script(text: str) -> None:
    whole = building.script(title="seg/a@1", name="aa", number=1, kind=building.PIP, text=text)
    data = whole.partition("<<'BANCADA_DATA'\n")[2].partition("\nBANCADA_DATA\n")[0]
    assert base64.b64decode(data).decode() == text
    assert max(map(len, data.splitlines() or [""])) <= 100
    subprocess.run(["/bin/bash", "-n"], input=whole, text=True, check=True)


def test_what_is_not_on_the_node_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(tmp_path, "", python="3.99")
    assert done.returncode == 1 and "python3.99 is not on this node" in done.stderr
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = run(tmp_path, "dependencies: []\n", kind=building.CONDA)
    assert done.returncode == 1 and "neither micromamba nor conda is on this node" in done.stderr
    assert not list((tmp_path / "environments").iterdir())


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    place = tmp_path / building.folder_of("torch", 1)
    place.mkdir(parents=True)
    (place / "mine").write_text("x")
    done = run(tmp_path, "")
    assert done.returncode == 1 and "is there already" in done.stderr and (place / "mine").exists()


def test_conda_gives_an_explicit_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a micromamba of the test's own that makes what the real one does."""
    tool = tmp_path / "bin" / "micromamba"
    tool.parent.mkdir()
    tool.write_text(
        '#!/bin/sh\nif [ "$1" = create ]; then mkdir -p "$4/bin"; cp "$6" "$4/asked"; exit; fi\n'
        "echo '@EXPLICIT'; echo https://conda.example/linux-64/zlib-1.3-h1.conda\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    done = run(tmp_path, "dependencies: [zlib]\n", kind=building.CONDA)
    assert done.returncode == 0, done.stderr
    found = building.read(done.stdout)
    assert found is not None and building.packages(found.lock)[0][0] == "zlib"
    assert (tmp_path / building.folder_of("torch", 1) / "asked").read_text() == "dependencies: [zlib]\n"


def test_only_the_last_whole_block_counts() -> None:
    block = f"{building.BEGIN}\npython 3.11.2\nbytes 10\nlock a==1\n{building.END}\n"
    found = building.read(f"pip says\n{block.replace('a==1', 'b==2')}{block}")
    assert found is not None and found.lock == "a==1\n" and (found.size, found.python) == (10, "3.11.2")
    assert building.read(block.replace(building.END, "")) is None
    assert building.read("") is None


def test_an_environment_that_is_gone_ends_the_job(tmp_path: Path) -> None:
    line = building.line("seg/torch@1", str(tmp_path / "it's gone"), building.PIP)
    done = subprocess.run(["/bin/sh", "-c", f"{line}; echo went on"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "" and "seg/torch@1 is not there any more" in done.stderr
