"""The command: python3 -m stack up | down | status | logs | reset | start | stop | exec [--var DIR] [--port BASE]."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stack import control, layout, throwaway
from stack.fault import Fault

CHECKOUT = Path(__file__).resolve().parent.parent


def arguments() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--var", type=Path, default=CHECKOUT / "var", help="folder that holds everything of the stack")
    common.add_argument("--port", type=int, help=f"first of its TCP ports (default {layout.DEFAULT_PORT})")
    parser = argparse.ArgumentParser(prog="python3 -m stack", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    up = acts.add_parser("up", parents=[common], help="start, or start what is missing")
    up.add_argument("--only", type=lambda text: text.split(","), default=[], help="names, comma between; needs come along")
    for act in ("down", "status", "reset", "supervise", "postgres"):
        acts.add_parser(act, parents=[common])
    for act in ("start", "stop"):
        acts.add_parser(act, parents=[common]).add_argument("names", nargs="+")
    logs = acts.add_parser("logs", parents=[common])
    logs.add_argument("-f", "--follow", action="store_true")
    logs.add_argument("names", nargs="*")
    run = acts.add_parser("exec", parents=[common], help="run a command inside, as root or --user")
    run.add_argument("--user")
    run.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def act(args: argparse.Namespace) -> int:
    stack = layout.find(CHECKOUT, args.var, args.port)
    if args.act == "up":
        control.up(stack, args.only)
    elif args.act in ("start", "stop"):
        control.ask(stack, args.act, args.names, print)
    elif args.act in ("down", "reset"):
        getattr(control, args.act)(stack)
    elif args.act == "status":
        return control.status(stack)
    elif args.act == "logs":
        control.logs(stack, args.names, args.follow)
    elif args.act == "exec":
        control.execute(stack, args.command[args.command[:1] == ["--"] :], user=args.user)
    elif args.act == "postgres":
        print(throwaway.postgres(stack))
    elif args.act == "supervise":
        from stack import supervisor

        supervisor.serve(stack)
    return 0


def main() -> int:
    try:
        return act(arguments().parse_args())
    except Fault as fault:
        print(f"stack: {fault}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
