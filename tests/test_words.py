"""The words of docs/glossary.md, in both languages, whole and without others; no page asks another host for anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "locale" / "pt_BR" / "LC_MESSAGES" / "django.po"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = (
    "access",
    "accounts",
    "audit",
    "cluster",
    "jobs",
    "portal",
    "projects",
    "quotas",
    "datasets",
    "presets",
    "storage",
    "templates",
    "manage.py",
)
PLACEHOLDER = re.compile(r"%\(\w+\)[.\d]*[a-zA-Z]|{\w+}|%[sd]")

# The "not" column of the glossary; what may follow or precede says where the word is right after all.
NOT_ENGLISH = {
    "quota": r"\bquotas?\b",
    "operator": r"\boperators?\b",
    "account of a person": r"(?<!Slurm )\baccounts?\b(?! in Slurm)",
    "grant": r"\bgrants?\b",
    "directory for a folder": r"\b(?:working|home|project|output) director|\bdirectories\b|\bdirectory of the (?:project|job)",
    "held between request and Slurm": r"\bheld\b(?! in (?:the )?queue)",
    "unknown": r"\bunknown\b",
    "adopt": r"\badopt",
    "checkpoint": r"(?<!training )\bcheckpoint",
    "drift": r"\bdrift",
    "special": r"\bspecial\b",
    "incident": r"(?<!security )\bincidents?\b",
    "hold for committed": r"\bon hold\b",
    "slurmdbd, slurmctld": r"\bslurm(?:dbd|ctld|d)\b",
    "viewer for somebody watching": r"\bviewers?\b",
}
NOT_PORTUGUESE = {
    "operador": r"\boperador(?! \(LGPD\))",  # there it is the processor, by law
    "modelo": r"\bmodelos?\b",
    "treinamento": r"\btreinamento",
    "quota": r"\bquotas?\b",
    "conta de pessoa": r"(?<!não )\bcontas?\b(?! no Slurm)(?! do Slurm)",
    "diretório": r"\bdiret[oó]rios?\b(?! instituciona(?:l|is))",
    "trabalho": r"\btrabalhos?\b",
    "submeter": r"\bsubmet|\bsubmiss",
    "adotar": r"\badota",
    "log": r"\blogs?\b(?!”)",
    "deriva": r"\bderiva",
    "incidente": r"\bincidentes?\b(?! de segurança)",
    "timeout": r"\btimeout\b",
    "GPU-hora": r"\bGPU-horas?\b",
}
# What may stand in a template as it is: the product's name, keys of the keyboard, units, formats.
NEEDS_NO_TRANSLATION = re.compile(
    r"Bancada|GPU(?:s|·h)?|CPUs?|[kKMGT]i?B|Slurm|Esc|Enter|Ctrl|Shift|JSON|CSV|API|stdout|stderr|HTTP|UTC|curl|Bearer"
    r"|https?|bash|job|uid|gid|openapi\.json|Português|English"
)
VISIBLE_ATTRIBUTES = {"title", "aria-label", "placeholder", "alt", "label", "data-confirm"}


def catalogue() -> polib.POFile:
    return polib.pofile(str(CATALOGUE))


def said(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def asked(entry: polib.POEntry) -> list[str]:
    return [text for text in (entry.msgid, entry.msgid_plural) if text]


def test_every_message_is_translated() -> None:
    incomplete = [e.msgid for e in catalogue() if e.fuzzy or e.obsolete or not e.translated() or not all(said(e))]
    assert incomplete == []


def test_translations_keep_the_placeholders() -> None:
    wrong = []
    for entry in catalogue():
        wanted = set(PLACEHOLDER.findall(asked(entry)[-1]))
        wrong += [text for text in said(entry)[-1:] if set(PLACEHOLDER.findall(text)) != wanted]
    assert wrong == []


def test_no_message_is_missing_from_the_catalogue(tmp_path: Path) -> None:
    """Collect the messages of the code anew, beside it, and compare."""
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
        else:
            shutil.copy(source, tmp_path / name)
    (tmp_path / "locale").mkdir()
    command = [sys.executable, "manage.py", "makemessages", "-l", "pt_BR", "--no-obsolete"]
    beside = os.environ | {"PYTHONPATH": str(ROOT)}  # what holds no words, and is imported
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=beside)
    assert done.returncode == 0, done.stderr
    collected = polib.pofile(str(tmp_path / "locale" / "pt_BR" / "LC_MESSAGES" / "django.po"))
    known = {(entry.msgctxt, entry.msgid) for entry in catalogue()}
    used = {(entry.msgctxt, entry.msgid) for entry in collected}
    assert sorted(str(key) for key in used - known) == [], "in the code, not in the catalogue"
    assert sorted(str(key) for key in known - used) == [], "in the catalogue, no longer in the code"


@pytest.mark.parametrize("word", NOT_ENGLISH)
def test_english_keeps_to_the_glossary(word: str) -> None:
    wrong = re.compile(NOT_ENGLISH[word], re.IGNORECASE)
    assert [text for entry in catalogue() for text in asked(entry) if wrong.search(text)] == []


@pytest.mark.parametrize("word", NOT_PORTUGUESE)
def test_portuguese_keeps_to_the_glossary(word: str) -> None:
    wrong = re.compile(NOT_PORTUGUESE[word], re.IGNORECASE)
    assert [text for entry in catalogue() for text in said(entry) if wrong.search(text)] == []


def glossary() -> list[tuple[str, str]]:
    """The pairs of docs/glossary.md, of those rows that have as many words in one language as in the other."""
    rows = [line.split("|") for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if line[:2] == "| "]
    found = []
    for _bar, _thing, english, portuguese, *_rest in rows[1:]:
        pair = [[word.strip() for word in re.split(r"[;,/]", cell)] for cell in (english, portuguese)]
        found += list(zip(*pair, strict=True)) if len(pair[0]) == len(pair[1]) else []
    return found


def test_the_glossarys_own_pairs() -> None:
    """Where a word of the glossary stands alone in the catalogue, it is translated as the glossary says."""
    words = {e.msgid.lower(): said(e)[0].lower() for e in catalogue() if not e.msgctxt}
    pairs = [(english.lower(), portuguese.lower()) for english, portuguese in glossary()]
    used = [(english, portuguese) for english, portuguese in pairs if english in words]
    assert len(used) > 25
    assert [pair for pair in used if words[pair[0]] not in (pair[1], re.sub(r" \(.*\)$", "", pair[1]))] == []


class Text(HTMLParser):
    """What a person would read of a template from which the tags of the template language are gone."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in ("script", "style", "kbd", "code", "pre")
        self.found += [value for name, value in attrs if name in VISIBLE_ATTRIBUTES and value]

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in ("script", "style", "kbd", "code", "pre")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.found.append(data)


