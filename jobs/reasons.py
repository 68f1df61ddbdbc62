"""Why a job waits and how it ended, in plain words: what it is, who can change it, what to try."""

from __future__ import annotations

import dataclasses
import re
import signal
from typing import TYPE_CHECKING

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from jobs.reason_words import ADMIN, FAMILIES, FAMILY, NOBODY, OWNER, PI, SENTENCES, THINGS, WAITING
from jobs.states import State

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text

    from jobs.models import Job


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """One reason. `code` is Slurm's own word; the rest is translated when it is shown."""

    code: str
    sentence: Text
    who: Text
    hint: Text


def explain(reason: str) -> Reason | None:
    """Slurm's reason for a waiting job in plain words; None where Slurm gives none.

    Takes the word alone, in brackets, with trailing text ("ReqNodeNotAvail, UnavailableNodes:gpu01"), with spaces or
    with the underscores some of Slurm's tools put in their place.
    """
    said = reason.strip().strip("()").strip()
    if said in ("", "None"):
        return None
    code = _code(said)
    if code in WAITING:
        return Reason(code, _named_nodes(code, said) or WAITING[code][0], *WAITING[code][1:])
    return _of_a_family(code) or Reason(
        said, format_lazy(_("Slurm gives this reason: {word}."), word=said), ADMIN, _ask(said)
    )


def _ask(said: str) -> Text:
    return format_lazy(_("Ask a cluster administrator what “{word}” means here."), word=said)


def _code(said: str) -> str:
    plain = said.replace("_", " ")
    for beginning, code in SENTENCES:
        if plain.startswith(beginning):
            return code
    if plain in WAITING:
        return plain
    word = re.match(r"[A-Za-z]+", said)
    return word.group() if word else said


def _named_nodes(code: str, said: str) -> Text | None:
    """The sentence with the nodes Slurm names, where it names any."""
    found = re.search(r"UnavailableNodes:([\w.,\[\]-]+)", said)
    if code != "ReqNodeNotAvail" or found is None:
        return None
    return format_lazy(_("These nodes cannot be used now: {nodes}."), nodes=found.group(1))


def _of_a_family(code: str) -> Reason | None:
    found = FAMILY.fullmatch(code)
    if found is None:
        return None
    sentence, who, hint = FAMILIES[_kind(found)]
    return Reason(code, format_lazy(sentence, thing=THINGS[found["thing"].lower()]), who, hint)


def _kind(found: re.Match[str]) -> str:
    if found["kind"] == "Min":
        return "least"
    if found["each"] in ("PerJob", "PerNode"):
        return "job"
    if found["each"] == "PerUser":
        return "person"
    return "hours" if found["sum"] == "Minutes" or found["thing"] == "Wall" else "total"


_LOOK = _("See the last lines of its output.")
_MEMORY = _("Submit it again with more memory, or with smaller batches.")
_ENDS: dict[State, tuple[Text, Text, Text]] = {
    State.OUT_OF_MEMORY: (_("It used all the memory it had asked for, and was ended."), OWNER, _MEMORY),
    State.TIMEOUT: (
        _("It reached its time limit and was ended."),
        OWNER,
        _("Submit it again with a longer time limit, or let it go on from its last saved state."),
    ),
    State.NODE_FAILURE: (
        _("Its node failed. The job did nothing wrong."),
        ADMIN,
        _("Submit it again; a cluster administrator sees to the node."),
    ),
    State.PREEMPTED: (
        _("It gave way to a job with a higher priority."),
        NOBODY,
        _("Submit it again, and let it go on from its last saved state."),
    ),
    State.REFUSED: (
        _("Slurm did not accept it. Nothing ran."),
        OWNER,
        _("Change what Slurm names, and submit it again."),
    ),
    State.LOST: (
        _("Slurm has no record of it any more, in the queue or in its accounting."),
        ADMIN,
        _("Look in the project's folder for what it wrote before you submit it again."),
    ),
}
_LIMIT: tuple[Text, Text, Text] = (
    _("A limit of the project's allocation or of the person's share did not let Slurm take it. Nothing ran."),
    PI,
    _("Submit it again when others have ended, or ask for less."),
)
_EXIT_CODES: dict[int, tuple[Text, Text]] = {
    126: (_("The script called a file that cannot be run (exit code 126)."), _("Make that file executable.")),
    127: (
        _("The script called a command that does not exist on the node (exit code 127)."),
        _("Check the command's name, and that its software environment is loaded."),
    ),
    137: (_("A part of it was killed, most often for lack of memory (exit code 137)."), _MEMORY),
    139: (_("A program in it used memory that was not its own (exit code 139)."), _LOOK),
}
_SIGNALS: dict[int, tuple[Text, Text, Text]] = {
    9: (_("It was killed (signal 9), most often for lack of memory."), OWNER, _MEMORY),
    11: (_("A program in it used memory that was not its own (signal 11)."), OWNER, _LOOK),
    53: (
        _("Slurm could not open the file for its output."),
        PI,
        _("Check that the project's folder exists, has a folder “logs”, and may be written."),
    ),
}


def of(job: Job) -> Reason | None:
    """Why it waits or how it ended, as it stands; None where there is nothing to explain."""
    if not job.is_open:
        return ended(job)
    return explain(job.reason) if job.reason else None


def is_by_a_limit(job: Job) -> bool:
    """Whether Slurm refused it for a limit of its allocation or of its person; False where the words were not read."""
    return job.state == State.REFUSED and "accounting/QOS policy" in str(vars(job).get("refusal", ""))


def ended(job: Job, by: str = "") -> Reason | None:
    """How it ended; a refusal for a limit is told apart from others. `by` as explain_end has it."""
    if is_by_a_limit(job):
        return Reason(State.REFUSED.value, *_LIMIT)
    return explain_end(job.state, job.exit_code, job.exit_signal, by)


def explain_end(
    job_state: State | str, exit_code: int | None = None, exit_signal: int | None = None, by: str = ""
) -> Reason | None:
    """How a job ended, in plain words; None where there is nothing to explain (completed, or not over).

    `by` is who cancelled it, where that is known.
    """
    state = State(job_state)
    if state is State.CANCELLED:
        return Reason(state.value, _cancelled(by), OWNER, _("Submit it again if it is still needed."))
    if state in _ENDS:
        return Reason(state.value, *_ENDS[state])
    return _failed(exit_code, exit_signal) if state is State.FAILED else None


def _cancelled(by: str) -> Text:
    return format_lazy(_("It was cancelled by {name}."), name=by) if by else _("It was cancelled.")


def _failed(code: int | None, number: int | None) -> Reason:
    word = f"ExitCode={code or 0}:{number or 0}"
    if number:
        named = format_lazy(_("It was ended by signal {number} ({name})."), number=number, name=_signal_name(number))
        return Reason(word, *_SIGNALS.get(number, (named, OWNER, _LOOK)))
    if code:
        said = format_lazy(_("Its script ended with exit code {code}."), code=code)
        sentence, hint = _EXIT_CODES.get(code, (said, _LOOK))
        return Reason(word, sentence, OWNER, hint)
    return Reason(word, _("It failed, and Slurm gives no exit code."), ADMIN, _LOOK)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "?"
