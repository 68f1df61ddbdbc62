"""Slurm, whole: munge, MariaDB, slurmdbd, slurmctld, four slurmd with placeholder GPUs, slurmrestd."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from stack import seed_slurm, shell
from stack.layout import INSIDE_CHECKOUT, Stack
from stack.service import Service

CONF = Path("/srv/var/slurm/slurm.conf")
MUNGE = "/srv/var/run/munge/munge.sock"
MARIADB = "/srv/var/run/mariadb/mariadb.sock"
MARIADB_INIT = "/srv/var/mariadb/init.sql"
MARIADB_TEMPORARY = "/srv/var/mariadb/tmp"
"""A server that starts removes every #sql* of its temporary folder: in a shared /tmp also those of another stack."""
REST = "/srv/var/run/slurmrestd/rest.sock"
ENV = {"SLURM_CONF": str(CONF)}
OWNER = "bancada-slurmctld"
# node -> kind and number of its placeholder GPUs
NODES = {"gpu01": ("a100", 4), "gpu02": ("a100", 4), "big01": ("h100", 8), "prep01": ("", 0)}


def services(stack: Stack) -> list[Service]:
    listed = [_munge(), _mariadb(), _slurmdbd(stack), _slurmctld(stack), *(_slurmd(stack, node) for node in NODES)]
    return [*listed, _slurmrestd()]


def _munge() -> Service:
    argv = ["munged", "--foreground", f"--socket={MUNGE}", "--key-file=/srv/var/munge/key"]
    argv += ["--pid-file=/srv/var/munge/pid", "--seed-file=/srv/var/munge/seed", "--log-file=/srv/var/munge/log"]
    return Service(
        name="munge",
        argv=[*argv, "--num-threads=2"],
        user="bancada-munge",
        sets=("slurm",),
        prepare=_munge_key,
        ready=lambda: shell.works(["munge", "-n", f"--socket={MUNGE}"]),
    )


def _munge_key() -> None:
    key = Path("/srv/var/munge/key")
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
    shutil.chown(key, "bancada-munge", "bancada-munge")