def visible(source: str) -> list[str]:
    """The literal texts of a template that go through no translation."""
    for gone in (
        r"{%\s*comment.*?endcomment\s*%}",
        r"{%\s*blocktranslate.*?endblocktranslate\s*%}",
        r"{#.*?#}",
        r"{{.*?}}",
        r"{%.*?%}",
        r"&\w+;",
    ):
        source = re.sub(gone, "", source, flags=re.DOTALL)
    reader = Text()
    reader.feed(source)
    return [text.strip() for text in reader.found if re.search(r"[^\W\d_]{2}", NEEDS_NO_TRANSLATION.sub("", text))]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_templates_hold_no_untranslated_text(path: Path) -> None:
    assert visible(path.read_text()) == []


def test_the_scan_sees_untranslated_text() -> None:
    assert visible('<p title="{% translate "a" %}">Hello</p>') == ["Hello"]
    assert visible('<a aria-label="Close it">×</a>{% translate "fine" %}') == ["Close it"]
    assert visible("<p>{% blocktranslate %}good{% endblocktranslate %} {{ name }} · 3 GPU·h</p><kbd>Esc</kbd>") == []


def pages() -> list[Path]:
    ours = [path for kind in ("js", "css") for path in (ROOT / "static" / kind).rglob(f"*.{kind}")]
    return [*TEMPLATES, *ours, *(ROOT / "static").glob("*.svg")]


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_loaded_from_another_host(path: Path) -> None:
    """No address of another host in a source, an import, a style or a script; links a person may follow are fine."""
    text = re.sub(r"http://www\.w3\.org/\S+", "", path.read_text())
    loads = re.compile(
        r"""(?:\bsrc(?:set)?|\bdata|\bposter|\baction|<link[^>]*\bhref|<use[^>]*\bhref)\s*=\s*["']?\s*(?:https?:)?//"""
        r"""|url\(\s*["']?(?:https?:)?//|@import\s+["']?(?:https?:)?//"""
        r"""|(?:\bfrom|\bimport|fetch\(|importScripts\(|WebSocket\(|EventSource\()\s*\(?\s*["'`](?:https?|wss?):""",
        re.IGNORECASE,
    )
    assert loads.findall(text) == []
