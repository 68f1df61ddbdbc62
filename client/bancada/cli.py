"""The `bancada` command: verbs close to Slurm's own."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bancada import asking, files, keeping, show
from bancada.api import Portal, Trouble
from bancada.follow import exit_code, follow, wait
from bancada.terminal import Output, dumped

_NARROWS = ("project", "state", "owner", "gpu_type", "text", "since", "until")


def main(arguments: Sequence[str] | None = None, portal: Portal | None = None) -> int:
    """Run one verb; the exit status is 0, the job's own, 1 for the portal's refusal, 2 for a wrong command line."""
    options = _parser().parse_args(arguments)
    try:
        if options.run is _login:
            return _login(options)
        return int(options.run(portal or _portal(), options) or 0)
    except Trouble as trouble:
        _say(show.plain(trouble))
        for field, messages in trouble.errors.items():
            _say(f"  {show.plain(field)}: {show.plain(messages)}")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _portal() -> Portal:
    url, token = keeping.known()
    return Portal(url, token, language=_language())


def _login(options: argparse.Namespace) -> int:
    """The token is typed where nobody sees it, tried, and kept."""
    token = getpass.getpass("Token (from the portal's page of sessions and tokens): ").strip()
    me = Portal(options.url, token, language=_language()).get("/me")
    path = keeping.keep(options.url, token)
    _print(options, me, f"{show.me(me)}\n{path}")
    return 0


def _language() -> str:
    """The terminal's language as HTTP writes it; empty where it has none, and the person's own counts."""
    told = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    name = told.split(".")[0].split("@")[0].replace("_", "-")
    return name if name.replace("-", "").isalpha() and name.upper() not in ("C", "POSIX") else ""


def _say(line: str) -> None:
    sys.stderr.write(f"bancada: {line}\n")


def _print(options: argparse.Namespace, answer: Any, text: str) -> None:
    sys.stdout.write((dumped(answer) if options.json else text) + "\n")


def _whoami(portal: Portal, options: argparse.Namespace) -> None:
    answer = portal.get("/me")
    _print(options, answer, show.me(answer))


def _cluster(portal: Portal, options: argparse.Namespace) -> None:
    answer = portal.get("/cluster")
    _print(options, answer, show.cluster(answer))


def _jobs(portal: Portal, options: argparse.Namespace) -> None:
    mine = None if options.all or options.owner else "true"
    wanted = {name: getattr(options, name) for name in _NARROWS}
    rows = list(portal.pages("/jobs", options.limit, mine=mine, **wanted))
    _print(options, rows, show.jobs(rows))


def _job(portal: Portal, options: argparse.Namespace) -> None:
    answer = portal.job(options.job)
    _print(options, answer, show.job(answer))


def _why(portal: Portal, options: argparse.Namespace) -> None:
    answer = portal.job(options.job)
    why = portal.get(f"/jobs/{answer['id']}/why")
    _print(options, {"job": answer, "why": why}, show.why(answer, why))


def _report(portal: Portal, options: argparse.Namespace) -> None:
    answer = portal.job(options.job)
    gpus = portal.get(f"/jobs/{answer['id']}/gpus/summary") if answer["gpus"] or answer["ended_at"] else None
    after = portal.get(f"/jobs/{answer['id']}/report") if answer["ended_at"] else None
    _print(options, {"job": answer, "gpus": gpus, "after": after}, show.report(answer, gpus, after))


def _allocations(portal: Portal, options: argparse.Namespace) -> None:
    rows = portal.get(f"/projects/{quote(options.project, safe='')}/allocations")
    _print(options, rows, show.allocations(rows))


def _cancel(portal: Portal, options: argparse.Namespace) -> None:
    answer = portal.cancel(options.job)
    _print(options, answer, "Cancellation asked for.")


def _tasks(portal: Portal, options: argparse.Namespace) -> None:
    job_id = portal.job_id(options.job)
    if options.rerun_failed:
        made = portal.act_on_tasks(job_id, act="rerun")
        return _print(options, made, str(made["made"]))
    if options.at_once is not None:
        return _print(options, portal.act_on_tasks(job_id, act="throttle", number=options.at_once), "Asked for.")
    if options.end:
        ended = portal.act_on_tasks(job_id, act="end", tasks=options.end)
        return _print(options, ended, f"End asked for of {len(ended['tasks'])}.")
    answer = portal.get(f"/jobs/{job_id}/tasks", sort=("-" if options.reverse else "") + options.sort)
    return _print(options, answer, show.tasks(answer))


def _submit(portal: Portal, options: argparse.Namespace) -> int:
    if options.fetch and not (options.attach or options.folder or options.folder_of or options.git):
        raise Trouble("What comes back is the job's own folder: say --attach, --folder or --git, too.")
    request = asking.request(portal, options, _say)
    if options.folder_of:
        request["folder"] = asking.folder_of(portal, options.folder_of)
    if options.attach:
        request["folder"] = files.attach(portal, options.project, options.attach, str(request["name"]), _say)
    with files.kept_by_a_job(portal, options.project, str(request["folder"]) if options.attach else ""):
        answer = portal.submit(request)
    _print(options, answer, f"{answer['id']}\n{answer['url']}")
    sys.stdout.flush()
    if not (options.follow or options.wait or options.fetch):
        return 0
    job = _follow(portal, answer["id"], "stdout") if options.follow else wait(portal, answer["id"])
    _say(f"{job['name']}: {job['state_label']}")
    if options.fetch:
        files.get_folder(portal, files.Place(options.project, _folder(request, answer)), Path(options.fetch))
    return exit_code(job)


def _folder(request: dict[str, Any], answer: dict[str, Any]) -> str:
    """The job's own, from the project's folder on; what git fetched lies in one named after the job."""
    return str(request.get("folder") or f"runs/git-{answer['id']}")


def _ls(portal: Portal, options: argparse.Namespace) -> None:
    rows = files.ls(portal, options)
    _print(options, rows, show.entries(rows))


def _cp(portal: Portal, options: argparse.Namespace) -> None:
    files.cp(portal, options, _say)


def _log(portal: Portal, options: argparse.Namespace) -> int:
    job_id, task = portal.task_of(options.job)
    if options.follow:
        _follow(portal, job_id, options.stream, task)
        return 0
    offset, generation = -options.tail if options.tail else 0, ""
    with Output() as output:
        while True:
            piece = portal.log(job_id, options.stream, offset, generation, task)
            if piece.state != "open":
                many = task is None and portal.job(job_id)["task_counts"]
                hint = " Each task has an output of its own: put _ and its number behind the job." if many else ""
                raise Trouble(f"There is no output to read: {piece.state}.{hint}")
            output.write(piece.data)
            offset, generation = piece.offset + len(piece.data), piece.generation
            if not piece.data or offset >= piece.size:
                return 0


def _follow(portal: Portal, job_id: str, stream: str, task: int | None = None) -> dict[str, Any]:
    with Output() as output:
        return follow(portal, job_id, stream, output.write, _say, task)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bancada", description="Ask for GPU jobs and follow them.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print what the API answered")
    one = argparse.ArgumentParser(add_help=False, parents=[common])
    one.add_argument("job", help="the job's id, or its number in Slurm; of an array one task is 4711_3")

    def verb(name: str, run: Any, about: str, parent: argparse.ArgumentParser = common) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=about, description=about, parents=[parent])
        added.set_defaults(run=run)
        return added

    verb("whoami", _whoami, "Who the portal takes you for.")
    verb("login", _login, "Keep the address and a token for the next time.").add_argument("url", help="https://…")
    verb("cluster", _cluster, "Partitions and what is free in them.")
    verb("job", _job, "One job.", one)
    verb("why", _why, "Why a job waits, or how it ended.", one)
    verb("report", _report, "What a job asked for and what it used.", one)
    allocations = verb("allocations", _allocations, "What is left of a project's allocations.")
    allocations.add_argument("-p", "--project", required=True, help="code of the project")
    verb("cancel", _cancel, "Ask for a job's end.", one)
    _tasks_options(verb("tasks", _tasks, "The tasks of an array, and what is done to some of them.", one))
    verb("ls", _ls, "What lies in a project's folder.").add_argument("place", help="project:path")
    copy = verb("cp", _cp, "Copy files into a project's folder, or out of it.")
    copy.add_argument("source", nargs="+", help="a path here, or project:path")
    copy.add_argument("target", help="a folder of the other side")
    copy.add_argument("-r", "--recursive", action="store_true", help="folders with all in them")
    copy.add_argument("-f", "--force", action="store_true", help="replace what has the same name")
    _list_options(verb("jobs", _jobs, "Your jobs, newest first."))
    _log_options(verb("log", _log, "A job's output.", one))
    _submit_options(verb("submit", _submit, "Ask for a job."))
    return parser


def _list_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-p", "--project", help="code of one project")
    verb.add_argument("--state", help="one state, or open for all that are not over")
    verb.add_argument("--all", action="store_true", help="of everybody whose jobs you may see")
    verb.add_argument("--owner", metavar="LOGIN", help="of one person")
    verb.add_argument("--gpu-type")
    verb.add_argument("--text", help="what stands in its name or note")
    verb.add_argument("--since", metavar="DAY", help="asked for on this day or later, 2026-03-12")
    verb.add_argument("--until", metavar="DAY", help="asked for on this day or earlier")
    verb.add_argument("--limit", type=int, default=50, help="how many at most (50)")


def _tasks_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--sort", metavar="COLUMN", default="number", help="a parameter, last:loss, best:loss, state")
    verb.add_argument("--reverse", action="store_true", help="the other way")
    act = verb.add_mutually_exclusive_group()
    act.add_argument("--rerun-failed", action="store_true", help="run those that failed again, as a new array")
    act.add_argument("--at-once", type=int, metavar="N", help="how many run at once from now on; 0: no limit")
    act.add_argument("--end", metavar="TASKS", help="end these, as 3,5-7")


def _log_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("-f", "--follow", action="store_true", help="go on until the job is over")
    verb.add_argument("--stream", choices=("stdout", "stderr"), default="stdout")
    verb.add_argument("--tail", type=int, default=0, metavar="BYTES", help="begin so many bytes before the end")


def _submit_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("script", help="an sbatch file as it is, - for standard input")
    verb.add_argument("-p", "--project", required=True, help="code of the project")
    verb.add_argument("--partition", help="where the script names none of the project's")
    verb.add_argument("--allocation", help="code of the allocation to spend (the project's default)")
    verb.add_argument("--name", help="the job's name (the file's)")
    verb.add_argument("--gpus", type=int, help="GPUs per node")
    verb.add_argument("--gpu-type")
    verb.add_argument("--nodes", type=int)
    verb.add_argument("--cpus", type=int, help="CPUs per node")
    verb.add_argument("--memory-gb", type=int, help="memory per node, GiB")
    verb.add_argument("--time", type=int, dest="time_limit_minutes", metavar="MINUTES", help="time limit")
    verb.add_argument("--array", help="tasks, like 1-100%%8")
    verb.add_argument("--begin", metavar="TIME", help="not before, ISO 8601")
    verb.add_argument(
        "--undo", action="append", default=[], metavar="KEY", help="leave a replacement of the site's out"
    )
    verb.add_argument("--dataset", action="append", default=[], metavar="CODE[@VERSION]", help="a dataset the job uses")
    verb.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for the job")
    where = verb.add_mutually_exclusive_group()
    where.add_argument("--folder", help="start in this folder of the project's")
    where.add_argument("--folder-of", metavar="JOB", help="start where this earlier job did")
    where.add_argument("--git", metavar="URL@COMMIT", help="fetch this code into a new folder and start there")
    where.add_argument("--attach", action="append", metavar="PATH", help="bring it into a new folder and start there")
    verb.add_argument("--fetch", metavar="FOLDER", help="wait, then take the job's folder out into this one")
    ends = verb.add_mutually_exclusive_group()
    ends.add_argument("--follow", action="store_true", help="print its output until it is over; end with its exit code")
    ends.add_argument("--wait", action="store_true", help="wait until it is over; end with its exit code")


if __name__ == "__main__":
    raise SystemExit(main())
