"""nginx, the one door, and Prometheus: loopback only, each as a user of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from stack import keys, shell
from stack.layout import Stack
from stack.service import Service
from stack.services.slurm import NODES

NGINX = "/srv/var/etc/nginx.conf"


def services(stack: Stack) -> list[Service]:
    return [_nginx(stack), _prometheus(stack)]


def _nginx(stack: Stack) -> Service:
    def prepare() -> None:
        access = "/dev/stdout" if stack.spread else _access_log()
        shell.render("nginx.conf", NGINX, {"listen": f"{stack.listen}:{stack.tcp('door')}", "access_log": access})

    return Service(
        name="nginx",
        argv=["nginx", "-e", "stderr", "-c", NGINX, "-g", "daemon off;"],
        user="bancada-nginx",
        sets=("door",),
        prepare=prepare,
        ready=lambda: shell.listens(stack.tcp("door")),
        port="door",
    )


def _access_log() -> str:
    path = Path("/srv/var/log/nginx-access.log")
    path.touch()
    path.chmod(0o600)  # it says who reads which job
    shutil.chown(path, "bancada-nginx")
    return str(path)


def _prometheus(stack: Stack) -> Service:
    folder, port = "/srv/var/prometheus", stack.tcp("prometheus")

    def prepare() -> None:
        door = {"door": f"{stack.host('nginx')}:{stack.tcp('door')}", "nodes": _nodes(stack)}
        shell.render("prometheus.yml", f"{folder}/prometheus.yml", door, user="bancada-prometheus")
        shell.render("prometheus-rules.yml", f"{folder}/rules.yml", {}, user="bancada-prometheus")
        hashed = _bcrypt(keys.word("prometheus"))
        web = f"basic_auth_users:\n  portal: {hashed}\n"
        shell.write(f"{folder}/web.yml", web, user="bancada-prometheus", mode=0o400)

    options = [
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.config.file={folder}/web.yml",
    ]
    return Service(
        name="prometheus",
        argv=[
            "prometheus",
            *options,
            f"--web.listen-address={stack.listen}:{port}",
            "--storage.tsdb.retention.time=15d",
            "--log.level=warn",
        ],
        user="bancada-prometheus",
        prepare=prepare,
        ready=lambda: shell.listens(port),
        port="prometheus",
    )


def _nodes(stack: Stack) -> str:
    """The agents, each with its node's name in Slurm."""
    names = {node: f"agent-{node}" for node in NODES}
    rows = [f'targets: ["{stack.host(n)}:{stack.tcp(n)}"], labels: {{ node: {node} }}' for node, n in names.items()]
    return "\n".join(f"      - {{ {row} }}" for row in rows)


def _bcrypt(word: str) -> str:
    """The form Prometheus wants. Python's own crypt is gone from 3.13 on; perl is on every Debian."""
    salt = shell.run(["openssl", "rand", "-hex", "11"]).strip()
    return shell.run(
        ["perl", "-e", 'chomp($w = <STDIN>); print crypt($w, "\\$2b\\$08\\$" . shift)', salt], text=word + "\n"
    )
