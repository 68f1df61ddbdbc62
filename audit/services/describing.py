"""The catalogue of events as a page for people: what docs/audit-events.md holds."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils import translation

from audit import catalogue
from audit.catalogue import Entry, RetentionClass
from audit.mapping import TABLE

_HEAD = """# Events of the audit trail

Written by `manage.py event_catalogue` from `audit/catalogue/`; do not edit it by hand.

Every event has: a number of its own and a uid, when it happened (UTC), who acted (by reference; nobody is the portal
itself), as whom an outside system saw them, what it is about, its project, the kind of door it came through, the
address, a correlation id that joins everything one call caused, the database role that wrote it, and `detail` with the
fields named here. Where an API token was used, `detail` has its first letters as `token`. People and addresses are
references into one table beside the trail.

The code is the action's number and one digit for how it ended: 0 done, 1 refused, 2 failed. Names and numbers never get
another meaning; an action that is not used any more stays here. `OCSF` is class/activity of OCSF 1.3, `ECS` is
category/type of ECS 8 (`audit/mapping.py`). Before the events such an export has a note that is none of them: what the
trail does not see, in OCSF as a base event (class 0, activity 99 `Note`), in ECS as a `state` of the dataset
`bancada.note`.
"""


def page() -> str:
    """The whole page, by class."""
    with translation.override("en"):
        return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    for one in RetentionClass:
        entries = [entry for entry in catalogue.ALL if entry.retention_class is one]
        if entries:
            yield f"## {one.value.capitalize()}\n"
            yield "| event | in words | codes | `detail` | OCSF | ECS | why |"
            yield "|---|---|---|---|---|---|---|"
            yield from (_line(entry) for entry in entries)
            yield ""


def _line(entry: Entry) -> str:
    codes = ", ".join(f"{entry.code_of(outcome)} {outcome.value}" for outcome in entry.outcomes)
    detail = " ".join(f"`{name}`" for name in entry.detail.split())
    row = TABLE[entry.kind]
    ecs = f"{'+'.join(row.ecs_category)} / {'+'.join(row.ecs_type)}"
    return (
        f"| `{entry.action.value}` | {entry.action.label} | {codes} | {detail} | "
        f"{row.ocsf_class}/{row.activity} | {ecs} | {entry.why} |"
    )
