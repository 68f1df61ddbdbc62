"""From the text of a script to its directives, in the order and by the rules in which sbatch reads them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from slurm.sbatch.options import SAME, SHORT, Option, Takes, long

MAGIC = ("#SBATCH", "#SLURM")
OTHERS = ("#PBS", "#BSUB")  # sbatch reads these, too
HETEROGENEOUS = ("hetjob", "packjob")
_SPACE = " \t\n\v\f\r"  # C's isspace


@dataclasses.dataclass(frozen=True, slots=True)
class Directive:
    """One option: `line` counts from 1, `value` is None where none was given; `text` spells it anew in one way."""

    line: int
    option: Option
    value: str | None

    @property
    def name(self) -> str:
        """The same for every spelling."""
        return SAME.get(self.option.name, self.option.name)

    @property
    def text(self) -> str:
        """As one line could say it."""
        return f"--{self.name}" if self.value is None else f"--{self.name}={quoted(self.value)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """What sbatch would stop at, or could not mean here; `why` is a key for jobs.services.importing's words."""

    line: int
    text: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Script:
    """`lines` is the text without line ends; `header` how many of them come before the first command."""

    lines: tuple[str, ...]
    header: int
    directives: tuple[Directive, ...]
    faults: tuple[Fault, ...]
    marked: frozenset[int]  # numbers of the lines that carried directives

    def said(self, name: str) -> Directive | None:
        """What counts: the last of its name."""
        return next((one for one in reversed(self.directives) if one.name == name), None)


def read(text: str) -> Script:
    """Every directive and every fault; never raises."""
    lines = tuple(text.split("\n"))
    header = next((number for number, line in enumerate(lines) if _is_command(line)), len(lines))
    faults, words, marked = list[Fault](), list[_Word](), set[int]()
    if not text.startswith("#!"):
        faults.append(Fault(1, lines[0][:200], "no_shebang"))
    for number, line in enumerate(lines[:header], 1):
        magic = next((one for one in MAGIC if line.startswith(one)), "")
        if magic:
            marked.add(number)
            words += _words(line[len(magic) :], number, faults)
        elif line.startswith(OTHERS):
            faults.append(Fault(number, line[:200], "other_scheduler"))
    return Script(lines, header, tuple(_options(words, faults)), tuple(faults), frozenset(marked))


def _is_command(line: str) -> bool:
    return bool(line.strip(_SPACE)) and not line.lstrip(_SPACE).startswith("#")


@dataclasses.dataclass(frozen=True, slots=True)
class _Word:
    line: int
    text: str


def _words(rest: str, number: int, faults: list[Fault]) -> list[_Word]:
    """Split at blanks; quotes and backslashes as sbatch takes them; an unquoted # ends the line."""
    found, word, quote, escaped, begun = list[_Word](), "", "", False, False
    for letter in rest:
        if letter in _SPACE and not quote:  # also behind a backslash
            found += [_Word(number, word)] if begun else []
            word, begun, escaped = "", False, False
        elif escaped:
            word, escaped = word + letter, False
        elif letter == "\\":
            escaped = begun = True
        elif quote:
            word, quote = (word, "") if letter == quote else (word + letter, quote)
        elif letter in "\"'":
            quote, begun = letter, True
        elif letter == "#":
            break
        else:
            word, begun = word + letter, True
    if quote:
        faults.append(Fault(number, rest.strip()[:200], "unmatched_quote"))
        return []
    found += [_Word(number, word)] if begun else []
    return _known(found, faults)


def _known(found: list[_Word], faults: list[Fault]) -> list[_Word]:
    if found and found[0].text.lower() in HETEROGENEOUS:
        faults.append(Fault(found[0].line, found[0].text, "heterogeneous"))
        return []
    if found and found[0].text.startswith(":"):
        faults.append(Fault(found[0].line, found[0].text[:200], "not_an_option"))
        return []
    return found


def _options(words: list[_Word], faults: list[Fault]) -> Iterator[Directive]:
    """All lines together are one command line: a value may stand on the next line. What is no option ends it."""
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word.text.startswith("--") and len(word.text) > 2:
            one, used = _long(word, words[at : at + 1], faults)
            at += used
            yield from one
        elif word.text.startswith("-") and len(word.text) > 1 and word.text != "--":
            some, used = _short(word, words[at : at + 1], faults)
            at += used
            yield from some
        else:
            faults.append(Fault(word.line, word.text[:200], "not_an_option"))


def _long(word: _Word, after: list[_Word], faults: list[Fault]) -> tuple[list[Directive], int]:
    name, sign, value = word.text[2:].partition("=")
    option = long(name)
    if option is None:
        faults.append(Fault(word.line, word.text[:200], "unknown_option"))
    elif option.takes is Takes.NOTHING and sign:
        faults.append(Fault(word.line, word.text[:200], "takes_no_value"))
    elif option.takes is Takes.VALUE and not sign:
        if after:
            return [Directive(word.line, option, after[0].text)], 1
        faults.append(Fault(word.line, word.text[:200], "value_missing"))
    else:
        return [Directive(word.line, option, value if sign else None)], 0
    return [], 0


def _short(word: _Word, after: list[_Word], faults: list[Fault]) -> tuple[list[Directive], int]:
    """Letters may stand together (-HQ), a value glued to the last of them (-c4) or as the next word (-c 4)."""
    found, letters = list[Directive](), word.text[1:]
    while letters:
        option, letters = SHORT.get(letters[0]), letters[1:]
        if option is None:
            faults.append(Fault(word.line, word.text[:200], "unknown_option"))
            return found, 0
        if option.takes is not Takes.VALUE:
            found.append(Directive(word.line, option, None))
        elif letters:
            return [*found, Directive(word.line, option, letters)], 0
        elif after:
            return [*found, Directive(word.line, option, after[0].text)], 1
        else:
            faults.append(Fault(word.line, word.text[:200], "value_missing"))
    return found, 0


def quoted(value: str) -> str:
    """As a directive may hold it and be read the same."""
    if re.fullmatch(r"[\w.,:;%+@/=*&|!()\[\]{}<>^~?$-]+", value):
        return value
    return '"' + re.sub(r'([\\"])', r"\\\1", value) + '"'
