"""The command: python3 -m stack up | down | status | logs | exec | manage | ... [--var DIR] [--port BASE]."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from stack import control, frontend, layout, manage, packages, story, supervisor, throwaway
from stack.fault import Fault
from stack.layout import Stack

CHECKOUT = Path(__file__).resolve().parent.parent
ROOTLESS = {"frontend"}
ACTS: dict[str, Callable[[Stack, argparse.Namespace], int | None]] = {
    "up": lambda stack, args: story.up(stack, args.only),
    "down": lambda stack, args: control.down(stack),
    "reset": lambda stack, args: control.reset(stack),
    "status": lambda stack, args: control.status(stack),
    "logs": lambda stack, args: control.logs(stack, args.names, args.follow),
    "start": lambda stack, args: control.ask(stack, "start", args.names, print),
    "stop": lambda stack, args: control.ask(stack, "stop", args.names, print),
    "restart": lambda stack, args: control.restart(stack, args.names),
    "exec": lambda stack, args: control.execute(stack, _plain(args.command), user=args.user),
    "manage": lambda stack, args: manage.become(stack, _plain(args.command), args.user),
    "postgres": lambda stack, args: print(throwaway.postgres(stack)),
    "install": lambda stack, args: packages.install(args.packages or packages.STACK),
    "frontend": lambda stack, args: frontend.build(CHECKOUT),
    "supervise": lambda stack, args: supervisor.serve(stack),
}


def arguments() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--var", type=Path, default=CHECKOUT / "var", help="folder that holds everything of the stack")
    common.add_argument("--port", type=int, help=f"first of its ten TCP ports (default {layout.DEFAULT_PORT})")
    parser = argparse.ArgumentParser(prog="python3 -m stack", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
    _plain_acts(acts, common)
    up = acts.add_parser("up", parents=[common], help="start all, or what is missing")
    up.add_argument(
        "--only", type=lambda text: text.split(","), default=[], help="names, comma between; needs come along"
    )
    for name in ("up", "supervise"):
        acts.choices[name].add_argument(
            "--env", action="append", default=[], metavar="NAME=VALUE", type=_setting, help="a setting of the portal"
        )
    logs = acts.add_parser("logs", parents=[common], help="the last lines of these logs, or of all")
    logs.add_argument("-f", "--follow", action="store_true")
    logs.add_argument("names", nargs="*")
    for act, text in (("exec", "run a command inside, as root or --user NAME"), ("manage", "manage.py against it")):
        run = acts.add_parser(act, parents=[common], help=text)
        run.add_argument("--user", help="a name inside; for manage without its bancada-")
        run.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def _plain_acts(acts: argparse._SubParsersAction[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    """Acts without options of their own."""
    for act, text in (
        ("down", "stop all that it started"),
        ("status", "one line a process"),
        ("reset", "down, and throw var away"),
        ("postgres", "a PostgreSQL for unit tests; prints its address"),
        ("frontend", "npm packages and the bundle under static/vendor"),
        ("supervise", "used by up"),
    ):
        acts.add_parser(act, parents=[common], help=text)
    for act in ("start", "stop", "restart"):
        acts.add_parser(act, parents=[common], help=f"{act} these services").add_argument("names", nargs="+")
    install = acts.add_parser("install", parents=[common], help="install the Debian packages, starting nothing")
    install.add_argument("packages", nargs="*")


def _setting(text: str) -> str:
    """NAME=VALUE, as a setting of docs/operate.md is written."""
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*=.*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text


def _plain(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words


def become_root() -> None:
    """Start again with sudo; without sudo the acts themselves say what they need root for."""
    if os.geteuid() != 0 and shutil.which("sudo"):
        again = ["sudo", "env", f"PYTHONPATH={CHECKOUT}", layout.PYTHON, "-m", "stack", *sys.argv[1:]]
        os.execvp(again[0], again)
    if os.geteuid() != 0:
        raise Fault("The stack needs root to give each service a user of its own: run it as root or install sudo.")


def main() -> int:
    args = arguments().parse_args()
    try:
        if args.act not in ROOTLESS:
            become_root()
        os.umask(0o022)
        stack: Stack = layout.find(CHECKOUT, args.var, args.port, getattr(args, "env", ()))
        return ACTS[args.act](stack, args) or 0
    except Fault as fault:
        sys.stdout.flush()
        print(f"stack: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
