"""The words that scripts say, as JSON in the page: `{% words "frame" "log" %}`. Scripts fill in the curly names."""

from __future__ import annotations

import json
from collections.abc import Callable

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

register = template.Library()
Words = dict[str, "str | dict[str, str]"]
_ESCAPES = {ord("<"): "\\u003C", ord(">"): "\\u003E", ord("&"): "\\u0026"}


def _plural(form: Callable[[int], str]) -> dict[str, str]:
    """Both forms of a sentence; the script chooses by the number."""
    return {"one": form(1), "other": form(2)}


def _frame() -> Words:
    return {
        "ago_s": _("{n} s ago"),
        "ago_min": _("{n} min ago"),
        "ago_h": _("{n} h ago"),
        "ago_d": _plural(lambda n: ngettext("{n} day ago", "{n} days ago", n)),
        "copied": _("Copied."),
    }


def _files() -> Words:
    return {
        "stored": _("stored"),
        "replace": _("Replace it"),
        "of": _("{done} of {all}"),
        "checking": _("all there, being checked: {done} of {all}"),
        "broke_off": _("The connection broke off. Drop the file again and it goes on where it stood."),
    }


def _curves() -> Words:
    return {
        "curves_all": _("Show all {n} curves"),
        "curves_label": _("Curve of {name}; the table below says the same"),
    }


def _gpus() -> Words:
    return {
        "gpu": _("GPU {name}"),
        "node": _("Node {name}"),
        "utilization": _("Use"),
        "memory": _("Memory"),
        "power": _("Power"),
        "temperature": _("Temperature"),
        "live": _("Live, a reading every second."),
        "away": _("The metrics do not answer now. The job is not affected; the charts come back by themselves."),
        "none": _("No readings of this job's GPUs yet."),
        "step": _("Each point is {n} s; the band shows its lowest and highest reading."),
        "looking": _("Looking for the line of {time}…"),
        "line": _("{time}: line {n} of the output"),
        "no_line_then": _("No line of the output carries a time near {time}."),
    } | hosts()


def hosts() -> Words:
    """Readings of a job's nodes beside the GPUs, and the table that says the same."""
    return {
        "cpu": _("CPUs in use"),
        "job_memory": _("Memory without file cache"),
        "pressure_cpu": _("Waited for CPUs"),
        "pressure_memory": _("Waited for memory"),
        "pressure_io": _("Waited for files"),
        "read": _("Read by the job"),
        "written": _("Written by the job"),
        "storage_read": _("Read from shared storage, whole node"),
        "storage_written": _("Written to shared storage, whole node"),
        "received": _("Received from the network, whole node"),
        "sent": _("Sent to the network, whole node"),
        "no_hosts": _("No readings of this job's nodes: they have not come yet, or nothing measures them."),
        "not_measured": _("Not measured on its nodes: {names}."),
        "no_pressure": _("What processes waited for is measured where Slurm puts jobs into cgroups of version 2."),
        "reading": _("Reading"),
        "on_node": _("Node"),
        "last": _("Last"),
        "lowest": _("Lowest"),
        "highest": _("Highest"),
    }


def _log() -> Words:
    return {
        "follow": _("Follow"),
        "following": _("Following"),
        "new_lines": _plural(lambda n: ngettext("{n} new line", "{n} new lines", n)),
        "lines": _plural(lambda n: ngettext("{n} line, {size}", "{n} lines, {size}", n)),
        "last_byte": _("last byte {ago}"),
        "folded": _("{n} folded"),
        "more_text": _("{n} more characters"),
        "goes_on": _("the line goes on"),
        "byte": _("byte {n}"),
        "loading": _("loading…"),
        "load": _("Load"),
        "from_start": _("From the start"),
        "before": _("{size} of earlier output"),
        "gap": _("{size} not loaded here; the file is whole."),
        "skipped": _("{size} came too fast for this screen and were passed over; the file is whole."),
        "not_loaded": _("This part could not be loaded."),
        "no_line": _("Line {n} is not in the output."),
        "no_trouble": _("No error found in the output."),
        "found": _("{at} of {n}"),
        "found_more": _("{at} of more than {n}"),
        "found_none": _("not found"),
        "no_server_find": _("The whole file cannot be searched now."),
        "started_over": _("The output was written anew; it is shown from its first line."),
        "complete": _("The output is complete."),
        "no_output": _("No output yet. It appears here as soon as the job writes its first line."),
        "gone": _("The file is no longer where the job wrote it."),
        "joined": _("This job writes its errors into its output."),
        "not_shown": _("This file is not shown: it is not a plain file of the person who submitted the job."),
        "unreadable": _("The folder of the project does not answer. The output comes back when it does."),
        "refused": _("You may no longer read this output."),
        "link_connecting": _("connecting"),
        "link_live": _("live"),
        "link_polling": _("asking every 2 s"),
        "link_reconnecting": _("connection lost, connecting again"),
        "link_offline": _("no connection, trying again"),
        "link_ended": _("complete"),
        "link_closed": _("closed"),
    }


def _submit() -> Words:
    return {
        "per_node": _("{n} per node"),
        "at_most": _("at most {n}"),
        "at_most_time": _("at most {time}"),
        "leave_out": _("Leave out"),
        "sending": _("Sending the files"),
        "not_sent": _("Nothing was sent: the portal did not take it, or the connection broke off. Try again."),
    }


_GROUPS: dict[str, Callable[[], Words]] = {
    "curves": _curves,
    "files": _files,
    "frame": _frame,
    "gpus": _gpus,
    "log": _log,
    "submit": _submit,
}


@register.simple_tag
def words(*groups: str) -> SafeString:
    """A data block, which no Content-Security-Policy needs to allow."""
    found: Words = {}
    for group in groups:
        found |= _GROUPS[group]()
    text = json.dumps(found, ensure_ascii=False).translate(_ESCAPES)
    return format_html('<script type="application/json" data-words>{}</script>', mark_safe(text))  # noqa: S308