def _mariadb() -> Service:
    argv = ["mariadbd", "--no-defaults", "--datadir=/srv/var/mariadb/data", f"--socket={MARIADB}", "--skip-networking"]
    argv += ["--pid-file=/srv/var/mariadb/pid", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"]
    argv += [f"--init-file={MARIADB_INIT}", f"--tmpdir={MARIADB_TEMPORARY}"]
    return Service(
        name="mariadb",
        argv=[*argv, "--innodb-log-file-size=64M", "--performance-schema=OFF", "--skip-log-bin"],
        user="bancada-mariadb",
        sets=("slurm",),
        prepare=_mariadb_data,
        ready=lambda: shell.works(["mariadb-admin", "--no-defaults", f"--socket={MARIADB}", "ping"]),
        grace=30,
    )


def _mariadb_data() -> None:
    data = Path("/srv/var/mariadb/data")
    if not (data / "mysql" / "global_priv.frm").exists():
        shutil.rmtree(data, ignore_errors=True)
        argv = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", "--skip-name-resolve"]
        argv += ["--auth-root-authentication-method=socket", "--auth-root-socket-user=root"]
        argv += [f"--tmpdir={MARIADB_TEMPORARY}"]
        shell.run(argv, user="bancada-mariadb")
    # run at every start, before it answers anybody; slurmdbd's account: the kernel says who asks, no password
    statements = f"""CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS '{OWNER}'@'localhost' IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO '{OWNER}'@'localhost';
"""
    shell.write(MARIADB_INIT, statements, user="bancada-mariadb", mode=0o600)


def _slurmdbd(stack: Stack) -> Service:
    def prepare() -> None:
        values = {"port": stack.tcp("slurmdbd"), "munge": MUNGE, "owner": OWNER, "address": stack.host("slurmdbd")}
        values["host"] = "slurmdbd" if stack.spread else "localhost"
        values["communication"] = _loopback(stack, "NoInAddrAny")
        shell.render("slurmdbd.conf", CONF.with_name("slurmdbd.conf"), values, user=OWNER, mode=0o600)
        configure(stack)

    return Service(
        name="slurmdbd",
        argv=["slurmdbd", "-D"],
        user=OWNER,
        after=("munge", "mariadb"),
        sets=("slurm",),
        env={**ENV, "MYSQL_UNIX_PORT": MARIADB},
        prepare=prepare,
        ready=lambda: shell.listens(stack.tcp("slurmdbd")),
        finish=seed_slurm.cluster,
        port="slurmdbd",
        patience=60,
        grace=20,
    )


def configure(stack: Stack) -> None:
    """slurm.conf and what stands beside it."""
    values: dict[str, object] = {"munge": MUNGE, "owner": OWNER, **{node: _where(stack, node) for node in NODES}}
    values |= {"port": stack.tcp("slurmctld"), "dbd_port": stack.tcp("slurmdbd"), "dbd_host": stack.host("slurmdbd")}
    values["controller"] = "slurmctld" if stack.spread else f"{os.uname().nodename}(127.0.0.1)"
    values["communication"] = _loopback(stack, "NoInAddrAny,NoCtldInAddrAny")
    shell.render("slurm.conf", CONF, values)
    if release() >= (23, 2):  # before, the plugin cannot be switched off, and nothing loads it
        shell.write(CONF.with_name("cgroup.conf"), "CgroupPlugin=disabled\n")
    shell.write(CONF.with_name("gres.conf"), "".join(_gres(node) for node in NODES))
    shutil.copyfile(INSIDE_CHECKOUT / "contrib" / "job_submit.lua", CONF.with_name("job_submit.lua"))


def _where(stack: Stack, node: str) -> str:
    host = node if stack.spread else os.uname().nodename
    return f"NodeHostname={host} NodeAddr={stack.host(node)} Port={stack.tcp(node)}"


def _loopback(stack: Stack, words: str) -> str:
    """On one machine, listen on the named address only; in a container of its own, on all of its networks."""
    return "" if stack.spread else f"CommunicationParameters={words}"


def release() -> tuple[int, int]:
    """Slurm's release on this machine: (22, 5)."""
    year, month = shell.run(["slurmctld", "-V"]).split()[-1].split(".")[:2]
    return int(year), int(month)


def _gres(node: str) -> str:
    kind, count = NODES[node]
    for number in range(count):
        _placeholder(Path(f"/srv/var/slurm/gpus/{node}-{number}"))
    return f"NodeName={node} Name=gpu Type={kind} File=/srv/var/slurm/gpus/{node}-[0-{count - 1}]\n" if count else ""


def _placeholder(path: Path) -> None:
    """What stands for a GPU: a device file that is another /dev/null, where the machine lets us make one."""
    if not path.exists():
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            path.touch()


def _slurmctld(stack: Stack) -> Service:
    return Service(
        name="slurmctld",
        argv=["slurmctld", "-D", "-f", str(CONF)],
        user=OWNER,
        after=("slurmdbd",),
        sets=("slurm",),
        env=ENV,
        ready=lambda: shell.works(["scontrol", "ping"], env=ENV),
        port="slurmctld",
        grace=20,
    )


def _slurmd(stack: Stack, node: str) -> Service:
    def ready() -> bool:
        """It answers: drained by an operator is as good as idle, "idle*" and "down" are not."""
        state = shell.run(["sinfo", "-h", "-n", node, "-o", "%t"], env=ENV).split()[:1]
        return bool(state) and not state[0].endswith("*") and state[0] not in ("down", "unk", "fail")

    return Service(
        name=f"slurmd-{node}",
        argv=["slurmd", "-D", "-N", node, "-f", str(CONF)],
        after=("slurmctld",),
        sets=("slurm", "slurmd"),
        env=ENV,
        prepare=lambda: Path(f"/srv/var/slurm/spool/{node}").mkdir(mode=0o755, exist_ok=True),
        ready=ready,
        port=node,
    )


def _slurmrestd() -> Service:
    return Service(
        name="slurmrestd",
        argv=["slurmrestd", "-f", str(CONF), "-a", "rest_auth/jwt", f"unix:{REST}"],
        user="bancada-slurmrestd",
        after=("slurmctld",),
        sets=("slurm",),
        env={**ENV, "SLURM_JWT": "daemon"},
        prepare=lambda: Path(REST).unlink(missing_ok=True),
        ready=lambda: shell.listens(REST),
    )
